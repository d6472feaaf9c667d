"""Accounts that end, and trades that differ by rounding, on the reference and each backend.

Both were found at the top of a front: a sharpe of 90,370,022 from eleven equal wins, and equity
that went on below zero until its drawdown was beyond all numbers.
"""

import dataclasses
import math

import pytest

import strategy.words as w
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.metrics import UNDEFINED, compute_metrics, measure_span
from engine.batch import Engine
from engine.reference import Reference
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.markets import PAPER_SPEC, join_markets, losing_market, winning_market
from tests.support.references import FORMS

INF = math.inf
RUINED = {"equity": 0.0, "peak_equity": 1.0, "max_drawdown": 1.0, "total_return": -1.0}
ONE_LOSS = join_markets(losing_market(1), winning_market(2))
EQUAL = dict.fromkeys(("std_r", "sharpe_trade", "sharpe"), "no_variation")


def sized(size):
    """The paper strategy with an account of 50."""
    return dataclasses.replace(PAPER_SPEC, account=w.account(50, size))


CASES = {
    # What is left of the variance of equal wins is rounding, and nothing is divided by it.
    **{f"eleven wins of {reward} R": (winning_market(11), 0.01, {"reward": reward}, PAPER_SPEC,
                                      {"trades": 11.0, "wins": 11.0, "strength": math.sqrt(11.0)},
                                      {**EQUAL, "sortino": "no_losses"})
       for reward in (2.1, 2.3, 3.3, 4.7)},
    # After the first loss of 33 R nothing is left; sums in R go on.
    "ruin": (losing_market(250), 1.0, {}, PAPER_SPEC,
             {**RUINED, "trades": 250.0, "sum_r": -8250.0, "max_drawdown_r": 8250.0},
             {"calmar": "ruined"}),
    # A win of 2 R makes it 1.02; a loss of 33 R then takes a third of that.
    "from the peak": (join_markets(winning_market(1), losing_market(1)), 0.01, {}, PAPER_SPEC,
                      {"trades": 2.0, "peak_equity": 1.02, "max_drawdown": 0.33}, {}),
    # Wins after ruin count in R and move no equity, also of sizes that ask no cash.
    **{name: (ONE_LOSS, 0.5, {}, spec,
              {**RUINED, "trades": 3.0, "sum_r": -29.0, "peak_r": 0.0, "unsized": 0.0}, {})
       for name, spec in (("not earned back", PAPER_SPEC), ("units", sized(w.units(1))),
                          ("notional", sized(w.notional(100))))},
    # Losses of a third each never end it; what is left below the least float64 is 0.
    "nearly nothing": (losing_market(250), 0.01, {}, PAPER_SPEC,
                       {"equity": 0.67**250}, {"calmar": "few_days"}),
    "rounds to ruin": (losing_market(250), 0.03, {}, PAPER_SPEC,
                       {"equity": 0.0, "total_return": -1.0}, {}),
    "beyond all numbers": (winning_market(320), 1.0, {"reward": 10.0}, PAPER_SPEC,
                           {"equity": INF},
                           {"total_return": "overflow", "max_drawdown": "overflow"}),
    "ruin after that": (join_markets(winning_market(320), losing_market(1), winning_market(4)),
                        1.0, {"reward": 10.0}, PAPER_SPEC,
                        {"trades": 325.0, "equity": 0.0, "total_return": -1.0,
                         "max_drawdown": 1.0}, {"calmar": "ruined"}),
}  # fmt: skip
"""A market, the share of equity at risk, genes and strategy; sums and metrics; reasons of metrics
that are undefined."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINE_PARAMETERS)
def test_an_account_by_hand(engine, name):
    """Every metric that is undefined has a reason, and none is infinite."""
    bars, risked, genes, spec, expected, undefined = CASES[name]
    costs = Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=risked)
    windows, genome = [Window.whole(bars)], spec.layout.encode(genes)
    if engine in FORMS:
        reference = Reference(spec, [bars], windows, costs, form=FORMS[engine])
        values = reference.accumulators(genome)[0]
    else:
        values = Engine(spec, [bars], windows, costs, device=engine).evaluate(genome[None])[0, 0]
    table = compute_metrics(values[None, None], [measure_span(bars, windows[0])])
    why = dict(zip(table.names, table.reasons[0, 0].tolist(), strict=True))
    reasons = {name: UNDEFINED[reason] for name, reason in why.items() if reason}
    metrics = table.name_metrics(0)
    found = {**dict(zip(ACCUMULATORS, values.tolist(), strict=True)), **metrics}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-11, abs=0)
    assert undefined.items() <= reasons.items()
    assert {name for name, value in metrics.items() if not math.isfinite(value)} == set(reasons)
    assert not math.copysign(1.0, found["equity"]) < 0
