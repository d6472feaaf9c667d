"""Many symbols and held-out bars, from the command line to the record."""

import pytest

from engine.accounts.ledger import ACCUMULATOR_INDEX, Trade
from optimizer import load_run
from tests.support.commands import SMALL, read_csv

pytestmark = pytest.mark.slow

LOOSE = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96")
EASY = ("--objectives", "sum_r,max_drawdown", *SMALL, "--min-trades", "1")


@pytest.fixture
def folder(command, recordings):
    """Three symbols here, searched with a fifth held out and unopened."""
    recordings.copy("symbols", "--holdout", "20%", *EASY)


def show(command):
    """The result of the latest run."""
    return command("runs", "show", "latest", "--json").json["result"]


def open_held_out(command):
    """The same once its held-out bars were looked at."""
    command.succeed("judge", "latest", "--open", "--folds", 0, "--blocks", 0, "--quiet")
    return show(command)


def test_windows_objectives_and_certificate_are_those_of_all_symbols(command, folder):
    """R adds up to one account's, a fall may be deeper than any window's; so held out."""
    closed = show(command)
    assert (closed["certificate"]["windows"], closed["certificate"]["mismatches"]) == (3, 0)
    trades = sum(sum(member["by_window"]["trades"]) for member in closed["front"])
    assert closed["certificate"]["trades"] == trades > 0
    result = open_held_out(command)
    windows = result["data"]["windows"]
    assert [window["symbol"] for window in windows] == ["AAA", "BBB", "CCC"] * 2
    assert [window["sample"] for window in windows] == ["in"] * 3 + ["held out"] * 3
    assert [window["bars"] for window in windows] == [2400, 1600, 2080, 600, 400, 520]
    assert (result["data"]["bars"], result["data"]["held_out_bars"]) == (6080, 1520)
    run = load_run(result["path"])
    searched = run.engine.on(run.task.markets.windows).evaluate_account(run.genomes)[1]
    unseen = run.engine.on(run.task.markets.held_out).evaluate_account(run.genomes)[1]
    for i, member in enumerate(result["front"]):
        for name, value in member["objectives"].items():
            place = ACCUMULATOR_INDEX[name]
            assert value == member["metrics"][name] == searched[i, place]
            kept = member["held_out"]
            assert kept["objectives"][name] == kept["metrics"][name] == unseen[i, place]
            by_window = member["by_window"][name][:3]
            if name == "sum_r":
                assert value == pytest.approx(sum(by_window))
            else:
                assert value >= max(by_window)
    assert command("runs", "verify", "latest").code == 0
    assert command("parity", "--run", "latest", "--json").json["windows"] == 6
    # Genes give the figures of each window again, on the reference.
    genes = result["front"][0]["genes"].items()
    given = [part for name, value in genes for part in ("--set", f"{name}={value!r}")]
    bars = ("--data", "csv:symbols", "--holdout", "20%", "--engine", "reference", "--json")
    again, member = command("backtest", *bars, *given).json, result["front"][0]
    assert again["metrics"] == member["metrics"]
    assert again["held_out"]["metrics"] == member["held_out"]["metrics"]
    by_window = [window["metrics"]["sum_r"] for window in again["windows"]]
    assert by_window == member["by_window"]["sum_r"]


def test_backtest_tells_whose_trades_they_are(command, folder):
    """Symbol and sample before each trade, and a table symbol by symbol."""
    flags = ("backtest", "--data", "csv:symbols", "--holdout", "20%", *LOOSE)
    result = command(*flags, "--trades", "out.csv", "--json").json
    rows = read_csv("out.csv")
    assert tuple(rows[0]) == ("symbol", "sample", *Trade._fields, "entry_time", "exit_time")
    counts = [
        sum((row["symbol"], row["sample"]) == (window["symbol"], window["sample"]) for row in rows)
        for window in result["windows"]
    ]
    assert counts == [window["metrics"]["trades"] for window in result["windows"]]
    assert sum(counts) == len(rows) > 0
    out = command(*flags).out
    assert all(word in out for word in ("searched on", "held out", "Symbol by symbol"))
