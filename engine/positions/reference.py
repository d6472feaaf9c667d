"""Trades by the letter of the law: signals of both sides, stops that move, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. `side` is 1 for a long and -1 for a
short; to multiply by it is exact, so that one formula serves both.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import REASONS, Ledger
from engine.positions.exit_spec import (
    DAY_NS,
    FROM_ENTRY,
    LEVEL,
    NONE,
    R_MULTIPLE,
    SHARE,
    Limits,
    SessionClock,
    SidePlan,
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


class Terms(NamedTuple):
    """What a position asks of every bar: numbers alone, which compiled loops keep at hand."""

    side: float  # 1.0 for a long, -1.0 for a short
    entry: float  # price
    target: float  # price
    trail: int  # form of the trailing stop, of `engine.positions.exit_spec`
    behind: float  # distance at which it follows; for `SHARE` a fraction of the best price
    follow_gain: float  # gain from which on it follows, price
    even_gain: float  # gain at which the stop moves to the entry, price; NaN: never


class Exit(NamedTuple):
    """How a trade ended, with the stop in force there."""

    bar: int
    reason: int
    price: float
    last_stop: float
    is_at_open: bool


Taken = tuple[Ints, Floats, int, int]
"""[6, S] signal bar, entry bar, exit bar, reason, side and bars held; [6, S] entry, stop, target,
exit, r and last stop; how many trades these hold, K; and how many signals were rejected."""


def build_ledger(taken: Taken) -> Ledger:
    """The ledger of what `take_signals` found."""
    whole, numbers, trades, rejected = taken
    signal_bar, entry_bar, exit_bar, reason, side, held = whole[:, :trades].copy()
    entry, stop, target, leave, r, last_stop = numbers[:, :trades].copy()
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held, rejected,
    )  # fmt: skip


def find_signal_range(start: int, end: int, warm_up: int, limits: Limits) -> slice:
    """Bars of a window, from its start to one before its end, that may signal."""
    # None before everything is known, and none without a bar in the window to be entered on.
    first = max(start, warm_up)
    return slice(first, max(first, end - 1 - limits.delay))


def list_signals(longs: SidePlan, shorts: SidePlan, bars: slice) -> Ints:
    """Bars [S] of those that may signal at which one side asks for an entry, ascending."""
    # Where both sides signal neither does: the idea contradicts itself.
    signals: Ints = bars.start + np.flatnonzero(longs.signals[bars] != shorts.signals[bars])
    return signals


def take_signals(
    prices: Prices,
    clock: SessionClock,
    longs: SidePlan,
    shorts: SidePlan,
    limits: Limits,
    signals: Ints,
    end: int,
    free: tuple[int, int] = (0, 0),
) -> Taken:
    """Take signals of both sides, one position at a time.

    Args:
        prices: Of the series.
        clock: Of the series.
        longs: What longs do.
        shorts: What shorts do.
        limits: The same for both.
        signals: [S], of `list_signals`.
        end: One past the last bar of the window.
        free: First bars at which signals of longs and of shorts count, of `find_free_bars`.
    """
    whole, numbers = np.empty((6, len(signals)), np.int64), np.empty((6, len(signals)))
    trades = rejected = 0
    longs_from, shorts_from = free
    for bar in signals:
        t = int(bar)
        side = 1 if longs.signals[t] else -1
        # One position at a time, over both sides.
        if t < (longs_from if side > 0 else shorts_from):
            continue
        plan = longs if side > 0 else shorts
        bracket = open_bracket(prices, plan, limits, t)
        # The account stays flat, and the next bar may signal again.
        if not is_worth(plan, limits, bracket):
            rejected += 1
            continue
        outcome = find_exit(prices, clock, plan, limits, bracket, end)
        whole[0, trades], whole[1, trades], whole[2, trades] = t, bracket.entry_bar, outcome.bar
        whole[3, trades], whole[4, trades] = outcome.reason, side
        whole[5, trades] = outcome.bar - bracket.entry_bar
        # The exit bar counts where the position lasts beyond its open.
        if not outcome.is_at_open:
            whole[5, trades] += 1
        numbers[0, trades], numbers[1, trades] = bracket.entry, bracket.stop
        numbers[2, trades], numbers[3, trades] = bracket.target, outcome.price
        numbers[4, trades] = compute_net_r(plan, limits, bracket, outcome.price)
        numbers[5, trades] = outcome.last_stop
        trades += 1
        longs_from, shorts_from = find_free_bars(outcome.bar, outcome.reason, side)
    return whole, numbers, trades, rejected


def find_free_bars(exit_bar: int, reason: int, side: int) -> tuple[int, int]:
    """First bars at which signals of longs and of shorts count again after a trade."""
    # A signal on the exit bar is known at its close and counts.
    longs_from = shorts_from = exit_bar
    # Flat at that bar's open already, as was known a bar before: the other side may reverse.
    if reason == SIGNAL and side > 0:
        shorts_from -= 1
    elif reason == SIGNAL:
        longs_from -= 1
    return longs_from, shorts_from


def open_bracket(prices: Prices, plan: SidePlan, limits: Limits, t: int) -> Bracket:
    """Entry at the open of the bar after the signal, or so many bars later, and its levels."""
    entry_bar = t + 1 + limits.delay
    entry = prices.open[entry_bar]
    stop = first_stop(prices, plan, t, entry)
    risk = plan.side * (entry - stop)
    target = first_target(plan, t, entry, risk)
    reach = plan.trail.row[t] if plan.trail.form == FROM_ENTRY else 0.0
    return Bracket(entry_bar, entry, stop, risk, target, reach)


def first_stop(prices: Prices, plan: SidePlan, t: int, entry: float) -> float:
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


def first_target(plan: SidePlan, t: int, entry: float, risk: float) -> float:
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


def is_worth(plan: SidePlan, limits: Limits, bracket: Bracket) -> bool:
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
    prices: Prices, clock: SessionClock, plan: SidePlan, limits: Limits, bracket: Bracket, end: int
) -> Exit:
    """Go from the entry bar on to the first exit; the stop moves at closes."""
    opens, highs, lows, closes = prices
    exits, local_ns, first = plan.exits, clock.local_ns, bracket.entry_bar
    terms = build_terms(plan, limits, bracket)
    stop, best = bracket.stop, -terms.side * math.inf
    for j in range(first, end):
        # The side's condition was true at the last close; closes count from the entry bar's on.
        is_asked = j > first and len(exits) > 0 and exits[j - 1]
        # Another session than the entry's: the minute to leave at had no bar.
        is_later = len(local_ns) > 0 and local_ns[j] // DAY_NS != local_ns[first] // DAY_NS
        # The session's minute has come: by the clock, another bar may or may not come today.
        is_over = len(local_ns) > 0 and local_ns[j] % DAY_NS + clock.bar_ns >= clock.minute_ns
        # Held for as long as allowed.
        is_held = limits.max_hold > 0 and j == first + limits.max_hold - 1
        reason, price = exit_at_open(terms, stop, opens[j], is_asked, is_later)
        is_at_open = reason != STILL_OPEN
        if reason == STILL_OPEN:
            reason, price = exit_within(terms, stop, highs[j], lows[j])
        if reason == STILL_OPEN:
            reason, price = exit_at_close(closes[j], is_held, is_over, j == end - 1)
        if reason != STILL_OPEN:
            return Exit(j, reason, price, stop, is_at_open)
        # The best price so far; a stop that it moves is in force from the next bar on.
        best = max(best, highs[j]) if terms.side > 0 else min(best, lows[j])
        stop = moved_stop(terms, stop, best)
    # Not reached: a window's last bar ends every trade.
    return Exit(end - 1, END, closes[end - 1], stop, False)


def build_terms(plan: SidePlan, limits: Limits, bracket: Bracket) -> Terms:
    """What a position asks of every bar."""
    is_share = plan.trail.form == SHARE
    return Terms(
        plan.side,
        bracket.entry,
        bracket.target,
        plan.trail.form,
        plan.trail.number if is_share else bracket.reach,
        plan.after * bracket.risk,
        limits.break_even * bracket.risk,
    )


def exit_at_open(
    terms: Terms, stop: float, opened: float, is_asked: bool, is_later: bool
) -> tuple[int, float]:
    """What ends a trade at a bar's open."""
    if is_asked:
        return SIGNAL, opened
    if is_later:
        return SESSION, opened
    # An open at or beyond the stop fills at that open.
    if terms.side * opened <= terms.side * stop:
        return STOP_GAP, opened
    return STILL_OPEN, 0.0


def exit_within(terms: Terms, stop: float, high: float, low: float) -> tuple[int, float]:
    """What ends a trade between a bar's open and its close."""
    worst, best = (low, high) if terms.side > 0 else (high, low)
    # The stop comes before the target: within a bar the worse of the two is assumed.
    if terms.side * worst <= terms.side * stop:
        return STOP, stop
    # An open beyond the target still fills at the target, the cautious choice.
    if terms.side * best >= terms.side * terms.target:
        return TARGET, terms.target
    return STILL_OPEN, 0.0


def exit_at_close(closed: float, is_held: bool, is_over: bool, is_last: bool) -> tuple[int, float]:
    """What ends a trade at a bar's close."""
    if is_held:
        return TIME, closed
    if is_over:
        return SESSION, closed
    # The window ends.
    if is_last:
        return END, closed
    return STILL_OPEN, 0.0


def moved_stop(terms: Terms, stop: float, best: float) -> float:
    """The stop from the next bar on; it is never loosened."""
    side, gone = terms.side, terms.side * (best - terms.entry)
    # It follows the best price, at a distance or at a share of that price.
    if terms.trail != NONE and gone >= terms.follow_gain:
        behind = best * terms.behind if terms.trail == SHARE else terms.behind
        stop = tighter(side, stop, best - side * behind)
    # Once so much is gained it stands at the entry.
    if gone >= terms.even_gain:
        stop = tighter(side, stop, terms.entry)
    return stop


def tighter(side: float, stop: float, candidate: float) -> float:
    """The one of two stops that risks less."""
    return candidate if side * candidate > side * stop else stop


def compute_net_r(plan: SidePlan, limits: Limits, bracket: Bracket, leave: float) -> float:
    """R of a trade, net: both sides pay on traded notional."""
    gross = plan.side * (leave - bracket.entry)
    net = gross - limits.per_side * (bracket.entry + leave)
    return net / bracket.risk
