"""Trades by the letter of the law: signals of both sides, stops that move, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. `side` is 1 for a long and -1 for a
short; to multiply by it is exact, so that one formula serves both.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.ledger import REASONS, Ledger
from engine.orders import (
    DAY_NS,
    FROM_ENTRY,
    LEVEL,
    NONE,
    R_MULTIPLE,
    SHARE,
    Clock,
    Limits,
    Plan,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STOP_GAP, STOP, TARGET, TIME, END, SIGNAL, SESSION = range(len(REASONS))
STILL_OPEN = -1
"""In place of a reason: no rule of this bar applies."""


class Prices(NamedTuple):
    """Prices of one series, each [T]."""

    open: Floats
    high: Floats
    low: Floats
    close: Floats


class Bracket(NamedTuple):
    """The levels of one trade; R is its first risk to the end, wherever the stop moves."""

    entry_bar: int
    entry: float
    stop: float
    risk: float
    target: float
    reach: float


class Exit(NamedTuple):
    """How a trade ended, with the stop in force there."""

    bar: int
    reason: int
    price: float
    last_stop: float


Taken = tuple[Ints, Floats, int, int]
"""[5, S] signal bar, entry bar, exit bar, reason and side; [6, S] entry, stop, target, exit, r and
last stop; how many trades these hold, K; and how many signals were rejected."""


def ledger_of(taken: Taken) -> Ledger:
    """The ledger of what `take_signals` found."""
    whole, numbers, trades, rejected = taken
    signal_bar, entry_bar, exit_bar, reason, side = whole[:, :trades].copy()
    entry, stop, target, leave, r, last_stop = numbers[:, :trades].copy()
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, rejected,
    )  # fmt: skip


def take_signals(
    prices: Prices, clock: Clock, longs: Plan, shorts: Plan, limits: Limits, first: int, end: int
) -> Taken:
    """Take signals of both sides, one position at a time.

    Args:
        prices: Of the series.
        clock: Of the series.
        longs: What longs do.
        shorts: What shorts do.
        limits: The same for both.
        first: First bar that may signal: the window's start, or the end of the warm-up.
        end: One past the last bar of the window.
    """
    # No signal without a bar in the window to be entered on.
    last = max(end - 1 - limits.delay, first)
    most = int(longs.signals[first:last].sum()) + int(shorts.signals[first:last].sum())
    whole, numbers = np.empty((5, most), np.int64), np.empty((6, most))
    trades = rejected = 0
    t = longs_from = shorts_from = first
    while t < last:
        side = side_asked(longs, shorts, t)
        # One position at a time, over both sides.
        if side == 0 or t < (longs_from if side > 0 else shorts_from):
            t += 1
            continue
        plan = longs if side > 0 else shorts
        bracket = open_bracket(prices, plan, limits, t)
        # The account stays flat, and the next bar may signal again.
        if not is_worth(plan, limits, bracket):
            rejected += 1
            t += 1
            continue
        found = find_exit(prices, clock, plan, limits, bracket, end)
        whole[0, trades], whole[1, trades], whole[2, trades] = t, bracket.entry_bar, found.bar
        whole[3, trades], whole[4, trades] = found.reason, side
        numbers[0, trades], numbers[1, trades] = bracket.entry, bracket.stop
        numbers[2, trades], numbers[3, trades] = bracket.target, found.price
        numbers[4, trades] = result_of(plan, limits, bracket, found.price)
        numbers[5, trades] = found.last_stop
        trades += 1
        # A signal on the exit bar is known at its close and counts.
        t = longs_from = shorts_from = found.bar
        # Flat at that bar's open already, as was known a bar before: the other side may reverse.
        if found.reason == SIGNAL:
            t = found.bar - 1
            if side > 0:
                shorts_from = t
            else:
                longs_from = t
    return whole, numbers, trades, rejected


def side_asked(longs: Plan, shorts: Plan, t: int) -> int:
    """The side that signals at a bar; neither, 0, where both do: the idea contradicts itself."""
    if longs.signals[t] and not shorts.signals[t]:
        return 1
    if shorts.signals[t] and not longs.signals[t]:
        return -1
    return 0


def open_bracket(prices: Prices, plan: Plan, limits: Limits, t: int) -> Bracket:
    """Entry at the open of the bar after the signal, or so many bars later, and its levels."""
    entry_bar = t + 1 + limits.delay
    entry = prices.open[entry_bar]
    stop = first_stop(prices, plan, t, entry)
    risk = plan.side * (entry - stop)
    target = first_target(plan, t, entry, risk)
    reach = plan.trail.row[t] if plan.trail.form == FROM_ENTRY else 0.0
    return Bracket(entry_bar, entry, stop, risk, target, reach)


def first_stop(prices: Prices, plan: Plan, t: int, entry: float) -> float:
    """The stop of a signal at bar t."""
    stop, side = plan.stop, plan.side
    # A share of the entry.
    if stop.form == SHARE:
        return entry - side * (entry * stop.number)
    read: float = stop.row[t]
    # A price.
    if stop.form == LEVEL:
        return read
    # A distance from the entry.
    if stop.form == FROM_ENTRY:
        return entry - side * read
    # A distance beyond the signal bar's low, or for a short its high.
    beyond: float = prices.low[t] if side > 0 else prices.high[t]
    return beyond - side * read


def first_target(plan: Plan, t: int, entry: float, risk: float) -> float:
    """The target of a signal at bar t."""
    target, side = plan.target, plan.side
    # None: nothing is high enough for a long, or low enough for a short.
    if target.form == NONE:
        return side * math.inf
    # A multiple of the risk.
    if target.form == R_MULTIPLE:
        return entry + side * (target.number * risk)
    # A share of the entry.
    if target.form == SHARE:
        return entry + side * (entry * target.number)
    read: float = target.row[t]
    # A price, or a distance from the entry.
    return read if target.form == LEVEL else entry + side * read


def is_worth(plan: Plan, limits: Limits, bracket: Bracket) -> bool:
    """Whether a trade is taken; NaN fails each of these."""
    # The risk is more than a small fraction of the price.
    if not bracket.risk > bracket.entry * limits.min_risk:
        return False
    # A target that was read from a row lies on the right side of the entry.
    is_read = plan.target.form == FROM_ENTRY or plan.target.form == LEVEL
    if is_read and not plan.side * bracket.target > plan.side * bracket.entry:
        return False
    # A trailing stop follows at a distance.
    return plan.trail.form != FROM_ENTRY or bracket.reach > 0.0


def find_exit(
    prices: Prices, clock: Clock, plan: Plan, limits: Limits, bracket: Bracket, end: int
) -> Exit:
    """Go from the entry bar on to the first exit; the stop moves at closes."""
    stop, best = bracket.stop, -plan.side * math.inf
    for j in range(bracket.entry_bar, end):
        reason, price = exit_at_open(prices, clock, plan, bracket, stop, j)
        if reason == STILL_OPEN:
            reason, price = exit_within(prices, plan, bracket, stop, j)
        if reason == STILL_OPEN:
            reason, price = exit_at_close(prices, clock, limits, bracket, j, end)
        if reason != STILL_OPEN:
            return Exit(j, reason, price, stop)
        # The best price so far; a stop that it moves is in force from the next bar on.
        best = max(best, prices.high[j]) if plan.side > 0 else min(best, prices.low[j])
        stop = moved_stop(plan, limits, bracket, stop, best)
    # Not reached: a window's last bar ends every trade.
    return Exit(end - 1, END, prices.close[end - 1], stop)


def exit_at_open(
    prices: Prices, clock: Clock, plan: Plan, bracket: Bracket, stop: float, j: int
) -> tuple[int, float]:
    """What ends a trade at the open of bar j."""
    # The side's condition was true at the last close; closes count from the entry bar's on.
    if j > bracket.entry_bar and len(plan.exits) > 0 and plan.exits[j - 1]:
        return SIGNAL, prices.open[j]
    # Another session than the entry's: the minute to leave at had no bar.
    if len(clock.local_ns) > 0:
        entered = clock.local_ns[bracket.entry_bar] // DAY_NS
        if clock.local_ns[j] // DAY_NS != entered:
            return SESSION, prices.open[j]
    # An open at or beyond the stop fills at that open.
    if plan.side * prices.open[j] <= plan.side * stop:
        return STOP_GAP, prices.open[j]
    return STILL_OPEN, 0.0


def exit_within(
    prices: Prices, plan: Plan, bracket: Bracket, stop: float, j: int
) -> tuple[int, float]:
    """What ends a trade between open and close of bar j."""
    worst, best = prices.low[j], prices.high[j]
    if plan.side < 0:
        worst, best = best, worst
    # The stop comes before the target: within a bar the worse of the two is assumed.
    if plan.side * worst <= plan.side * stop:
        return STOP, stop
    # An open beyond the target still fills at the target, the cautious choice.
    if plan.side * best >= plan.side * bracket.target:
        return TARGET, bracket.target
    return STILL_OPEN, 0.0


def exit_at_close(
    prices: Prices, clock: Clock, limits: Limits, bracket: Bracket, j: int, end: int
) -> tuple[int, float]:
    """What ends a trade at the close of bar j."""
    # Held for as long as allowed.
    if limits.max_hold > 0 and j == bracket.entry_bar + limits.max_hold - 1:
        return TIME, prices.close[j]
    # The session's minute has come: by the clock, nobody knows whether there is another bar today.
    if len(clock.local_ns) > 0 and clock.local_ns[j] % DAY_NS + clock.bar_ns >= clock.minute_ns:
        return SESSION, prices.close[j]
    # The window ends.
    if j == end - 1:
        return END, prices.close[j]
    return STILL_OPEN, 0.0


def moved_stop(plan: Plan, limits: Limits, bracket: Bracket, stop: float, best: float) -> float:
    """The stop from the next bar on; it is never loosened."""
    side, gone = plan.side, plan.side * (best - bracket.entry)
    # It follows the best price, at a distance or at a share of that price.
    if plan.trail.form != NONE and gone >= plan.after * bracket.risk:
        behind = bracket.reach
        if plan.trail.form == SHARE:
            behind = best * plan.trail.number
        stop = tighter(side, stop, best - side * behind)
    # Once so much is gained it stands at the entry.
    if gone >= limits.break_even * bracket.risk:
        stop = tighter(side, stop, bracket.entry)
    return stop


def tighter(side: float, stop: float, candidate: float) -> float:
    """The one of two stops that risks less."""
    return candidate if side * candidate > side * stop else stop


def result_of(plan: Plan, limits: Limits, bracket: Bracket, leave: float) -> float:
    """R of a trade, net: both sides pay on traded notional."""
    gross = plan.side * (leave - bracket.entry)
    net = gross - limits.per_side * (bracket.entry + leave)
    return net / bracket.risk
