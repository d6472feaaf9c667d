"""Accounts that were gone meanwhile, and returns that hang on one trade: by hand."""

from dataclasses import replace
from functools import partial

import pytest

from data.bars import Window
from data.jumps import find_wick
from engine.accounts.account import Account
from engine.accounts.caveats import find_best_trade, find_gone
from engine.accounts.costs import Costs
from engine.accounts.strategy_stakes import build_stake
from strategy import words as w
from tests.support.ledgers import make_flat_bars, make_free_ledger
from tests.support.markets import PAPER_SPEC

HOUR_NS = 3600 * 10**9
FREE = Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=0.1)


hourly = partial(make_flat_bars, step_ns=HOUR_NS)


def longs(*trades, stop=50.0):
    """Trades of (entry bar, exit bar, entry, exit), without costs."""
    return make_free_ledger(*((e, x, entry, stop, leave, "time") for e, x, entry, leave in trades))


def account(*series, size=None, cash=1000.0):
    """The account of whole series, which sizes trades from cash where a size is given."""
    windows = tuple(Window.whole(bars, number) for number, bars in enumerate(series))
    own = Account(series, windows, tuple(bars.symbol for bars in series), FREE)
    if size is None:
        return own
    spec = replace(PAPER_SPEC, account=w.account(cash, size))
    stake = build_stake(spec, FREE, spec.layout.decode(spec.layout.defaults))
    return replace(own, stakes=(stake,) * len(series))


@pytest.mark.parametrize(
    ("size", "gone_after_bar"),
    [
        (w.equity_share(20), 2),  # 200 units at 100: 1000 - 200 * 8 = -600 at 92
        (w.equity_share(12), None),  # 120 units: 40 are left
        (w.units(125), 2),  # 1000 - 125 * 8 = 0 is nothing
        (w.units(124), None),
        (w.notional(20_000), 2),
        (None, None),  # one R is a share of equity
    ],
)
def test_an_account_is_gone_at_the_close_at_which_nothing_is_left(size, gone_after_bar):
    """Long at 100, a close of 92, out at 103: the return is a gain all the same."""
    bars, trades = hourly(100, 100, 92, 103), [longs((1, 3, 100, 103))]
    own = account(bars, size=size)
    expected = None if gone_after_bar is None else (gone_after_bar + 1) * HOUR_NS
    assert find_gone(own, trades) == expected
    assert own.fold(trades).equity[-1] > 1.0
    if size is not None:
        assert (own.measure(trades)[0]["max_drawdown_marked"] == 1.0) == (expected is not None)


def test_positions_of_one_account_are_gone_together():
    """10 units each: 600 and 450 lost at one close are more than 1,000, neither alone is."""
    first, second = hourly(100, 100, 40, 110), hourly(100, 100, 55, 110, symbol="OTHER")
    trades = [longs((1, 3, 100, 110), stop=20.0)] * 2
    assert find_gone(account(first, second, size=w.units(10)), trades) == 3 * HOUR_NS
    for bars in (first, second):
        assert find_gone(account(bars, size=w.units(10)), trades[:1]) is None


@pytest.mark.parametrize(
    ("size", "leaves", "best", "without"),
    [
        # At 10 % of equity an R of 50: 2 * 1.1 * 0.9 - 1 = 0.98, and 1.1 * 0.9 - 1 = -0.01.
        (None, (600, 150, 50), 0, -0.01),
        # 1.2 * 1.2 * 1.1 - 1: without one of the first two 0.32, more than half of 0.584.
        (None, (200, 200, 150), None, 0.0),
        # One unit of 1,000: 30 + 10 + 5, and 15 without the first.
        (w.units(1), (130, 110, 105), 0, 0.015),
        (w.units(1), (130, 128, 105), None, 0.0),
        # Each of two makes a half.
        (w.units(1), (103, 103), None, 0.0),
        # A loss hangs on none of its gains.
        (w.units(1), (130, 60, 105), None, 0.0),
        (w.units(1), (103,), 0, 0.0),
    ],
)
def test_a_return_hangs_on_the_trade_that_makes_more_than_half_of_it(size, leaves, best, without):
    """All others are folded again without it."""
    bars = hourly(*[100] * 12)
    trades = [longs(*((k, k, 100, leave) for k, leave in enumerate(leaves, start=1)))]
    found = find_best_trade(account(bars, size=size), trades)
    if best is None:
        assert found is None
    else:
        assert (found.window, found.trade) == (0, best)
        assert found.total_return == pytest.approx(without, abs=1e-12)


@pytest.mark.parametrize(
    ("highs", "lows", "bar", "expected"),
    [
        # 11 above the nearer neighbour, where no other lies more than 2 above its own.
        ([101, 103, 101, 112, 101, 101], [99] * 6, 3, (True, 112.0, 101.0)),
        ([101, 103, 101, 111, 101, 101], [99] * 6, 3, None),
        ([101, 103, 101, 112, 101, 101], [99] * 6, 1, None),
        ([101] * 6, [99, 99, 97, 99, 99, 87], 5, (False, 87.0, 99.0)),
        ([101] * 6, [99, 99, 97, 99, 99, 90], 5, None),
    ],
)
def test_a_price_stands_alone_where_it_is_five_times_farther_out(highs, lows, bar, expected):
    """Than any other high or low of its week; at an end there is one neighbour."""
    bars = hourly(*[100] * 6, high=highs, low=lows)
    wick = find_wick(bars, 0, len(bars), bar)
    assert (None if wick is None else (wick.is_high, wick.price, wick.beside)) == expected
