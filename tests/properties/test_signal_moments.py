"""What a signal names at any moment is the backtest that ends there, and its next bar."""

import math

import numpy as np
import pytest

from data.bars import Window
from data.checks import format_time
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.accounts.reference import find_size, grow_cash, size_trades, stake_trades, take_turns
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from tests.support.averages import BOUNDED, FOLLOWING, REVERSING, WAITING
from tests.support.random_strategies import drawn_accounts, drawn_exits
from tests.support.series import make_coarse
from tests.support.signals import read_state
from tests.support.worlds import make_bars

MOMENTS = 24
LISTED = ((REVERSING, 0), (FOLLOWING, 2), (WAITING, 0), (BOUNDED, 2))
DRAWN = [(drawn_exits(2 * seed + 1), seed) for seed in (2, 3, 16, 24, 36, 63)]
DRAWN += [(drawn_accounts(seed), seed) for seed in (3, 5)]
"""Strategies that trade often, with ladders, trails, break-even by leg, orders that rest or
reverse, accounts that are lost, sessions and finer bars among them; and listed ones with a delay of
their entries, bars of a seed."""

END, SIGNAL, TIME = (REASONS.index(name) for name in ("end", "signal", "time"))
SIGNS = {"long": 1, "short": -1}
KINDS = ("open", "out", "exits", "leaves", "due", "reverses", "orders", "entered", "sized", "lost")


def draw_market(seed):
    """Bars of a seed, every fourth time with finer ones, and costs."""
    bars = make_bars(seed, 600, jump=0.04)
    if seed % 4 == 3:
        bars = make_coarse(make_bars(seed, 2400, jump=0.02), 4 * bars.timeframe_ns)
    return bars, Costs(entry_delay=seed % 3 // 2)


def check_moments(spec, bars, costs):
    """Compare random moments of a strategy; what was seen of each kind."""
    rng = np.random.Generator(np.random.PCG64(len(bars)))
    ends = rng.integers(len(bars) // 4, len(bars) - 1, MOMENTS).tolist()
    windows = [Window(0, 0, end + more) for end in ends for more in (0, 1)]
    ledgers = Engine(spec, [bars], windows, costs, device="cpu").trades(spec.layout.defaults)
    seen = dict.fromkeys(KINDS, 0)
    for place, end in enumerate(ends):
        known, after = ledgers[2 * place : 2 * place + 2]
        state = read_state(spec, bars.until(end), costs)
        check_open(state.trade, bars, known, after, end, seen)
        check_entered(spec, costs, state, bars, known, after, end, seen)
    return seen


def check_open(told, bars, known, after, end, seen):
    """Parts of the open trade are those of the ledger; its next bar meets what was named."""
    last = known.trade(len(known) - 1) if len(known) else None
    assert (told is not None) == (last is not None and last.reason == END)
    if told is None:
        return
    seen["open"] += 1
    k, later = len(known) - 1, after.trade(len(known) - 1)
    assert (told.since, told.entry, told.r) == (
        format_time(bars.timestamp[last.entry_bar]),
        last.entry,
        last.r,
    )
    columns = known.leg_bar[k].tolist(), known.leg_price[k].tolist()
    reached = [
        (number, price, format_time(bars.timestamp[bar]))
        for number, (bar, price) in enumerate(zip(*columns, strict=True), 1)
        if bar >= 0
    ]
    assert [(leg.number, leg.price, leg.bar) for leg in told.out] == reached
    seen["out"] += len(reached)
    shares = [leg.share for leg in (*told.out, *told.targets)]
    assert told.rest + sum(shares) == pytest.approx(1.0)
    assert told.left == pytest.approx(1.0 - sum(leg.share for leg in told.out))
    assert told.leaves == (later.exit_bar == end and later.reason == SIGNAL)
    seen["leaves"] += told.leaves
    # A target of the next bar is one that was left, at its price.
    left = {leg.number: leg.price for leg in told.targets}
    for number, bar in enumerate(after.leg_bar[k].tolist(), 1):
        if bar == end:
            assert left[number] == after.leg_price[k, number - 1]
    if after.leg_bar.shape[1] == 0 and REASONS[later.reason] == "target":
        assert list(left.values()) == [later.exit]
    if later.exit_bar == end and later.reason != END:
        seen["exits"] += 1
        assert later.last_stop == told.stop
        seen["lost"] += REASONS[later.reason] == "margin"
        assert (later.reason == TIME) <= (told.bars_left == 1)
        if REASONS[later.reason] in ("trail", "break_even", "margin"):
            assert REASONS[later.reason] == told.stop_kind
        # The close of the bar is the end of the session, or lies beyond it.
        if REASONS[later.reason] == "session" and later.held > end - later.entry_bar:
            closes = format_time(np.int64(bars.timestamp[end] + bars.timeframe_ns))
            assert told.session_ends <= closes
    elif told.bars_left is not None:
        assert told.bars_left > 1 or later.reason == END


def check_entered(spec, costs, state, bars, known, after, end, seen):
    """A trade that begins in the next bar was named, at its price and with its levels."""
    fills = {} if state.entry is None or state.entry.bars_to_wait else {0: state.entry}
    fills |= {
        number: order for number, order in enumerate(state.orders, 1) if not order.bars_to_wait
    }
    orders = [order for order in fills.values() if hasattr(order, "price")]
    seen["orders"] += len(orders)
    new = [k for k in range(len(after)) if after.entry_bar[k] == end and k >= len(known)]
    for k in new:
        trade = after.trade(k)
        side = "long" if trade.side > 0 else "short"
        opened = format_time(bars.timestamp[trade.signal_bar])
        (fill,) = (f for f in fills.values() if (f.side, f.signal_bar) == (side, opened))
        seen["entered"] += 1
        check_levels(spec, fill, trade, after, k)
        check_size(spec, costs, fill, known, after, k, seen)
    is_touched = any(
        bars.low[end] <= order.needed <= bars.high[end] and not order.is_day for order in orders
    )
    is_due = 0 in fills and not spec.reverse
    seen["due"] += is_due
    seen["reverses"] += is_due and state.trade is not None
    # Or its open risked too little.
    if is_due or (state.trade is None and is_touched):
        assert new or after.rejected > known.rejected


def check_levels(spec, fill, trade, after, k):
    """Stop and targets of an entry are those that were named, exactly where the price was."""
    sign, risk = SIGNS[fill.side], abs(trade.entry - trade.stop)
    step = 0.0 if spec.market is None or spec.market.tick is None else float(spec.market.tick)
    expected = [(fill.stop, trade.stop, -sign)]
    if fill.targets and len(fill.targets) == 1:
        expected.append((fill.targets[0], trade.target, sign))
    for number, bar in enumerate(after.leg_bar[k].tolist()):
        if bar >= 0:
            expected.append((fill.targets[number], after.leg_price[k, number], sign))
    is_at_price = getattr(fill, "entry", None) == trade.entry
    for level, price, away in expected:
        if level.kind == "price":
            assert level.price == price
            continue
        if is_at_price:
            assert level.price == price
        distance = {
            "distance": level.value,
            "share": level.value * trade.entry,
            "times_risk": level.value * risk,
        }[level.kind]
        assert price == pytest.approx(trade.entry + away * distance, abs=1.01 * step, rel=1e-9)
    if is_at_price and not math.isinf(trade.target):
        farthest = max(sign * target.price for target in fill.targets)
        assert sign * farthest == trade.target


def check_size(spec, costs, fill, known, after, k, seen):
    """Units are those with which the account fills the order at its price."""
    if spec.account is None or fill.size is None or fill.size.is_guess:
        return
    closed = known.keep(known.reason != END)
    stake = build_stake(spec, costs, spec.layout.decode(spec.layout.defaults))
    grown = grow_cash(stake_trades(size_trades(closed), stake), take_turns(len(closed)))
    cash = float(grown.worth[-1]) if len(closed) else stake.cash
    assert fill.size.account == cash
    if fill.entry == after.entry[k] and cash > 0:
        units = max(float(find_size(size_trades(after), stake, cash, k)), 0.0)
        assert fill.size.units == units
        seen["sized"] += 1


def test_a_signal_is_the_backtest_that_ends_there():
    """Open parts, stop in force, targets left and orders, and what the next bar does with them.

    The moments see each of it.
    """
    counts = [check_moments(spec, *draw_market(seed)) for spec, seed in DRAWN]
    bars = make_bars(7, 900, jump=0.03)
    counts += [check_moments(spec, bars, Costs(entry_delay=delay)) for spec, delay in LISTED]
    total = {name: sum(count[name] for count in counts) for name in counts[0]}
    assert min(total.values()) >= 2, total
