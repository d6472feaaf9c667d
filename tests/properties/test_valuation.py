"""What is said of trades around the engine is what the engine itself has, whatever is traded."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.strategy_stakes import build_stake
from engine.reference import list_terms
from optimizer.evidence.pick import compute_strengths
from optimizer.evidence.robust import break_even_bp, evaluate_costs
from strategy.indicators.rolling import zscore
from strategy.rows import as_it_reads
from tests.support.random_strategies import drawn_exits, drawn_orders
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars


def draw_account(seed, strategy=None, length=220):
    """An individual on two symbols in three windows: its reference, ledgers and account."""
    strategy = strategy or (drawn_exits if seed % 3 else drawn_orders)(seed)
    bars = [make_bars(number, length, gaps=0.02, jump=0.04) for number in (seed, seed + 1)]
    forecast = {"forecast": as_it_reads(zscore)(bars[0].close, 20)}
    bars = [
        replace(each, symbol=name, extra=forecast) for name, each in zip("AB", bars, strict=True)
    ]
    cut = length // 2
    windows = Window(0, 0, cut), Window(0, cut, length), Window(1, 30, length)
    costs = draw_order_costs(seed, strategy)
    costs = costs if costs.per_side else replace(costs, fee_bp=4.0, slippage_bp=3.0)
    return trade(strategy, bars, windows, costs)


def trade(strategy, bars, windows, costs):
    """An individual of default genes: its reference, genome, ledgers and account."""
    reference, genome = compiled_reference(strategy, bars, windows, costs), strategy.layout.defaults
    names = tuple(bars[window.series].symbol for window in windows)
    terms, stakes = list_terms(reference, genome, windows), ()
    if strategy.account is not None:
        stakes = (build_stake(strategy, costs, strategy.layout.decode(genome)),) * len(windows)
    account = Account(tuple(bars), tuple(windows), names, costs, terms=terms, stakes=stakes)
    return reference, genome, reference.trades(genome), account


def check_costs(reference, genome, ledgers, account):
    """Strength at what was charged in every bit, and nothing left at the break-even."""
    folded = reference.account(ledgers, range(len(ledgers)), genome)
    front = compute_strengths(folded[None])[0]
    charged = evaluate_costs(account, ledgers)[2]
    assert charged.times == 1.0
    assert np.array([charged.strength or np.nan]).tobytes() == np.array([front or np.nan]).tobytes()
    assert charged.sum_r == folded[ACCUMULATOR_INDEX["sum_r"]]
    even, count = break_even_bp(account, ledgers), sum(map(len, ledgers))
    if count and even.value >= 0:
        at_even = replace(account.costs, fee_bp=even.value, slippage_bp=0.0)
        again = compiled_reference(reference.spec, reference.series, reference.windows, at_even)
        left = sum(ledger.r.sum() for ledger in again.trades(genome))
        assert abs(left) / count < 1e-9
    return count


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_costs_are_repriced_as_the_engine_has_them(seed):
    """Ladders, payments, fees a unit, slippage and accounts, two symbols, several windows."""
    check_costs(*draw_account(seed))
