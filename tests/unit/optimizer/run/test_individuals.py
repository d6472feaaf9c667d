"""What is undefined has a reason, and never reaches the search as a number."""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run.individuals import compute_figures
from tests.support.markets import PAPER_SPEC, join_markets, losing_market, winning_market

GOALS = Goals(parse_objectives("sharpe_trade,total_return,max_drawdown"), min_trades=5)

MARKETS = {
    "equal_wins": [winning_market(11)],
    "ruin": [losing_market(250)],
    "ruin_in_one_of_two": [losing_market(10), winning_market(10)],
    "overflow": [winning_market(320)],
    "ruin_after_overflow": [join_markets(winning_market(320), losing_market(1))],
    "nothing": [winning_market(1)],
}


def judge_individual(name, risk_fraction=1.0):
    """All metrics of one individual on a market, and how the search judges them."""
    series = MARKETS[name]
    windows = [Window.whole(bars, s) for s, bars in enumerate(series)]
    costs = Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=risk_fraction)
    engine = Engine(PAPER_SPEC, series, windows, costs, device="cpu")
    by_window, account = engine.evaluate_account(
        PAPER_SPEC.layout.encode({"reward": 3.3 if "wins" in name else 10})[None]
    )
    spans = [measure_span(bars, window) for bars, window in zip(series, windows, strict=True)]
    table = compute_metrics(by_window, spans, account=account)
    return table, GOALS.judge(table)


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("equal_wins", "undefined:sharpe_trade"),
        ("ruin", "ruined"),
        ("ruin_in_one_of_two", "ruined"),
        ("overflow", "undefined:sharpe_trade"),
        ("ruin_after_overflow", "ruined"),
        ("nothing", "too_few_trades"),
    ],
)
def test_what_is_undefined_never_reaches_the_search(name, failure):
    """Neither a sharpe of equal wins nor a drawdown of lost equity is ever ranked."""
    _, values = judge_individual(name)
    assert GOALS.failure_names[values.failures[0]] == failure
    assert values.violations[0] > 0
    assert np.isnan(values.objectives).all()


@pytest.mark.parametrize("name", MARKETS)
def test_no_metric_is_null_without_a_reason(name):
    """And a defined number has none."""
    table, _ = judge_individual(name)
    for over in ("pooled", "mean"):
        figures = compute_figures(table, 0, over)
        assert {n for n, value in figures.metrics.items() if value is None} == set(
            figures.undefined
        )
        assert all(value is None or np.isfinite(value) for value in figures.metrics.values())
