"""Data that is wrong, odd or ambiguous, as evolve, backtest and data show meet it."""

import re

import numpy as np
import pytest

from tests.support.commands import COLUMNS, SMALL, market_columns
from tests.support.series import csv_text, write_csv

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
