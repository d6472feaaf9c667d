"""Data that is wrong, odd or ambiguous, as evolve, backtest and data show meet it (faults, A)."""

import re

import numpy as np
import pytest

from tests.support.commands import COLUMNS, SMALL, market_columns, write_market
from tests.support.series import csv_text, write_csv

pytestmark = pytest.mark.slow

N_BARS = 1500
LEGAL = market_columns(3, N_BARS, jump=0.05)
LINES = tuple(csv_text(LEGAL).splitlines())
"""A legal file: the header line, then one line a bar."""


def change_column(column, *values):
    """The file with values in some rows of one column, the first in data row 5."""
    columns = {**LEGAL, column: np.array(LEGAL[column])}
    columns[column][5 : 5 + len(values)] = values
    return csv_text(columns)


def rewritten(*lines):
    """A file of the given lines."""
    return "\n".join([*lines, ""])


def with_last_field(line, text):
    """A line whose last field is another."""
    return f"{line.rsplit(',', 1)[0]},{text}"


def naive(columns):
    """A file whose times name no zone."""
    return csv_text(columns, times=[str(np.datetime64(int(t), "s")) for t in seconds(columns)])


def seconds(columns):
    """Times in whole seconds."""
    return columns["timestamp"] // 10**9


def all_refuse(command, tmp_path, text, *flags):
    """Each command refuses the data with the same line and records nothing; gives the line."""
    spec = write_csv(tmp_path, text)
    names = set()
    for arguments in (("data", "show"), ("backtest",), ("evolve", *SMALL)):
        outcome = command(*arguments, "--data", spec, *flags)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        names.add(outcome.error)
    assert [path.name for path in tmp_path.iterdir()] == ["series.csv"]
    (line,) = names
    return line


REFUSED = {
    "empty": ("", "the file is empty"),
    "blank": ("\n\n\n", "the first line is blank"),
    "header only": (LINES[0], "there are no bars after the header line"),
    "one bar": (rewritten(*LINES[:2]), "1 bar does not show how long a bar lasts"),
    "NaN open": (change_column("open", np.nan), "row 5 (1970-01-02T01:30 open=nan"),
    "infinite high": (change_column("high", np.inf), "not finite: row 5"),
    "NaN low": (change_column("low", np.nan), "not finite: row 5"),
    "infinite close": (change_column("close", -np.inf), "not finite: row 5"),
    "NaN volume": (change_column("volume", np.nan), "not finite: row 5"),
    "1e400": (rewritten(*LINES[:6], with_last_field(LINES[6], "1e400"), *LINES[7:]), "row 5"),
    "no number": (rewritten(*LINES[:6], with_last_field(LINES[6], "many"), *LINES[7:]), "'many'"),
    "missing number": (rewritten(*LINES[:6], with_last_field(LINES[6], ""), *LINES[7:]), "row 5"),
    "zero price": (change_column("low", 0.0), "a price that is not above zero: row 5"),
    "negative price": (change_column("open", -1.0), "a price that is not above zero: row 5"),
    "high below open": (change_column("high", 1.0), "row 5"),
    "negative volume": (change_column("volume", -1.0), "row 5"),
    "equal rows": (rewritten(*LINES[:7], *LINES[6:]), "row 6 (1970-01-02T01:30); --dedupe"),
    "different rows of one time": (
        rewritten(*LINES[:7], with_last_field(LINES[6], "77.5"), *LINES[7:]),
        "volume=77.5); --dedupe drops equal rows only",
    ),
    "unsorted": (rewritten(*LINES[:6], LINES[7], LINES[6], *LINES[8:]), "not ascending at row 6"),
    "newest first": (rewritten(LINES[0], *LINES[:0:-1]), "not ascending at row 1"),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_series_is_refused(command, tmp_path, text, expected):
    """Every command prints the same line, which shows the row, and none records or repairs."""
    assert expected in all_refuse(command, tmp_path, text)


def test_equal_rows_are_dropped_when_asked(command, tmp_path):
    """The bars are those of the clean file, and a note counts the rows that went."""
    clean = command("data", "show", write_csv(tmp_path, rewritten(*LINES), "clean.csv"), "--json")
    text, _ = REFUSED["equal rows"]
    spec = write_csv(tmp_path, text, "twice.csv")
    result = command("data", "show", spec, "--dedupe", "--json").json
    assert result["hash"] == clean.json["hash"]
    assert result["notes"] == ["dropped 1 repeated row"]


def test_bad_bars_are_dropped_when_asked_and_counted(command, tmp_path):
    """The count stands on stderr and stays in the record."""
    spec = write_csv(tmp_path, change_column("open", np.nan, np.nan))
    arguments = ("--data", spec, *SMALL, "--drop-bad-bars")
    outcome = command("evolve", *arguments, "--json", "--quiet")
    assert outcome.code == 0
    assert outcome.json["data"]["bars"] == N_BARS - 2
    note, gap, risk = outcome.json["data"]["notes"]
    assert "2" in note
    assert gap.startswith("1 gap, 2 bars missing; ")
    assert risk.startswith("--drop-bad-bars without --max-gap: ")
    assert outcome.err == f"note: {note}\nnote: {gap}\nnote: {risk}\n"
    assert command("runs", "show", "latest", "--json").json["header"]["notes"] == [note, gap, risk]


def test_naive_times_are_read_as_utc_and_that_is_told(command, tmp_path, monkeypatch):
    """One line on stderr names --tz; the zone of the machine plays no part."""
    spec = write_csv(tmp_path, naive(LEGAL))
    aware = command("data", "show", write_csv(tmp_path, rewritten(*LINES), "a.csv"), "--json")
    for zone in ("Asia/Kolkata", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        outcome = command("evolve", "--data", spec, *SMALL, "--json", "--quiet")
        assert (
            outcome.json["data_hash"]
            == command("backtest", "--data", "csv:a.csv", "--json").json["data_hash"]
        )
        assert outcome.err.count("\n") == 1
        assert "read as UTC; --tz" in outcome.err
    assert aware.json["hash"] == command("data", "show", spec, "--json").json["hash"]


def test_naive_times_are_read_in_the_zone_that_is_named(command, tmp_path):
    """The bars lie where the zone puts them, and the note names it."""
    spec = write_csv(tmp_path, naive(LEGAL))
    outcome = command("backtest", "--data", spec, "--tz", "America/New_York")
    assert outcome.code == 0
    assert outcome.err == "note: times name no zone, read as America/New_York\n"
    shown = command("data", "show", spec, "--tz", "America/New_York", "--json").json
    assert shown["first bar opens"] == "1970-01-02 05:15 UTC"


@pytest.mark.parametrize("n_bars", [97, 672])
def test_genes_longer_than_the_data_are_refused(command, tmp_path, n_bars):
    """A backtest names the bars that there are, those it needs, and the longest window."""
    spec = write_csv(tmp_path, rewritten(*LINES[: n_bars + 1]))
    outcome = command("backtest", "--data", spec)
    assert outcome.code == 2
    assert outcome.error == f"{n_bars} bars, need at least 673 (longest window 672)"


def test_bounds_longer_than_the_data_are_refused_with_the_largest_legal(command, tmp_path):
    """They are never cut in silence; the flags that the line names make the search run."""
    spec = write_csv(tmp_path, rewritten(*LINES[:1001]))
    outcome = command("evolve", "--data", spec, *SMALL)
    assert outcome.code == 2
    assert "the largest legal value is 999: --bound" in outcome.error
    assert not (tmp_path / "runs").exists()
    advice = outcome.error.split("999: ")[1].split()
    assert command("evolve", "--data", spec, *SMALL, *advice).code == 0


@pytest.mark.parametrize("silent", [1, 50])
def test_bars_without_volume_are_legal(command, tmp_path, silent):
    """They are counted, and the search and its proof go through."""
    spec = write_csv(tmp_path, change_column("volume", *[0.0] * silent))
    had = int((LEGAL["volume"][5 : 5 + silent] == 0).sum() + (LEGAL["volume"] == 0).sum())
    shown = command("data", "show", spec, "--json").json
    assert shown["bars without volume"] == silent + had
    result = command("evolve", "--data", spec, *SMALL, "--json").json
    assert result["certificate"]["mismatches"] == 0


def test_a_market_without_volume_says_what_cannot_fire(command, tmp_path):
    """A warning, no error: the search runs to its end and finds nothing."""
    spec = write_market(tmp_path / "silent.csv", N_BARS, silent=1.0)
    outcome = command("evolve", "--data", spec, *SMALL)
    assert outcome.code == 0
    assert "volume rules can never fire" in outcome.err
    assert "No candidate is feasible" in outcome.out


def test_a_market_that_never_moves_has_undefined_statistics(command, tmp_path):
    """No trade, no deviation, and no number where there is none to have."""
    spec = write_csv(tmp_path, csv_text({**LEGAL, **dict.fromkeys(COLUMNS[1:5], [50.0] * N_BARS)}))
    result = command("backtest", "--data", spec, "--json").json
    assert result["metrics"]["trades"] == 0
    undefined = {name for name, value in result["metrics"].items() if value is None}
    assert {"sharpe", "profit_factor", "mean_r", "win_rate"} <= undefined
    assert result["metrics"]["total_return"] == result["metrics"]["max_drawdown"] == 0.0
    shown = command("evolve", "--data", spec, *SMALL, "--min-trades", "0")
    assert shown.code == 0
    assert "undefined" in shown.out
    assert "nan" not in shown.out.lower()


def test_a_huge_gap_is_listed_and_runs(command, tmp_path):
    """Ten years without a bar are noted, and are no reason to stop."""
    timestamp = np.array(LEGAL["timestamp"])
    timestamp[1000:] += 3652 * 86_400 * 10**9
    spec = write_csv(tmp_path, csv_text({**LEGAL, "timestamp": timestamp}))
    shown = command("data", "show", spec, "--json").json
    assert (shown["gaps"], shown["longest gap"]) == (1, "87648.2 h, ends 1980-01-12 10:15 UTC")
    assert command("evolve", "--data", spec, *SMALL).code == 0


@pytest.mark.parametrize("name", ["NA", "<script>", "=1+1", "[bold]x", "\U0001f4c8", "a b"])
def test_a_symbol_is_text_and_nothing_else(command, tmp_path, name):
    """Whatever a file is called is shown as it stands, here and in the list of runs."""
    spec = write_csv(tmp_path, rewritten(*LINES), f"{name}.csv")
    assert f" on {name} 15m, " in command("evolve", "--data", spec, *SMALL).out
    assert f" {name} 15m " in command("runs", "list").out


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "\u202eabc", "\udcff"])
def test_a_symbol_that_cannot_be_shown_is_refused(command, tmp_path, name):
    """Nothing that a name holds reaches a terminal as a command to it."""
    outcome = command("evolve", "--data", write_csv(tmp_path, rewritten(*LINES), f"{name}.csv"))
    assert outcome.code == 2
    assert outcome.error == f"the symbol {name!a} holds characters that cannot be printed"


def test_prices_below_zero_are_traded_only_with_an_offset(command, tmp_path):
    """Refused with the option; with it the search and its proof go through, with a note."""
    fallen = {name: LEGAL[name] - 90.0 for name in COLUMNS[1:5]}
    spec = write_csv(tmp_path, csv_text({**LEGAL, **fallen}))
    line = all_refuse(command, tmp_path, csv_text({**LEGAL, **fallen}))
    assert "with a price that is not above zero" in line
    assert "--price-offset lifts a market that fell below zero" in line
    result = command("evolve", "--data", spec, *SMALL, "--price-offset", "90", "--json").json
    assert result["certificate"]["mismatches"] == 0
    added, risk = result["data"]["notes"]
    assert added == "90 was added to every price"
    assert risk.startswith("--price-offset with costs: ")
    above = command("data", "show", spec, "--price-offset", "90", "--json").json
    assert above["lowest low"] == pytest.approx(LEGAL["low"].min(), abs=1e-9)


def test_a_high_that_misses_by_a_tick_is_widened_only_when_asked(command, tmp_path):
    """By default there is no tolerance at all; a miss by more than the tick stays an error."""
    high = max(LEGAL["open"][5], LEGAL["close"][5]) - 0.01
    text = change_column("high", high)
    assert "--tick widens" in all_refuse(command, tmp_path, text)
    assert "--tick widens" in all_refuse(command, tmp_path, text, "--tick", "0.001")
    spec = write_csv(tmp_path, text)
    result = command("evolve", "--data", spec, *SMALL, "--tick", "0.01", "--json").json
    assert result["data"]["notes"] == ["1 bar widened to open and close, by 0.01 or less"]
    assert result["data"]["bars"] == N_BARS


@pytest.mark.parametrize("lines", [LINES[:0:-1], (*LINES[1:6], LINES[7], LINES[6], *LINES[8:])])
def test_rows_are_sorted_only_when_asked(command, tmp_path, lines):
    """Never in silence: the line names the option, and the note how many rows stood wrong."""
    text = rewritten(LINES[0], *lines)
    assert "or let --sort do it" in all_refuse(command, tmp_path, text)
    clean = command("data", "show", write_csv(tmp_path, rewritten(*LINES)), "--json").json
    result = command("data", "show", write_csv(tmp_path, text), "--sort", "--json").json
    assert result["hash"] == clean["hash"]
    assert "earlier than the one before, sorted by time" in result["notes"][0]


def hours(*clocks):
    """A file of hourly bars at local times of their own."""
    columns = {name: LEGAL[name][: len(clocks)] for name in COLUMNS}
    return csv_text(columns, times=list(clocks))


@pytest.mark.parametrize(
    ("clocks", "words"),
    [
        (("2024-11-03 00:30", "2024-11-03 01:30", "2024-11-03 02:30"), "exist twice"),
        (("2024-03-10 01:30", "2024-03-10 02:30", "2024-03-10 03:30"), "do not exist"),
    ],
    ids=["twice", "never"],
)
def test_local_times_that_clocks_skip_or_repeat_are_refused(command, tmp_path, clocks, words):
    """Neither is mapped to something that a person did not say; what is named helps."""
    line = all_refuse(command, tmp_path, hours(*clocks), "--tz", "America/New_York")
    assert words in line
    assert "row 1" in line
    (remedy,) = re.findall(r"--tz [A-Z]\S+(?: --ambiguous earlier)?", line.partition("; ")[2])[:1]
    outcome = command("data", "show", f"csv:{tmp_path}/series.csv", *remedy.split())
    assert outcome.code == 0, remedy


def test_a_file_is_no_folder_for_bars(command, market, tmp_path):
    """`data import --into FILE` refuses, and leaves the file as it was."""
    (tmp_path / "kept").write_text("mine")
    outcome = command("data", "import", market, "--into", "kept")
    assert (outcome.code, outcome.error) == (
        2,
        "kept: cannot be written (it is a file); name a folder to keep bars in",
    )
    assert (tmp_path / "kept").read_text() == "mine"
