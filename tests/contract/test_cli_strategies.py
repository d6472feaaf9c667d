"""A strategy in a file of one's own goes the whole way, and its mistakes are named."""

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import optimizer
from optimizer import load_run
from optimizer.errors import ConfigError
from optimizer.run import indicator_cache, indicator_snapshot
from optimizer.run.header import recorded_front
from optimizer.run.individuals import describe_individuals
from optimizer.store import RunStore, find_run
from strategy import STRATEGIES, StrategyError, load_strategy, words
from strategy.files import build_strategies
from strategy.indicator_registry import COLUMNS
from strategy.rules import seller_exhaustion
from tests.support.commands import SMALL
from tests.support.forging import forge
from tests.support.own_files import momentum_file

pytestmark = pytest.mark.slow

PULLBACK = """from strategy.words import *

strength = rsi(close, 4)
PULLBACK = strategy(
    "Buys a dip.",
    long=(close > sma(close, length("slow", 20, 5, 60))) & (strength < gene("dip", 40, 20, 60)),
    short=crosses_above(strength, 80),
    exit_long=strength > 65,
    stop=beyond_bar(gene("stop", 1.5, 0.3, 4) * rma(true_range, 5)),
    target=r_multiple(2),
    max_hold=30,
)
"""

OWN = momentum_file()


@pytest.fixture
def pullback(tmp_path):
    """A file with one strategy."""
    path = tmp_path / "pullback.py"
    path.write_text(PULLBACK)
    return path


@pytest.fixture
def own(tmp_path):
    """A file with an indicator of its own."""
    path = tmp_path / "momentum.py"
    path.write_text(OWN)
    return path


def search_strategy(command, market, path, *more):
    """A small search with a strategy of a file, its result as JSON."""
    outcome = command("evolve", "--data", market, "--strategy", path, *SMALL, "--json", *more)
    assert outcome.code == 0, outcome.err
    return outcome.json


def test_it_is_searched_certified_judged_and_shown(command, market, pullback):
    """Sides and reasons reach every page; the file is not needed after the search."""
    result = search_strategy(command, market, pullback)
    assert result["strategy"] == "pullback"
    assert result["certificate"]["mismatches"] == 0
    assert list(result["front"][0]["genes"]) == ["slow", "dip", "stop"]
    text = pullback.read_text()
    pullback.unlink()
    verified = command("runs", "verify", "latest")
    assert verified.code == 0, verified.err
    assert "0 mismatches" in verified.out
    assert command("runs", "source", "latest").out == text
    judged = command("judge", "latest", "--json", "--folds", "2", "--null", "2")
    assert judged.code == 0, judged.err
    assert judged.json["judgement"]["null"]["shuffled"]["run"] == 2
    run = load_run("latest")
    trades = run.trades(0)
    assert set(trades["side"].unique()) == {1, -1}
    assert (trades["reason"] == "signal").any()
    assert command("report", "latest").code == 0
    again = command("evolve", "--resume", "latest", "--generations", "4", "--json")
    assert again.code == 0, again.err
    assert again.json["generation"] == 4


def test_the_engine_is_timed_with_it(command, market, pullback):
    """A strategy in words runs on the engine that was made for it."""
    sizes = ("--population", "4", "--bars", "300", "--repeats", "3")
    timed = command("bench", "--data", market, "--strategy", pullback, *sizes, "--json")
    assert timed.code == 0, timed.err
    assert timed.json["certificate"]["mismatches"] == 0


def test_an_edited_strategy_is_refused_and_an_edited_comment_is_not(command, market, pullback):
    """By what differs; other words for the same are the same strategy."""
    search_strategy(command, market, pullback)
    pullback.write_text("# another comment\n" + PULLBACK.replace("strength", "power"))
    assert command("evolve", "--resume", "latest", "--generations", "3").code == 0
    pullback.write_text(PULLBACK.replace("> 65", ">= 65"))
    refused = command("evolve", "--resume", "latest", "--generations", "4")
    assert refused.code == 4
    assert re.search(
        r"pullback.py has changed, line \d+: recorded .*> 65.*, now .*>= 65", refused.error
    )
    assert "strategy.exit_long" in refused.error
    assert command("runs", "verify", "latest").code == 0


def test_functions_of_ones_own_come_from_the_record(command, market, own):
    """What was run here is run again as it was recorded, also without its file."""
    result = search_strategy(command, market, own)
    assert result["certificate"]["mismatches"] == 0
    assert "0 mismatches" in command("runs", "verify", "latest").out
    own.write_text(OWN.replace("- 1]", "- 1.0]"))
    assert "0 mismatches" in command("runs", "verify", "latest").out
    resumed = command("evolve", "--resume", "latest", "--generations", "3")
    assert resumed.code == 4
    assert "line 8" in resumed.error
    own.unlink()
    assert command("backtest", "--run", "latest", "--member", "0").code == 0
    assert command("evolve", "--resume", "latest", "--generations", "3").code == 0
    assert command("runs", "source", "latest").out == OWN
    # Another strategy may have an indicator of the same name.
    own.write_text(f"{OWN}\n{OWN.replace('MOMENTUM', 'OTHER')}")
    search_strategy(command, market, f"{own}:MOMENTUM")
    assert "0 mismatches" in command("runs", "verify", "latest").out


@pytest.fixture
def rounds_otherwise(own, monkeypatch):
    """What makes this a machine on which the file's indicator has other bits."""
    own.write_text(
        OWN.replace("import numpy", "import os\n\nimport numpy")
        .replace("- 1]", '- 1 + float(os.environ.get("OTHER", 0))]')
        .replace("long=moved(", "long=(higher(60, lag(moved(2), 1)) > -1) & (moved(")
        .replace("> 0.002,", "> 0.002),")
    )

    def other_machine():
        monkeypatch.setenv("OTHER", "0.0005")
        monkeypatch.setattr(indicator_cache, "_machine", lambda: "another")

    return other_machine


MOVED_NOTE = (
    r"note: own indicators have other bits on this machine than run '{}' recorded, first moved"
)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_replay_hangs_on_no_machine(command, market, own, rounds_otherwise, is_open):
    """Rows that members read are recorded with their bytes; differing bits are noted once."""
    result = search_strategy(command, market, own, *(("--holdout", "20%") if is_open else ()))
    files = list(Path("runs").glob("*/rows/*.row"))
    lengths = {member["genes"]["n"] for member in result["front"]}
    # Those of each length, and the one inside of higher and lag.
    assert len(files) == len(lengths) + 1
    if is_open:
        # They are shown on all bars from now on.
        judged = command("judge", "latest", "--open", "--folds", 0, "--blocks", 0, "--quiet")
        assert judged.code == 0
        assert len(list(Path("runs").glob("*/rows/*.row"))) == 2 * len(files)
    ask = "backtest", "--run", "latest", "--member", "0", "--json"
    before = command(*ask)
    assert "other bits" not in before.err
    rounds_otherwise()
    after = command(*ask)
    assert after.json["windows"] == before.json["windows"]
    note = MOVED_NOTE.format(result["run"])
    message = rf"{note}\(\d+\), at [\d,]+ of [\d,]+ bars, by 0.0005 at most; what"
    assert len(re.findall(message, after.err)) == 1
    assert "0 mismatches" in command("runs", "verify", "latest").out
    assert command("report", "latest").code == 0
    files[0].write_bytes(files[0].read_bytes()[:-1])
    assert re.search(r"the row moved\(\d+\) is damaged", command("runs", "verify", "latest").error)


def test_recorded_rows_that_know_the_future_make_no_whole_run(command, market, own):
    """A run from elsewhere may hold rows, figures and digests that agree with each other."""
    search_strategy(command, market, own)
    assert command("runs", "verify", "latest").code == 0
    (path,) = (found.parent for found in Path("runs").glob("*/run.sqlite"))

    def knowing_the_future(payload):
        for one in payload["rows"]:
            file = path / "rows" / f"{one['name']}.row"
            file.write_bytes(np.roll(np.frombuffer(file.read_bytes()), -1).tobytes())
            one["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()

    forge(path, "evidence", knowing_the_future, name="own_rows")
    task, genomes = recorded_front(path, {})
    members = describe_individuals(task, task.full_engine(device="cpu"), genomes)

    def as_good_as_that(payload):
        for one, found in zip(payload["front"], members, strict=True):
            one |= {"metrics": found.metrics, "undefined": found.undefined}

    forge(path, "result", as_good_as_that)
    found = command("runs", "verify", "latest")
    assert (found.code, "the record is whole" in found.out) == (4, False)
    assert re.search(r"not whole here: the row moved\(\d+\) is another one on this", found.err)


def test_rows_without_room_are_recorded_by_their_digest(
    command, market, own, rounds_otherwise, monkeypatch
):
    """With a note; a replay notes that it reads its own."""
    monkeypatch.setattr(indicator_snapshot, "MOST_BYTES", 1000)
    outcome = command("evolve", "--data", market, "--strategy", own, *SMALL)
    assert re.search(
        r"note: of (\d+) rows of own indicators \1 are recorded by their digest alone \(all take "
        r"more than 0 MB\)",
        outcome.err,
    )
    assert "other bits" not in command("runs", "verify", "latest").err
    rounds_otherwise()
    errors = command("runs", "verify", "latest").err
    assert re.search(
        r"first moved\(\d+\).*was recorded by its digest alone, so this one is read", errors
    )


def test_recorded_rows_are_not_read_or_written_through_a_link(command, market, own, tmp_path):
    """A run may come from anywhere, and must reach nothing outside of its folder."""
    search_strategy(command, market, own)
    (rows,) = Path("runs").glob("*/rows")
    elsewhere = tmp_path / "elsewhere"
    rows.rename(elsewhere)
    rows.symlink_to(elsewhere)
    before = {file: file.read_bytes() for file in elsewhere.iterdir()}
    assert re.search(r"the row moved\(\d+\) is damaged", command("runs", "verify", "latest").error)
    again = command("evolve", "--resume", "latest", "--generations", "4")
    assert "are recorded by their digest alone" in again.err
    assert "rows is a link, and is not followed" in again.err
    assert {file: file.read_bytes() for file in elsewhere.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "message"),
    [(PULLBACK, "idea.py"), (PULLBACK, "./idea.py"), (OWN, "idea.py")],
    ids=["words", "dotted", "own"],
)
def test_a_run_is_gone_on_with_from_any_folder(
    command, market, tmp_path, monkeypatch, text, message
):
    """The file is that of the folder where the run began, not one of the same name here."""
    name, elsewhere = "idea.py", tmp_path / "elsewhere"
    (tmp_path / name).write_text(text)
    result = search_strategy(command, market, message)
    assert result["certificate"]["mismatches"] == 0
    shutil.copytree("runs", elsewhere / "runs")
    (elsewhere / name).write_text("raise SystemExit('another file')")
    monkeypatch.chdir(elsewhere)
    assert "0 mismatches" in command("runs", "verify", "latest").out
    for given in (
        ("backtest", "--run", "latest", "--member", "0"),
        ("report", "latest"),
        ("evolve", "--resume", "latest", "--generations", "3", "--json"),
        ("evolve", "--resume", "latest", "--generations", "4", "--json"),
    ):
        outcome = command(*given)
        assert outcome.code == 0, outcome.err
    assert outcome.json["generation"] == 4
    edited = text.replace("share(gene", "share( gene").replace("> 65", "> 64")
    (tmp_path / name).write_text(edited)
    assert command("evolve", "--resume", "latest", "--generations", "5").code == 4


def test_an_indicator_that_looks_ahead_is_refused_before_the_search(command, market, own):
    """With function, parameters and bar."""
    own.write_text(
        OWN.replace("np.full(n, np.nan), bars.close[n:]", "bars.close[n:]").replace(
            "/ bars.close[:-n] - 1])", "/ bars.close[:-n] - 1, np.full(n, np.nan)])"
        )
    )
    outcome = command("evolve", "--data", market, "--strategy", own, *SMALL)
    assert outcome.code == 2
    assert "moved(5) looks ahead" in outcome.error


AT_SIGNALS = """import numpy as np

from strategy.words import *


@indicator(warm_up=0)
def jump(bars):
    found, places = bars.close * 1e-9, np.arange(300, 3000, 600)
    found[places[places < len(bars) - 1]] = 1.0
    return found


JUMPS = strategy(
    "Knows a few bars too early.",
    long=jump() > 0.5,
    stop=share(gene("stop", 0.01, 0.002, 0.05)),
    max_hold=999,
)
"""
AT_EXITS = AT_SIGNALS.replace("long=jump()", "long=close > 0, exit_long=jump()").replace(
    "0.01, 0.002, 0.05", "0.8, 0.7, 0.9"
)


@pytest.mark.parametrize("text", [AT_SIGNALS, AT_EXITS], ids=["entries", "exits"])
def test_a_look_ahead_at_signals_is_refused_before_a_result_is_shown(command, market, own, text):
    """At bars that lie between those at which every indicator is cut."""
    own.write_text(text)
    for asked in (
        ("evolve", "--strategy", own, *SMALL),
        ("backtest", "--strategy", own),
        ("strategies", "check", own),
    ):
        outcome = command(*asked, "--data", market)
        assert outcome.code == 2
        assert re.search(r"error: jump\(\) looks ahead: cut after bar \d+00 it says ", outcome.err)
        assert outcome.err.endswith(f"({own}:6)\n")
        assert "trades" not in outcome.out


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (") & (", ") and (", "pullback.py:6: a condition has no truth by itself"),
        ("(strength <", "(20 < strength <", "has no truth by itself"),
        ('gene("dip", 40, 20, 60)', 'gene("dip")', "gene 'dip' needs a default and bounds"),
        ("rsi(close, 4)", "rsj(close, 4)", "the name 'rsj' is unknown; did you mean 'rsi'?"),
        ("rsi(close, 4)", "rsi(close, 1)", "rsi needs"),
        (PULLBACK, "from strategy.words import *\n", "makes no strategy"),
        ("from strategy.words import *", "import nothing_like_this", "nothing_like_this"),
        ("    stop=beyond", "    halt=beyond", "halt"),
    ],
)
def test_mistakes_are_told_in_one_line(command, market, pullback, before, after, message):
    """With the place in the file, and what to write."""
    assert before in PULLBACK
    pullback.write_text(PULLBACK.replace(before, after))
    for given in (("strategies", "check", pullback), ("evolve", "--strategy", pullback, *SMALL)):
        outcome = command(*given, "--data", market)
        assert outcome.code == 2
        assert message in outcome.error


def test_higher_bars_that_do_not_fit_are_refused_before_anything_is_written(
    command, market, pullback
):
    """By what would fit; no folder of a run is left behind."""
    pullback.write_text(PULLBACK.replace("rsi(close, 4)", "rsi(higher(20, close), 4)"))
    for asked in (("strategies", "check", pullback), ("evolve", "--strategy", pullback, *SMALL)):
        outcome = command(*asked, "--data", market)
        assert outcome.code == 2
        assert "higher(20, ...) does not fit bars of 15 minutes; legal are 15, 30," in outcome.error
        assert not outcome.out
    assert not Path("runs").exists()


def test_what_a_file_prints_stands_in_no_result(command, market, own):
    """So that a program still reads the result of a file that is being worked on."""
    own.write_text(
        f"{OWN.replace('    return', '    print(n)' + chr(10) + '    return')}\nprint(close)\n"
    )
    outcome = command("evolve", "--data", market, "--strategy", own, *SMALL, "--json")
    assert outcome.json["certificate"]["mismatches"] == 0
    assert {"close", "5"} <= set(outcome.err.splitlines())


def test_a_new_file_names_the_next_commands(command, market, tmp_path, monkeypatch):
    """It is commented, can be checked as it stands, and never overwrites."""
    monkeypatch.chdir(tmp_path)
    made = command("strategies", "new", "first_idea")
    assert made.code == 0
    assert "strategies check first_idea.py" in made.out
    checked = command("strategies", "check", "first_idea.py", "--data", market)
    assert checked.code == 0, checked.err
    for word in ("crosses", "rsi(close, 14)", "warm-up", "signals", "0 mismatches"):
        assert word in checked.out or word == "crosses"
    assert "there already" in command("strategies", "new", "first_idea").error
    assert "no name" in command("strategies", "new", "not a name").error
    for name in ("signal", "ideas/typing", "numpy.py", "_posixsubprocess", "data", "pytest"):
        assert "is the name of a module" in command("strategies", "new", name).error


def test_check_takes_files_only(command, market):
    """What ships is listed elsewhere."""
    assert "is no file" in command("strategies", "check", "mean_reversion", "--data", market).error
    assert "there is no file" in command("strategies", "check", "x.py", "--data", market).error


def test_a_file_of_what_ships_finds_the_same(command, market, tmp_path):
    """Seller exhaustion in a person's own file is searched as the published one, to its front."""
    path = tmp_path / "mine.py"
    path.write_text(Path(seller_exhaustion.__file__).read_text())
    given = ("--strategy", f"{path}:SELLER_EXHAUSTION")
    own = command("evolve", "--data", market, *given, *SMALL, "--json").json
    published = command("evolve", "--data", market, *SMALL, "--json").json
    assert own["front_hash"] == published["front_hash"]
    assert json.dumps(own["front"][0]["genes"]) == json.dumps(published["front"][0]["genes"])


def test_every_word_is_told(command):
    """A wheel has no pages, so that a file names where its words are described."""
    command("strategies", "new", "first_idea")
    assert "python -m optimizer strategies words" in Path("first_idea.py").read_text()
    printed = command("strategies", "words").out
    columns = ("open, high, low, close, volume", "hlc3, ohlc4")
    assert all(line in printed for line in columns)
    others = set(words.__all__) - set(COLUMNS)
    assert others == {*re.findall(r"^  (\w+)\(", printed, re.MULTILINE)}


def test_a_strategy_and_bars_in_memory(command, market, tmp_path, monkeypatch):
    """Searched from Python; the run needs neither the process nor the frame afterwards."""
    monkeypatch.chdir(tmp_path)
    spec = build_strategies(PULLBACK, "memory")["PULLBACK"]
    frame = pd.read_csv(market.removeprefix("csv:"))
    small = {"population": 8, "generations": 2, "min_trades": 3, "judge": False}
    run = optimizer.evolve(strategy=replace(spec, name="", source=None), bars=frame, **small)
    assert run.status == "finished"
    del STRATEGIES[run.header.strategy]
    assert load_run("latest").trades(0)["r"].notna().all()
    assert "0 mismatches" in command("runs", "verify", "latest").out
    with pytest.raises(ConfigError, match="in place of data"):
        optimizer.evolve(bars=frame, data=["sample"], **small)


def test_an_edited_strategy_in_memory_is_another_one(command, market, tmp_path, monkeypatch):
    """As in a notebook, where it is read, searched, edited and read again; each run goes on."""
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(market.removeprefix("csv:"))
    small = {"population": 8, "generations": 2, "min_trades": 3, "judge": False}

    def searched_again(text):
        Path("idea.py").write_text(text)
        spec = load_strategy("idea.py")
        run = optimizer.evolve(strategy=spec, bars=frame, **small)
        assert command("evolve", "--resume", run.id, "--generations", "3").code == 0
        return spec, run

    first, run = searched_again(PULLBACK)
    edited, other = searched_again(PULLBACK.replace("> 65", "> 60"))
    assert [run.header.strategy, other.header.strategy] == ["pullback", "pullback"]
    # The file is another one by now, so that the first one goes on from its record.
    again = optimizer.evolve(strategy=first, bars=frame, **small)
    del STRATEGIES["pullback"]
    assert command("evolve", "--resume", again.id, "--generations", "3").code == 0
    named = [replace(version, name="mine", source=None) for version in (first, edited)]
    names = [
        optimizer.evolve(strategy=version, bars=frame, **small).header.strategy for version in named
    ]
    assert names == ["mine", f"mine_{edited.digest[:8]}"]
    for name in names:
        del STRATEGIES[name]


@pytest.mark.parametrize("given", [3, None, [], max], ids=str)
def test_what_is_no_strategy_is_refused_in_memory(given):
    """A path is one, as text is."""
    with pytest.raises(ConfigError, match="strategy is the name or the file of a strategy, or wha"):
        optimizer.backtest(strategy=given)
    with pytest.raises(StrategyError, match=r"there is no file 'nowhere.py'"):
        optimizer.backtest(strategy=Path("nowhere.py"))


def test_zones_are_recorded_with_their_version(command, market, pullback):
    """Another version of the zone data may say another time."""
    pullback.write_text(
        PULLBACK.replace("(strength <", '(minute_of_day("America/New_York") > 60) & (strength <')
    )
    search_strategy(command, market, pullback)
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        assert list(store.header["versions"]["zones"]) == ["America/New_York"]


def test_a_strategy_without_genes_is_checked_and_backtested(command, market, pullback):
    """As any other; a search of it is one candidate, as `test_cli_no_genes` has it."""
    text = PULLBACK.replace('length("slow", 20, 5, 60)', "20").replace(
        'gene("dip", 40, 20, 60)', "40"
    )
    pullback.write_text(text.replace('gene("stop", 1.5, 0.3, 4) * ', ""))
    given = ("--strategy", pullback, "--data", market)
    outcome = command("backtest", *given, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["metrics"]["trades"] > 3
    ends = re.search(
        r"^(\d+) long, (\d+) short; (.*)$", command("backtest", *given).out, re.MULTILINE
    )
    sides, reasons = (
        ends.groups()[:2],
        re.findall(r"(\d+) by (?:stop gap|stop|target|time|signal|end)", ends[3]),
    )
    assert min(map(int, sides)) > 0
    assert sum(map(int, sides)) == sum(map(int, reasons)) == outcome.json["metrics"]["trades"]
    assert command("parity", *given).code == 0
    assert command("strategies", "check", pullback, "--data", market).code == 0


def test_numbers_of_a_file_are_known_when_they_could_be_read(command, market, pullback, tmp_path):
    """A strategy reads them; the run holds them by their hash; no look-ahead is found."""
    times = pd.date_range("1970-01-01", periods=40, freq="18h", tz="UTC")
    values = [f"{time.isoformat()},{k % 3}" for k, time in enumerate(times)]
    (tmp_path / "mood.csv").write_text("\n".join(["known_at,value", *values]))
    pullback.write_text(PULLBACK.replace("(strength <", '(column("mood") > 0) & (strength <'))
    given = ("--column-file", "mood=mood.csv@2000")
    result = search_strategy(command, market, pullback, *given)
    assert result["certificate"]["mismatches"] == 0
    assert "0 mismatches" in command("runs", "verify", "latest").out
    judged = command("judge", "latest", "--json", "--folds", "0", "--null", "1")
    assert judged.json["judgement"]["causal"]["mismatches"] == 0
    (tmp_path / "mood.csv").write_text("\n".join(["known_at,value", *values[:5]]))
    resumed = command("evolve", "--resume", "latest", "--generations", "3")
    assert resumed.code == 0
    message = "note: column 'mood': mood.csv is not what it was; the run's own copy is read"
    assert resumed.err.count(message) == 1
    # A process that gives several commands gets the note from each.
    again = command("evolve", "--resume", "latest", "--generations", "3")
    assert again.err.count(message) == 1
    (copy,) = tmp_path.glob("runs/*/columns/mood.csv")
    copy.write_text((tmp_path / "mood.csv").read_text())
    assert command("evolve", "--resume", "latest", "--generations", "4").code == 4
    missing = command("evolve", "--data", market, "--strategy", pullback, *SMALL)
    assert "reads column 'mood', which bars has not: add --column-file" in missing.error
    wrong = command("evolve", "--data", market, "--column-file", "mood", *SMALL)
    assert "must look like NAME=FILE" in wrong.error
    gone = command("evolve", "--data", market, "--column-file", "mood=mood.csv@²", *SMALL)
    assert "mood.csv@²" in gone.error
    assert "defect" not in gone.error


def test_times_of_a_column_are_of_the_zone_of_the_bars(command, market, pullback, tmp_path):
    """Where they name none; a date alone counts as known from its first moment on."""
    pullback.write_text(PULLBACK.replace("(strength <", '(column("mood") > 0) & (strength <'))
    given = ("--data", market, "--strategy", pullback, "--column-file", "mood=mood.csv")
    for text, zone in (("1970-01-01 00:00:00", ""), ("1970-01-01", ", Asia/Tokyo")):
        (tmp_path / "mood.csv").write_text(f"known_at,value\n{text},1\n")
        outcome = command("backtest", *given, "--tz", "Asia/Tokyo")
        assert outcome.code == 0, outcome.err
        assert (f"the first moment of its day{zone}" in outcome.err) == bool(zone)
    (tmp_path / "mood.csv").write_text("known_at,value\n2010-03-14 02:30:00,1\n")
    never = command("backtest", *given, "--tz", "America/New_York")
    assert never.code == 2
    assert "America/New_York" in never.error


def test_a_name_of_the_bars_is_no_name_of_a_file(command, market):
    """Two columns would have it."""
    refused = command("evolve", "--data", market, "--column-file", "close=mood.csv", *SMALL)
    assert refused.code == 2
    assert "--column-file 'close=mood.csv': all bars have 'close' already" in refused.error


def test_a_run_whose_column_is_gone_names_it(command, market, pullback, tmp_path):
    """And its own copy; the flag names another file of the same numbers."""
    pullback.write_text(PULLBACK.replace("(strength <", '(column("mood") > 0) & (strength <'))
    file = tmp_path / "mood.csv"
    file.write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    search_strategy(command, market, pullback, "--column-file", f"mood={file}")
    (copy,) = tmp_path.glob("runs/*/columns/mood.csv")
    copy.rename(tmp_path / "moved.csv")
    ask = "backtest", "--run", "latest", "--member", "0"
    assert command(*ask).code == 0
    file.unlink()
    gone = command(*ask)
    assert gone.code == 4
    assert re.search(r"column 'mood': .* is gone, and so is the run's own copy \S+;", gone.error)
    assert command(*ask, "--column-file", f"mood={tmp_path / 'moved.csv'}").code == 0


@pytest.mark.parametrize(
    ("change", "flags", "message"),
    [
        (("close >", 'column("mood") >'), (), r"reads column 'mood', .* \(\S+pullback.py:4\)"),
        (("20, 5, 60", "20, 5, 90000"), (), r"'slow' may be 90000; .* \(\S+pullback.py:6\)"),
        (
            ('length("slow", 20, 5, 60)', "90000"),
            (),
            r"need at least 90001 .* \(\S+pullback.py:4\)",
        ),
        ((), ("--bound", "slo=1:2"), r"gene 'slo' is unknown; .* \(\S+pullback.py:4\)"),
        ((), ("--bound", "slow=1:2"), r"at least 2 \(\S+pullback.py:6\)"),
        ((), ("--bound", "dip=50:7"), r"low 50.0 is above high 7.0 \(\S+pullback.py:6\)"),
    ],
    ids=["column", "length", "constant", "unknown-gene", "too-low", "upside-down"],
)
def test_what_does_not_fit_is_told_with_its_place(
    command, market, pullback, change, flags, message
):
    """File and line: of the gene where it is about one, else of the strategy."""
    text = PULLBACK.replace(*change) if change else PULLBACK
    pullback.write_text(text)
    refused = command("evolve", "--data", market, "--strategy", pullback, *SMALL, *flags)
    assert refused.code == 2
    assert re.search(message + "$", refused.error.strip())


def test_bounds_in_python_may_be_tuples(market, pullback):
    """As they are shown."""
    with pytest.raises(StrategyError, match=r"gene 'slo' is unknown; .*pullback.py:4\)"):
        optimizer.evolve(data=str(market), strategy=str(pullback), bounds={"slo": (1, 2)})


ORDERED = """from strategy.words import *

BREAKOUT = strategy(
    "Buys above what was.",
    long=close > ema(close, 20),
    entry=stop_at(highest(high, 10), expires=3),
    stop=share(0.02),
    targets=[(share(0.01), 0.5)],
)
"""


def test_check_and_backtest_count_orders_and_partial_exits(command, market, tmp_path):
    """In words alike; the file of trades has columns of the targets."""
    (tmp_path / "ordered.py").write_text(ORDERED)
    asked = ("ordered.py", "--data", market)
    checked = command("strategies", "check", *asked).out
    (line,) = [line for line in checked.splitlines() if "resting orders: " in line]
    assert re.fullmatch(
        r"[\d,]+ resting orders: [\d,]+ filled, [\d,]+ expired, replaced or cancelled", line
    )
    traded = command("backtest", "--strategy", *asked, "--trades", "trades.csv").out
    assert line in traded
    trades = pd.read_csv(tmp_path / "trades.csv")
    reached = trades["leg1_bar"].notna() & (trades["leg1_bar"] < trades["exit_bar"])
    assert reached.any()
    assert f"{reached.sum()} partial exits at targets" in traded
    assert (trades["leg1_share"] == 0.5).all()


def test_check_names_conditions_that_never_hold(command, market):
    """With the default genes, and where they cannot at the bounds of their genes either."""
    text = (
        "from strategy.words import *\n"
        "IDEA = strategy(\n"
        '    "Never.",\n'
        '    long=(rsi(close, 14) > gene("level", 101, 40, 102)) & (close > ema(close, 5)),\n'
        "    exit_long=rsi(close, 14) > 105,\n"
        "    stop=beyond_bar(rma(true_range, 14)),\n"
        "    target=r_multiple(2),\n"
        ")\n"
    )
    Path("never.py").write_text(text, encoding="utf-8")
    checked = command("strategies", "check", "never.py", "--data", market)
    assert checked.code == 0, checked.err
    assert re.search(r"rsi\(close, 14\) > level\s+0 of 3,000", checked.out)
    assert re.search(r"close > ema\(close, 5\)\s+1,\d{3} of 3,000", checked.out)
    never = "long: rsi(close, 14) > level never holds with the default genes, and on at most "
    assert never in checked.out
    assert "exit_long: rsi(close, 14) > 105 never holds\n" in checked.out


def test_check_reads_minutes_as_a_clock_and_says_what_a_search_would(command, market):
    """What may be meant as half past nine, as a time beyond a day, and a whole account a stop."""
    text = (
        "from strategy.words import *\n"
        "early = minute_of_day(0) > 930\n"
        "IDEA = strategy(\n"
        '    "Hours.",\n'
        "    long=early & crosses_above(close, sma(close, 5)) & (1600 > minute_of_day(0)),\n"
        "    exit_long=minute_of_day(0) > gene('late', 1200, 1100, 1300),\n"
        "    stop=share(0.02),\n"
        "    session=session_exit(1030),\n"
        "    account=account(1000, risk(1)),\n"
        ")\n"
    )
    Path("hours.py").write_text(text, encoding="utf-8")
    refused = command("strategies", "check", "hours.py", "--data", market)
    assert "risk(1) stakes 100 % of the account, more than 20 % of it" in refused.error
    checked = command("strategies", "check", "hours.py", "--data", market, "--trust-leverage")
    assert checked.code == 0, checked.err
    assert "minute_of_day(0) > 930: minute 930 of the day is 15:30\n" in checked.out
    assert "minute 1,600 of the day is none, a day has 1,440\n" in checked.out
    assert "session_exit(1030): minute 1,030 of the day is 17:10\n" in checked.out
    assert checked.out.count(" of the day ") == 3
    assert "risk(1)) loses 100 % of the cash by a stop" in checked.err
