"""A strategy without genes: every command takes it as it takes any other."""

import csv

import pytest

from optimizer import backtest, load_run

SOURCE = """from strategy.words import *
FIXED = strategy(
    "Buys strength, with every number fixed.",
    long=crosses_above(close, sma(close, 20)),
    exit_long=close < sma(close, 20),
    stop=beyond_bar(1.5 * rma(true_range, 14)),
)
"""


@pytest.fixture
def given(tmp_path, market):
    """Flags of a file that holds such a strategy, and of a market."""
    (tmp_path / "fixed.py").write_text(SOURCE, encoding="utf-8")
    return "--data", market, "--strategy", "fixed.py"


def test_it_is_backtested_and_no_lattice_of_it_is_searched(command, given, market, tmp_path):
    """Its page has no empty table of genes; Python has its trades."""
    outcome = command("backtest", *given, "--plot", "page.html")
    assert outcome.code == 0, outcome.err
    assert "Genes" not in outcome.out
    assert (tmp_path / "page.html").stat().st_size > 10_000
    run = backtest(data=market, strategy="fixed.py")
    assert run.genomes.shape == (1, 0)
    assert len(run.trades(0)) == run.front["trades"][0] > 5
    refused = command("evolve", *given, "--search", "lattice")
    assert refused.code == 2
    assert "--step" not in refused.err


def test_a_search_of_it_is_judged_shown_and_exported(command, given, tmp_path):
    """Evolve judges it as a front of one; every other command takes that run."""
    few = ("--population", "8", "--generations", "1", "--min-trades", "5")
    goals = ("--objectives", "strength,total_return@near")
    judged = ("--null", "2", "--folds", "2", "--blocks", "0", "--resamples", "19")
    searched = command("evolve", *given, *few, *goals, *judged)
    assert searched.code == 0, searched.err
    assert "genes" not in searched.out
    for asked in (
        ("evolve", "--resume", "latest"),
        ("runs", "show", "latest", "--member", "0"),
        ("runs", "verify", "latest"),
        ("runs", "export", "latest", "front.csv"),
        ("runs", "export", "latest", "study.journal"),
        ("runs", "export", "latest", "member.py", "--as", "backtesting.py", "--member", "0"),
        ("backtest", "latest"),
        ("parity", "--run", "latest"),
    ):
        outcome = command(*asked)
        assert outcome.code == 0, (asked, outcome.err)
    with open(tmp_path / "front.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 1
    run = load_run(runs=tmp_path / "runs")
    assert len(run.trades(0)) == run.front["trades"][0]
    assert len(run.population(1)) == 1
