"""Accounts that end, and trades that differ by rounding, on the reference and each backend.

Both were found at the top of a front: a sharpe of 90,370,022 from eleven equal wins, and equity
that went on below zero until its drawdown was beyond all numbers.
"""

import dataclasses
import math

import numpy as np
import pytest

import strategy.words as w
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.curves import compound
from engine.accounts.derived import UNDEFINED
from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from engine.reference import Reference
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.markets import PAPER_SPEC, join_markets, losing_market, winning_market
from tests.support.references import FORMS

ELEVEN = winning_market(11)


def free(risk_fraction):
    """No costs, and so much of equity at risk."""
    return Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=risk_fraction)


@pytest.fixture(params=ENGINE_PARAMETERS)
def account(request):
    """A function that gives accumulators, metrics and reasons of one individual on one series."""

    def run(bars, costs, spec=PAPER_SPEC, **genes):
        windows, genome = [Window.whole(bars)], spec.layout.encode(genes)
        if request.param in FORMS:
            form = FORMS[request.param]
            reference = Reference(spec, [bars], windows, costs, form=form)
            values = reference.accumulators(genome)[0]
        else:
            engine = Engine(spec, [bars], windows, costs, device=request.param)
            values = engine.evaluate(genome[None])[0, 0]
        table = compute_metrics(values[None, None], [measure_span(bars, windows[0])])
        why = dict(zip(table.names, table.reasons[0, 0].tolist(), strict=True))
        reasons = {name: UNDEFINED[reason] for name, reason in why.items() if reason}
        return dict(zip(ACCUMULATORS, values.tolist(), strict=True)), table.name_metrics(0), reasons

    return run


@pytest.mark.parametrize("reward", [2.1, 2.3, 3.3, 4.7])
def test_eleven_equal_wins_have_no_sharpe(account, reward):
    """What is left of their variance is rounding, and nothing is divided by it."""
    sums, metrics, reasons = account(ELEVEN, free(0.01), reward=reward)
    assert (sums["trades"], sums["wins"]) == (11.0, 11.0)
    for name in ("std_r", "sharpe_trade", "sharpe"):
        assert reasons[name] == "no_variation"
    assert reasons["sortino"] == "no_losses"
    assert metrics["strength"] == pytest.approx(math.sqrt(11.0))


def test_equity_ends_at_ruin(account):
    """After the first loss of 33 R nothing is left; sums in R go on."""
    sums, metrics, reasons = account(losing_market(250), free(1.0))
    assert (sums["trades"], sums["sum_r"], sums["max_drawdown_r"]) == (250.0, -8250.0, 8250.0)
    assert (sums["equity"], sums["peak_equity"], sums["max_drawdown"]) == (0.0, 1.0, 1.0)
    assert not math.copysign(1.0, sums["equity"]) < 0
    assert (metrics["total_return"], metrics["max_drawdown"]) == (-1.0, 1.0)
    assert reasons["calmar"] == "ruined"


def test_a_drawdown_is_measured_from_the_peak(account):
    """A win of 2 R makes it 1.02; a loss of 33 R then takes a third of that."""
    sums, _, _ = account(join_markets(winning_market(1), losing_market(1)), free(0.01))
    assert (sums["trades"], sums["peak_equity"]) == (2.0, 1.02)
    assert sums["max_drawdown"] == pytest.approx(0.33, rel=1e-12)


def test_ruin_is_not_earned_back(account):
    """Wins after ruin count in R and move no equity."""
    bars = join_markets(losing_market(1), winning_market(2))
    sums, _, _ = account(bars, free(0.5))
    assert (sums["trades"], sums["sum_r"], sums["peak_r"]) == (3.0, -29.0, 0.0)
    assert (sums["equity"], sums["peak_equity"], sums["max_drawdown"]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("size", [w.units(1), w.notional(100)], ids=["units", "notional"])
def test_ruin_is_not_earned_back_by_sizes_that_ask_no_cash(account, size):
    """A trade of one unit loses 99; those after it would gain again."""
    bars = join_markets(losing_market(1), winning_market(2))
    spec = dataclasses.replace(PAPER_SPEC, account=w.account(50, size))
    sums, _, _ = account(bars, free(0.5), spec)
    assert (sums["trades"], sums["sum_r"], sums["unsized"]) == (3.0, -29.0, 0.0)
    assert (sums["equity"], sums["peak_equity"], sums["max_drawdown"]) == (0.0, 1.0, 1.0)


def test_an_account_that_is_left_nearly_nothing_stands(account):
    """Losses of a third each never end it, however often they come."""
    sums, _, reasons = account(losing_market(250), free(0.01))
    assert 0.0 < sums["equity"] < 1e-40
    assert reasons["calmar"] == "few_days"


def test_what_is_left_may_round_to_ruin(account):
    """Equity below the least float64 is 0."""
    sums, metrics, _ = account(losing_market(250), free(0.03))
    assert (sums["equity"], metrics["total_return"]) == (0.0, -1.0)


def test_equity_beyond_all_numbers_is_said_to_be(account):
    """Every metric that is undefined has a reason, and none is infinite."""
    _, metrics, reasons = account(winning_market(320), free(1.0), reward=10.0)
    assert {"total_return", "max_drawdown"} <= {
        name for name, reason in reasons.items() if reason == "overflow"
    }
    assert {name for name, value in metrics.items() if not math.isfinite(value)} == set(reasons)


def test_ruin_after_equity_beyond_all_numbers(account):
    """Everything can be lost, and stays lost."""
    bars = join_markets(winning_market(320), losing_market(1), winning_market(4))
    sums, metrics, reasons = account(bars, free(1.0), reward=10.0)
    assert (sums["trades"], sums["equity"]) == (325.0, 0.0)
    assert (metrics["total_return"], metrics["max_drawdown"]) == (-1.0, 1.0)
    assert reasons["calmar"] == "ruined"


def test_equity_that_outgrows_all_numbers_is_infinite_without_a_warning():
    """Whoever reads it says so; a loss of all ends it as ever."""
    assert np.isinf(compound(np.full(600, 3.0), 1.0)[-1])
    assert compound(np.array([1e308, 3.0, -1.0, 3.0]), 1.0).tolist() == [1e308, np.inf, 0.0, 0.0]
