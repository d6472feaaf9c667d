"""Series cut at long gaps, some of whose parts are too short to search on."""

import json

import numpy as np
import pytest

import optimizer
from tests.support.commands import SMALL, market_columns
from tests.support.series import csv_text, write_csv

DAY_NS = 86_400 * 10**9
BOUNDS = ("--bound", "ema_slow=97:200", "--bound", "z_window=96:200")
"""The longest window is one of 200 bars."""


def write_parts(folder, *lengths):
    """A market whose parts of so many bars lie forty days apart."""
    columns = market_columns(3, sum(lengths), jump=0.05)
    after = np.repeat(np.arange(len(lengths)), lengths)
    return write_csv(
        folder, csv_text({**columns, "timestamp": columns["timestamp"] + after * 40 * DAY_NS})
    )


def test_parts_that_are_too_short_are_skipped_and_named(command, tmp_path):
    """The others are searched on; a note counts those skipped, and their days."""
    spec = write_parts(tmp_path, 60, 1000, 201, 200, 900)
    flags = (*BOUNDS, *SMALL, "--quiet", "--json")
    outcome = command("evolve", "--data", spec, "--max-gap", "10d", *flags)
    assert (outcome.code, outcome.err.count("skipped")) == (0, 1)
    assert [window["bars"] for window in outcome.json["data"]["windows"]] == [1000, 201, 900]
    gaps, *notes = outcome.json["data"]["notes"]
    assert gaps.startswith("4 gaps, 15,360 bars missing; ")
    assert notes == [
        "cut into 5 parts at gaps longer than 10d",
        "2 of 5 parts are skipped, too short for windows of 201 bars (260 bars): "
        "1970-01-02 to 1970-01-02, 1970-05-15 to 1970-05-17",
    ]


@pytest.mark.parametrize(
    ("genes", "needed", "kept"),
    [
        # A window of n bars is known at its last one, and a signal there needs a bar to enter at.
        ({}, 201, [1000, 201, 900]),
        ({"z_window": 199, "ema_slow": 199}, 200, [1000, 201, 200, 900]),
        ({"z_window": 96, "ema_slow": 97}, 98, [1000, 201, 200, 900]),
    ],
)
def test_a_backtest_keeps_parts_that_its_genes_can_trade(command, tmp_path, genes, needed, kept):
    """Bounds without a search leave no part out; genes come by flag, file or name."""
    spec, file = write_parts(tmp_path, 60, 1000, 201, 200, 900), tmp_path / "genes.json"
    file.write_text(json.dumps(genes))
    settings = [word for name, value in genes.items() for word in ("--set", f"{name}={value}")]
    for given in (settings, ["--genes", str(file)]):
        flags = ("--data", spec, "--max-gap", "10d", *BOUNDS, *given, "--json")
        outcome = command("backtest", *flags)
        assert [window["bars"] for window in outcome.json["data"]["windows"]] == kept
        assert f"of 5 parts are skipped, too short for windows of {needed:,} bars" in outcome.err
    bounds = {"ema_slow": (97, 200), "z_window": (96, 200)}
    single = optimizer.backtest(data=spec, genes=genes, max_gap="10d", bounds=bounds)
    assert [len(window) for window in single.windows] == kept


def test_a_member_keeps_the_parts_of_its_run(command, tmp_path):
    """However few bars it needs: what the run was searched on is what its front is held against."""
    spec = write_parts(tmp_path, 60, 1000, 201, 200, 900)
    assert (
        command("evolve", "--data", spec, "--max-gap", "10d", *BOUNDS, *SMALL, "--quiet").code == 0
    )
    fewest = {"z_window": 96, "ema_slow": 97, "ema_fast": 24, "atr_window": 12}
    settings = [word for name, value in fewest.items() for word in ("--set", f"{name}={value}")]
    outcome = command("backtest", "latest", "--member", "0", *settings, "--json")
    assert [window["bars"] for window in outcome.json["data"]["windows"]] == [1000, 201, 900]


def test_what_was_recorded_is_cut_alike_again(command, tmp_path):
    """A record of such a run verifies."""
    spec = write_parts(tmp_path, 60, 1000, 900)
    flags = ("--max-gap", "10d", "--holdout", "20%", *BOUNDS)
    assert command("evolve", "--data", spec, *flags, *SMALL, "--quiet").code == 0
    assert command("runs", "verify", "latest").code == 0


def test_a_part_without_a_bar_to_hold_out_is_skipped(command, tmp_path):
    """A share of few bars is none, and what is held out is no bar to search on."""
    spec = write_parts(tmp_path, 3, 250, 1000)
    flags = ("--max-gap", "10d", "--holdout", "20%", *BOUNDS, "--json")
    outcome = command("backtest", "--data", spec, *flags)
    assert [window["bars"] for window in outcome.json["data"]["windows"]] == [800, 200]
    assert "2 of 3 parts are skipped" in outcome.err


def test_parts_that_are_all_too_short_are_refused(command, tmp_path):
    """As where each night is a gap: the longest part and the bars that are needed are named."""
    spec = write_parts(tmp_path, 60, 70, 80)
    for arguments in (("backtest",), ("evolve", *SMALL)):
        outcome = command(*arguments, "--data", spec, "--max-gap", "10d", *BOUNDS)
        assert outcome.code == 2
        assert outcome.error.startswith("--max-gap 10d: none of the 3 parts of series has the 201 ")
        assert "the longest part has 80; name a longer gap" in outcome.error


def test_many_parts_are_a_short_table(command, tmp_path):
    """A stock that is cut at each night has hundreds: twenty are shown, all are in the JSON."""
    spec = write_parts(tmp_path, *[210] * 24)
    flags = ("--data", spec, "--max-gap", "10d", *BOUNDS)
    outcome = command("backtest", *flags)
    assert "Window by window (the first 20 of 24; --json has all)" in outcome.out
    assert sum(line.lstrip().startswith("series 197") for line in outcome.out.splitlines()) == 20
    assert len(command("backtest", *flags, "--json").json["windows"]) == 24
