"""Data as commands meet it: files, gaps, columns, finer bars, and what is wrong or ambiguous."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import optimizer
from data import load_bars
from optimizer.run.purposes import recorded_config
from optimizer.store import RunStore, find_run
from tests.support.commands import COLUMNS, SMALL, market_columns, write_market
from tests.support.series import csv_text, make_columns, write_csv

pytestmark = pytest.mark.slow

N_BARS = 1500
LEGAL = market_columns(3, N_BARS, jump=0.05)
LINES = tuple(csv_text(LEGAL).splitlines())
"""A legal file: the header line, then one line a bar."""


def test_every_repair_that_is_asked_for_is_told_recorded_and_repeated(command, tmp_path):
    """A file that needs them all, with a clock of New York: what is searched on verifies."""
    columns = {name: np.array(LEGAL[name]) for name in COLUMNS}
    for name in COLUMNS[1:5]:
        columns[name] -= 90.0
    columns["high"][5] = max(columns["open"][5], columns["close"][5]) - 0.01
    columns["volume"][9] = -1.0
    stamps = [f"{np.datetime64(int(time), 'ns')}"[:19] for time in columns["timestamp"]]
    head, *rows = csv_text(columns, times=stamps).splitlines()
    rows[20:22] = [rows[21], rows[20], rows[20]]
    spec = write_csv(tmp_path, "\n".join([head, *rows, ""]))
    repairs = ("--drop-bad-bars", "--tick", "0.01", "--price-offset", "90", "--sort", "--dedupe",
               "--tz", "America/New_York")  # fmt: skip
    outcome = command.succeed("evolve", "--data", spec, *SMALL, *repairs, "--json", "--quiet")
    assert outcome.json["data"]["bars"] == N_BARS - 1
    assert outcome.json["certificate"]["mismatches"] == 0
    notes = outcome.json["data"]["notes"]
    for words in ("America/New_York", "1 bad row", "1 bar widened", "90 was added", "1 row earlier",
                  "1 repeated row", "1 gap", "--price-offset with costs",
                  "as one series", "--drop-bad-bars without --max-gap"):  # fmt: skip
        assert any(words in note for note in notes), (words, notes)
    assert outcome.err.splitlines() == [f"note: {note}" for note in notes]
    assert command("runs", "show", "latest", "--json").json["header"]["notes"] == notes
    assert "0 mismatches" in command("runs", "verify", "latest").out
    shown = command("data", "show", spec, *repairs, "--json").json
    assert shown["first bar opens"] == "1970-01-02 05:15 UTC"
    assert shown["lowest low"] == pytest.approx(np.delete(LEGAL["low"], 9).min(), abs=1e-9)


def test_bounds_longer_than_the_data_are_refused_with_the_largest_legal(command, tmp_path):
    """They are never cut in silence; the flags that the line names make the search run."""
    spec = write_csv(tmp_path, "\n".join([*LINES[:1001], ""]))
    error = command.refuse(2, "evolve", "--data", spec, *SMALL)
    assert not (tmp_path / "runs").exists()
    advice = re.findall(r"--bound \S+", error)
    assert all(":999" in flag for flag in advice)
    flags = " ".join(advice).split()
    assert command("evolve", "--data", spec, *SMALL, *flags).code == 0
    few = command("backtest", "--data", write_csv(tmp_path, "\n".join([*LINES[:98], ""])))
    assert few.code == 2
    for number in ("97 bars", "673", "672"):
        assert number in few.error


DECIMAL_COMMAS = "Datum;Hoch;Tief;Er\u00f6ffnung;Schluss;Umsatz\n" + "".join(
    f"2024-01-{day:02d};{day + 3},5;{day},25;{day + 1},0;{day + 2},0;1.{day:03d}\n"
    for day in range(1, 29)
)


@pytest.fixture
def folder(tmp_path):
    """Two good files of different layouts and one that is not."""
    path = tmp_path / "files"
    path.mkdir()
    write_market(path / "AAA.csv", 1500)
    (path / "BBB.csv").write_text(DECIMAL_COMMAS)
    bad = make_columns(12)
    bad["volume"][4] = -1.0
    bad["low"][5] = 1e6
    bad["close"][[6, 7, 8, 9]] = np.nan
    order = [0, 2, 1, *range(3, 12), 11]
    write_csv(path, csv_text({name: bad[name][order] for name in bad}), "CCC.csv")
    return path


def test_check_tells_of_every_source_and_refuses_at_the_end(command, folder):
    """Good ones are summed up, bad ones shown with all that is wrong; the exit code follows."""
    outcome = command("data", "check", folder)
    assert outcome.code == 2
    assert "1 of 3" in outcome.error
    for words in ("AAA.csv: 1,500 bars of 15m", "BBB.csv: 28 bars of 1d, 2024-01-01", "CCC.csv",
                  "negative volume: 4", "low above open or close: 5", "row before: 2 ",
                  "equal to the row before: 12", "6 (2024-01-01T01:30)", "1 more"):  # fmt: skip
        assert words in outcome.out
    result = command("data", "check", folder, "--json").json
    assert [len(entry["problems"]) for entry in result] == [0, 0, 5]
    assert [entry.get("bars") for entry in result] == [1500, 28, None]
    repairs = ("--drop-bad-bars", "--sort", "--dedupe")
    assert command("data", "check", folder, *repairs).code == 0
    some = command("data", "check", folder, "--drop-bad-bars", "--json").json
    assert [len(entry["problems"]) for entry in some][:2] == [0, 0]
    assert "--sort" in some[2]["problems"][0]


def test_import_keeps_each_file_in_one_form(command, folder):
    """The bars are the same from there on; what cannot be read ends it, what was kept stays."""
    files = [folder / "AAA.csv", folder / "BBB.csv"]
    outcome = command.succeed("data", "import", *files, "--into", "bars", "--json")
    for row, file in zip(outcome.json, files, strict=True):
        assert load_bars(row["file"]).content_hash == load_bars(str(file)).content_hash
        assert row["written"]
    again = command("data", "import", *files, "--into", "bars")
    assert again.out.count("(as it was)") == 2
    assert "CCC.csv" in command.refuse(2, "data", "import", folder, "--into", "other")
    assert len(load_bars("other/AAA.parquet")) == 1500


def test_import_writes_over_nothing_that_it_read_or_wrote(command, tmp_path):
    """Nor over other bars without --replace, nor over a file in the place of its folder."""
    write_market(tmp_path / "AAA.csv", 1500)
    kept = ("data", "import", "AAA.csv")
    assert command(*kept).code == 0
    source = tmp_path / "bars" / "AAA.parquet"
    before = source.read_bytes()
    merged = ("data", "import", "bars/AAA.parquet", "--timeframe", "1h", "--replace")
    (tmp_path / "other").mkdir()
    write_market(tmp_path / "other" / "AAA.csv", 1600)
    (tmp_path / "file").write_text("mine")
    for refused, word in (
        (merged, "has read it"), (("data", "import", "other/AAA.csv"), "--replace"),
        ((*kept, "other/AAA.csv", "--replace"), "written it"), ((*kept, "--into", "file"), "file"),
    ):  # fmt: skip
        assert word in command.refuse(2, *refused)
        assert source.read_bytes() == before
    assert (tmp_path / "file").read_text() == "mine"
    assert command(*merged, "--into", "hours").code == 0
    assert command("data", "import", "other/AAA.csv", "--replace").code == 0
    assert len(load_bars(str(source))) == 1600


DAY_NS = 86_400 * 10**9
BOUNDS = ("--bound", "ema_slow=97:200", "--bound", "z_window=96:200")
"""The longest window is one of 200 bars."""

LENGTHS = (60, 1000, 201, 200, 900)


def write_parts(folder, *lengths):
    """A market whose parts of so many bars lie forty days apart."""
    columns = market_columns(3, sum(lengths), jump=0.05)
    after = np.repeat(np.arange(len(lengths)), lengths)
    return write_csv(
        folder, csv_text({**columns, "timestamp": columns["timestamp"] + after * 40 * DAY_NS})
    )


def lengths_of(outcome):
    """Bars of each window of a result."""
    return [window["bars"] for window in outcome.json["data"]["windows"]]


def settings_of(genes):
    """Genes as flags."""
    return [word for name, value in genes.items() for word in ("--set", f"{name}={value}")]


def test_parts_that_are_too_short_are_skipped_and_named(command, tmp_path):
    """The others are searched on; a member keeps the parts of its run, and the run verifies."""
    spec = write_parts(tmp_path, *LENGTHS)
    flags = ("--data", spec, "--max-gap", "10d", *BOUNDS, *SMALL)
    outcome = command("evolve", *flags, "--quiet", "--json")
    assert (outcome.code, lengths_of(outcome)) == (0, [1000, 201, 900])
    gaps, cut, skipped = outcome.json["data"]["notes"]
    assert gaps.startswith("4 gaps, 15,360 bars missing")
    assert "5 parts" in cut
    for words in ("2 of 5", "201 bars", "260 bars", "1970-01-02 to 1970-01-02", "1970-05-15"):
        assert words in skipped
    fewest = settings_of({"z_window": 96, "ema_slow": 97, "ema_fast": 24, "atr_window": 12})
    kept = command("backtest", "latest", "--member", "0", *fewest, "--json")
    assert lengths_of(kept) == [1000, 201, 900]
    assert command("runs", "verify", "latest").code == 0


@pytest.mark.parametrize(
    ("genes", "needed", "kept"),
    [
        # A window of n bars is known at its last one, and a signal there needs a bar to enter at.
        ({}, 201, [1000, 201, 900]),
        ({"z_window": 96, "ema_slow": 97}, 98, [1000, 201, 200, 900]),
    ],
)
def test_a_backtest_keeps_parts_that_its_genes_can_trade(command, tmp_path, genes, needed, kept):
    """Bounds without a search leave no part out; genes come by flag, file or name."""
    spec, file = write_parts(tmp_path, *LENGTHS), tmp_path / "genes.json"
    file.write_text(json.dumps(genes))
    for given in (settings_of(genes), ["--genes", str(file)]):
        flags = ("--data", spec, "--max-gap", "10d", *BOUNDS, *given, "--json")
        outcome = command("backtest", *flags)
        assert lengths_of(outcome) == kept
        assert f"{needed:,} bars" in outcome.err
    bounds = {"ema_slow": (97, 200), "z_window": (96, 200)}
    single = optimizer.backtest(data=spec, genes=genes, max_gap="10d", bounds=bounds)
    assert [len(window) for window in single.windows] == kept


def test_what_bars_lack_is_told_of_those_searched_on_and_those_held_out(command, tmp_path):
    """One below the other, before anything that was found; in JSON by window, and in the report."""
    path = tmp_path / "bars.csv"
    spec = write_market(path, 3_009)
    head, *rows = path.read_text().splitlines()
    for place in (2_500, 2_600, 2_700):
        for silent in (10, 12):
            rows[place + silent] = rows[place + silent].rpartition(",")[0] + ",0"
        rows[place : place + 3] = []
    path.write_text("\n".join([head, *rows]) + "\n")
    flags = ("--data", spec, "--holdout", "20%")
    told = {
        "searched on": "no gap, each with volume",
        "held out": "3 gaps, 9 bars missing (1.48%), 6 bars without volume (1.00%)",
    }
    lines = [f"bars {name}: {lacking}" for name, lacking in told.items()]
    for name, more in (("evolve", SMALL), ("backtest", ())):
        printed = command(name, *flags, *more).out.splitlines()
        first = printed.index(lines[0])
        assert printed[first : first + 2] == lines
    windows = command("backtest", *flags, "--json").json["windows"]
    names = ("sample", "gaps", "missing", "silent")
    numbers = [tuple(window[name] for name in names) for window in windows]
    assert numbers == [("in", 0, 0, 0), ("held out", 3, 9, 6)]
    assert command("report", "latest", "--out", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert all(f"Bars {name}" in page and lacking in page for name, lacking in told.items())


MINE = """from strategy.words import *

MOODY = strategy(
    "Goes with the mood.",
    long=column("mood") > gene("least", 0.3, -0.5, 1.5),
    short=column("mood") < -1.2,
    stop=share(gene("stop", 0.02, 0.005, 0.05)),
    target=r_multiple(2),
    max_hold=12,
)
"""


@pytest.fixture(scope="module")
def frame():
    """Bars with a column that is not known now and then, and one that is text."""
    columns = market_columns(3, 1200, jump=0.05)
    rng = np.random.default_rng(1)
    mood = np.where(rng.random(1200) < 0.1, np.nan, rng.normal(size=1200))
    times = pd.to_datetime(columns.pop("timestamp"), utc=True)
    return pd.DataFrame({"timestamp": times, **columns, "mood": mood, "fear": -mood, "who": "me"})


@pytest.fixture
def place(frame, tmp_path):
    """A folder with these bars and a strategy that reads the column; flags that name both."""
    frame.to_csv(tmp_path / "bars.csv", index=False)
    (tmp_path / "mine.py").write_text(MINE)
    return ("--data", "bars.csv", "--strategy", "mine.py")


def search_column(command, *flags):
    """A small search with the column, as JSON."""
    return command.succeed("evolve", *flags, *SMALL, "--aligned-column", "mood", "--json").json


def test_it_is_searched_certified_judged_shown_and_gone_on_with(command, place, frame):
    """Held-out bars, folds and null markets have it; a resumed run has the same columns alone."""
    result = search_column(command, *place, "--holdout", "20%")
    assert result["certificate"]["mismatches"] == 0
    (stated,) = (note for note in result["data"]["notes"] if "'mood'" in note)
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        assert store.header["command"]["aligned_columns"] == ["mood"]
        assert stated in store.header["notes"]
    judged = command("judge", "latest", "--json", "--folds", "2", "--null", "2", "--open")
    judgement = judged.json["judgement"]
    assert judgement["causal"]["mismatches"] == 0
    assert judgement["causal"]["trades"] > 0
    assert judgement["null"]["shuffled"]["run"] == 2
    assert command("report", "latest", "--out", "page.html").code == 0
    assert stated in html.unescape(Path("page.html").read_text())
    again = command("backtest", "--run", "latest", "--member", "0", "--json").json
    assert again["metrics"]["trades"] == result["front"][0]["metrics"]["trades"] > 0
    command("runs", "export", "latest", "mine_vbt.py", "--member", "0", "--as", "vectorbt")
    assert "bars.extra('mood')" in Path("mine_vbt.py").read_text()
    resume = ("evolve", "--resume", "latest", *SMALL[-2:], "--generations")
    for other in (("--aligned-column", "fear"), ("--column-file", "fear=bars.csv")):
        assert "with fear" in command.refuse(4, *resume, "3", *other)
    assert command(*resume, "3", "--aligned-column", "mood=MOOD").code == 0
    frame.assign(mood=frame["mood"] + 1).to_csv("bars.csv", index=False)
    for changed in ((*resume, "5"), ("backtest", "--run", "latest", "--member", "0")):
        outcome = command(*changed)
        assert outcome.code == 4
        assert "column 'mood' has other values" in outcome.err
    frame.assign(volume=frame["volume"] + 1).to_csv("bars.csv", index=False)
    assert "has other values" not in command(*resume, "5").err


def test_a_look_ahead_through_it_is_refused(command, place):
    """An indicator of one's own is cut with its columns."""
    own = (
        "import numpy as np\n@indicator(warm_up=lambda: 1)\ndef felt(bars):\n"
        '    return np.append(bars.extra["mood"][1:], 0.0)\n\n\nMOODY'
    )
    text = MINE.replace("MOODY", own, 1).replace('column("mood") >', "felt() >")
    Path("mine.py").write_text(text)
    checked = command("strategies", "check", "mine.py", *place[:2], "--aligned-column", "mood")
    assert checked.code == 2
    assert "felt() looks ahead" in checked.err


HOURS = ("--timeframe", "1h", "--strategy", "mean_reversion")


def read_digest(found):
    """What decides the results of a run, as one hash, and the sources of its finer bars."""
    with RunStore.open(Path(found["path"])) as store:
        return store.header["identity"]["digest"], recorded_config(store, {}).finer


def test_a_search_on_finer_bars_is_another_one(command, market, tmp_path):
    """It is certified, recorded, replayed and resumed with them; without them nothing is noted."""
    ask = ("evolve", "--data", market, *HOURS, *SMALL, "--json")
    plain, fine = command(*ask).json, command(*ask, "--finer", market).json
    assert fine["certificate"]["mismatches"] == 0
    assert any("751 of 751 bars are made up" in note for note in fine["data"]["notes"])
    assert not any("made up" in note for note in plain["data"]["notes"])
    digests = [read_digest(result) for result in (fine, plain)]
    assert digests[0][0] != digests[1][0]
    assert [finer for _, finer in digests] == [[market], []]
    command.succeed("evolve", "--resume", fine["path"], "--generations", "3", "--no-report")
    (window,) = command("backtest", "--run", fine["path"], "--member", "0", "--json").json[
        "windows"
    ]
    assert window["accumulators"]["coarse"] == 0
    other = write_market(tmp_path / "other.csv", seed=4)
    replayed = ("backtest", "--run", fine["path"], "--member", "0", "--data", other)
    assert "bars of another market need --finer of their own" in command(*replayed).error
    assert command(*replayed, "--finer", other).code == 0
    refused = command(
        "runs", "export", fine["path"], "member.pine", "--as", "pine", "--member", "0"
    )
    assert "finer: no exported program reads bars by finer ones" in refused.error
