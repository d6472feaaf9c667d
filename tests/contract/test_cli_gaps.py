"""Series with gaps: cut at long ones, parts too short to search on, and what bars lack, told."""

import json

import numpy as np
import pytest

import optimizer
from tests.support.commands import SMALL, market_columns, write_market
from tests.support.series import csv_text, write_csv

pytestmark = pytest.mark.slow

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
