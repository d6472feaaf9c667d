"""Sizes of several symbols of one account, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from data import Bars, Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.replay.parity import compare_accumulators
from strategy import words as w
from tests.support.references import compiled_reference

HOUR_NS = 3_600 * 10**9
FREE = Costs(fee_bp=0.0, slippage_bp=0.0)


def market(*bars, symbol, hours=1, begins=0):
    """Bars of (open, close) after one that only signals; they last so many hours."""
    first, last = np.array([(100, 100), *bars], np.float64).T
    columns = first, np.maximum(first, last), np.minimum(first, last), last
    times = (begins + hours * np.arange(len(first))) * HOUR_NS
    return Bars(times, *columns, np.ones(len(first)), symbol, timeframe_ns=hours * HOUR_NS)


def fold(spec, series, windows, costs):
    """Ledgers, sums by name once all forms agree, and the account with its folded trades."""
    genome = spec.layout.defaults
    reference = compiled_reference(spec, series, windows, costs)
    ledgers = reference.trades(genome)
    sums = reference.account(ledgers, range(len(windows)), genome)
    engine = Engine(spec, series, windows, costs, device="cpu")
    assert compare_accumulators(sums, engine.evaluate_account(genome[None])[1][0]) == ""
    names = tuple(series[window.series].symbol for window in windows)
    stakes = (build_stake(spec, costs, spec.layout.decode(genome)),) * len(windows)
    account = Account(tuple(series), tuple(windows), names, costs, stakes=stakes)
    folded = account.fold(ledgers)
    named = {name: sums[place].item() for name, place in ACCUMULATOR_INDEX.items()}
    assert not len(folded.r) or folded.equity[-1] == named["equity"]
    return ledgers, named, account, folded


def measure(series, size, costs=FREE, **parts):
    """Sums, the account's numbers, its folded trades, and units by symbol and hour of the fill."""
    arguments = {"long": w.close > 0, "stop": w.share(0.5), "max_hold": 1, **parts}
    spec = w.strategy("Buys.", account=w.account(1000, size), **arguments)
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    ledgers, named, account, folded = fold(spec, series, windows, costs)
    places = zip(folded.strand.tolist(), (folded.entry_ns // HOUR_NS).tolist(), strict=True)
    filled = dict(zip(places, folded.units.tolist(), strict=True))
    return named, account.measure(ledgers)[0], folded, filled


TOGETHER = [market((100, 110), symbol=name) for name in "AB"]
"""Two symbols, both bought at 100 at one moment, both sold at 110 at one moment."""


def test_orders_filled_together_are_sized_from_the_same_cash():
    """By hand: 10 units each of 1,000, a fifth is gained, both are worth twice the account."""
    sums, measured, folded, _ = measure(TOGETHER, w.equity_share(1))
    assert folded.units.tolist() == [10.0, 10.0]
    assert folded.leverage.tolist() == [1.0, 1.0]
    assert folded.worth.tolist() == [1100.0, 1200.0]
    assert sums["equity"] == 1.2
    assert measured["max_leverage"] == 2.0
    limited, *_ = measure(TOGETHER, w.equity_share(1), replace(FREE, max_leverage=1.0))
    assert (limited["trades"], limited["skipped"], limited["equity"]) == (1.0, 1.0, 1.1)


def test_a_trade_counts_once_its_exit_bar_is_over():
    """Four hours that gain a tenth are not known to an hour that is filled within them."""
    slow = market((100, 110), (100, 100), symbol="SLOW", hours=4)
    hours = [(100, 100)] * 4 + [(100, 120), (100, 100), (100, 100), (100, 90)]
    quick = market(*hours, symbol="QUICK")
    _, measured, folded, filled = measure([slow, quick], w.equity_share(1))
    assert (filled[0, 4], filled[1, 5]) == (10.0, 10.0)
    # 200 of the hour are known at 6:00; the four hours' 100 at 8:00, when the last one is filled.
    # Trades are folded when they are over: of those at 8:00 that comes first which left earlier.
    assert (filled[1, 7], filled[1, 8]) == (12.0, 13.0)
    assert folded.worth[-3:].tolist() == [1300.0, 1170.0, 1170.0]
    # At 7:00, with four hours at cost as of their last close.
    assert measured["max_drawdown_marked"] == pytest.approx(0.1)


def test_an_exit_at_the_open_is_known_at_that_open():
    """What leaves by its condition at 103 pays for what is filled there; a time exit does not."""
    leaves = market((100, 110), (103, 103), (103, 103), symbol="A")
    waits = market((100, 100), (100, 100), (100, 100), symbol="B")
    parts = {"exit_long": w.close > 105, "max_hold": 2}
    *_, filled = measure([leaves, waits], w.equity_share(1), **parts)
    assert (filled[1, 1], filled[1, 3]) == (10.0, 10.3)
