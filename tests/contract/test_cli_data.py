"""Data that is wrong, odd or ambiguous, as evolve, backtest and data show meet it."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import COLUMNS, SMALL, market_columns
from tests.support.series import csv_text, write_csv

pytestmark = pytest.mark.slow

N_BARS = 1500
LEGAL = market_columns(3, N_BARS, jump=0.05)
LINES = tuple(csv_text(LEGAL).splitlines())
"""A legal file: the header line, then one line a bar."""


def test_what_is_no_series_is_refused(command, tmp_path):
    """Every command prints the same line, and none records or repairs."""
    columns, lines = {**LEGAL, "high": np.array(LEGAL["high"])}, set()
    columns["high"][5] = max(LEGAL["open"][5], LEGAL["close"][5]) - 0.01
    spec = write_csv(tmp_path, csv_text(columns))
    for arguments in (("data", "show"), ("backtest",), ("evolve", *SMALL)):
        outcome = command(*arguments, "--data", spec)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        lines.add(outcome.error)
    (line,) = lines
    assert "--tick" in line
    assert [path.name for path in tmp_path.iterdir()] == ["series.csv"]


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
    outcome = command("evolve", "--data", spec, *SMALL, *repairs, "--json", "--quiet")
    assert outcome.code == 0, outcome.err
    assert outcome.json["data"]["bars"] == N_BARS - 1
    assert outcome.json["certificate"]["mismatches"] == 0
    notes = outcome.json["data"]["notes"]
    for words in ("America/New_York", "1 bad row", "1 bar widened", "90 was added", "1 row earlier",
                  "1 repeated row", "1 gap", "--price-offset with costs",
                  "--drop-bad-bars without --max-gap"):  # fmt: skip
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
    outcome = command("evolve", "--data", spec, *SMALL)
    assert outcome.code == 2
    assert not (tmp_path / "runs").exists()
    advice = re.findall(r"--bound \S+", outcome.error)
    assert all(":999" in flag for flag in advice)
    flags = " ".join(advice).split()
    assert command("evolve", "--data", spec, *SMALL, *flags).code == 0
    few = command("backtest", "--data", write_csv(tmp_path, "\n".join([*LINES[:98], ""])))
    assert few.code == 2
    for number in ("97 bars", "673", "672"):
        assert number in few.error


def test_a_market_that_never_moves_has_undefined_statistics(command, tmp_path):
    """No trade, no deviation, and no number where there is none to have."""
    spec = write_csv(tmp_path, csv_text({**LEGAL, **dict.fromkeys(COLUMNS[1:5], [50.0] * N_BARS)}))
    metrics = command("backtest", "--data", spec, "--json").json["metrics"]
    undefined = {name for name, value in metrics.items() if value is None}
    assert {"sharpe", "profit_factor", "mean_r", "win_rate"} <= undefined
    assert (metrics["trades"], metrics["total_return"], metrics["max_drawdown"]) == (0, 0.0, 0.0)
    shown = command("evolve", "--data", spec, *SMALL, "--min-trades", "0")
    assert shown.code == 0
    assert "undefined" in shown.out
    assert "nan" not in shown.out.lower()


def test_a_symbol_is_text_and_nothing_else(command, tmp_path):
    """Whatever a file is called is shown as it stands, or refused where a terminal would obey."""
    name = "=1 [bold]<script>\U0001f4c8"
    spec = write_csv(tmp_path, "\n".join([*LINES, ""]), f"{name}.csv")
    assert f" on {name} 15m, " in command("evolve", "--data", spec, *SMALL).out
    assert f" {name} 15m " in command("runs", "list").out
    for name in ("a\nb", "\u202eabc", "\udcff"):
        outcome = command("backtest", "--data", f"csv:{Path(spec[4:]).rename(f'{name}.csv')}")
        assert outcome.code == 2
        assert f"{name!a}" in outcome.error
        spec = f"csv:{name}.csv"
