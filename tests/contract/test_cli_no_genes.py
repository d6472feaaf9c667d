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
def fixed_strategy(tmp_path):
    """A file that holds such a strategy."""
    path = tmp_path / "fixed.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def test_a_backtest_draws_a_page(command, market, fixed_strategy, tmp_path):
    """Backtest --plot writes the page, and prints no empty table of genes."""
    outcome = command(
        "backtest", "--data", market, "--strategy", fixed_strategy, "--plot", "page.html"
    )
    assert outcome.code == 0, outcome.err
    assert "Genes" not in outcome.out
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_python_has_its_trades(market, fixed_strategy):
    """`trades(0)` of a backtest from Python has as many rows as the metrics count."""
    run = backtest(data=market, strategy=fixed_strategy)
    assert run.genomes.shape == (1, 0)
    assert len(run.trades(0)) == run.front["trades"][0] > 5


def test_a_search_of_it_is_judged_shown_and_exported(command, market, fixed_strategy, tmp_path):
    """Evolve judges it as a front of one; resume, report, runs and export take that run."""
    few = ("--population", "8", "--generations", "1", "--min-trades", "5")
    goals = ("--objectives", "strength,total_return@near")
    searched = command(
        "evolve",
        "--data",
        market,
        "--strategy",
        fixed_strategy,
        *few,
        *goals,
        "--judge",
        "--null",
        "19",
    )
    assert searched.code == 0, searched.err
    assert "genes" not in searched.out
    for asked in (
        ("report", "latest"),
        ("evolve", "--resume", "latest"),
        ("runs", "show", "latest", "--member", "0"),
        ("runs", "verify", "latest"),
        ("runs", "export", "latest", "front.csv"),
        ("runs", "export", "latest", "all.csv", "--what", "individuals"),
        ("runs", "export", "latest", "study.journal"),
        ("runs", "export", "latest", "member.py", "--as", "backtesting.py", "--member", "0"),
        ("backtest", "latest"),
        ("parity", "--run", "latest"),
        ("judge", "latest"),
    ):
        outcome = command(*asked)
        assert outcome.code == 0, (asked, outcome.err)
    with open(tmp_path / "front.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 1
    run = load_run(runs=tmp_path / "runs")
    assert len(run.trades(0)) == run.front["trades"][0]
    assert len(run.population(1)) == 1


def test_a_lattice_of_it_is_refused(command, market, fixed_strategy):
    """A lattice without genes is refused with what to do, not with a flag that cannot help."""
    outcome = command(
        "evolve", "--data", market, "--strategy", fixed_strategy, "--search", "lattice"
    )
    assert outcome.code == 2
    assert "leave it out" in outcome.err
    assert "--step" not in outcome.err
