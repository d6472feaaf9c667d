"""Where positions end: the first bar that reaches a price, whether the stop stays or moves.

Ends by the clock and the window are known at the entry: one bar for an open, one for the latest
close of a position. Other ends are looked for in eight bars at a time; shorts
with moving stops are longs of prices that are multiplied by -1, which rounds nothing.
"""

from typing import NamedTuple

import numpy as np

from data.bars import Bars
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.positions.exit_spec import NONE, SHARE
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER, Words, next_set
from engine.runtime.cpu.simd8 import (
    EIGHT,
    bits_at_least,
    bits_at_most,
    eight_times,
    extract_lane,
    larger,
    largest_so_far,
    last_times,
    load_eight,
    load_value,
    lowest_place,
    one_later,
    where_at_least,
)
from engine.runtime.cpu.types import NO_FINER, NO_FINER_OF, Floats, Ints

BLOCK = 2 * EIGHT
"""Bars of a block, and how many bars or blocks are looked at together."""

LOW, HIGH, OPEN, CLOSE = range(4)


class Extremes(NamedTuple):
    """Prices of one series, and the extremes of its blocks.

    Behind the last bar and the last block stand `BLOCK` times NaN, which reaches no price.
    """

    bars: Floats  # [4, T + 16] lows, highs, opens and closes
    blocks: Floats  # [2, (T + 15) // 16 + 16] lowest low and highest high of each block of 16 bars


def build_extremes(open_: Floats, high: Floats, low: Floats, close: Floats) -> Extremes:
    """Prices [T] of a series with their extremes."""
    firsts = np.arange(0, len(low), BLOCK)
    extremes = [np.minimum.reduceat(low, firsts), np.maximum.reduceat(high, firsts)]
    return Extremes(_pad_columns([low, high, open_, close]), _pad_columns(extremes))


def build_finer(bars: Bars) -> tuple[Floats, Ints]:
    """Finer bars [4, K + 16], and the first and one past the last of those of each bar [2, T]."""
    if bars.finer is None:
        return NO_FINER, NO_FINER_OF
    open_, high, low, close = bars.finer.prices
    return _pad_columns([low, high, open_, close]), bars.finer_spans


class Levels(NamedTuple):
    """Search: a bar that reaches down to a price, up to another, or gains so much."""

    lower: float  # price; may be minus infinity
    upper: float  # price; may be infinity
    side: int  # 0 where a high gains, 1 where a low does
    entry: float  # price from which gains count
    gain: float  # in prices; NaN: none is enough


@compiled_uncounted
def first_touch(prices: Extremes, levels: Levels, first: int, last: int) -> int:
    """The first bar from `first` to `last` that reaches a level; `last` + 1 where none does.

    What lies behind `last` makes no difference.
    """
    reached = find_touch_bits(prices.bars, levels, first)
    at = last + 1
    if reached != 0:
        at = first + lowest_place(reached)
    else:
        block = first // BLOCK + 1
        while block * BLOCK <= last:
            reached = find_touch_bits(prices.blocks, levels, block)
            if reached != 0:
                begin = (block + lowest_place(reached)) * BLOCK
                at = begin + lowest_place(find_touch_bits(prices.bars, levels, begin))
                block = NEVER
            block += BLOCK
    return min(at, last + 1)


@compiled_uncounted
def find_touch_bits(prices: Floats, levels: Levels, first: int) -> int:
    """Bits of 16 bars or blocks from `first` on: k is set where the k-th reaches a level."""
    return eight_reached(prices, levels, first) | (
        eight_reached(prices, levels, first + EIGHT) << EIGHT
    )


@compiled_uncounted
def eight_reached(prices: Floats, levels: Levels, first: int) -> int:
    """The same of 8 bars or blocks."""
    reached: int = bits_at_most(load_eight(prices, LOW, first), eight_times(levels.lower))
    reached |= bits_at_least(load_eight(prices, HIGH, first), eight_times(levels.upper))
    if levels.gain == levels.gain:
        sign = 1.0 - 2.0 * levels.side
        best = load_eight(prices, HIGH - levels.side, first) * eight_times(sign)
        gone = best - eight_times(sign * levels.entry)
        reached |= bits_at_least(gone, eight_times(levels.gain))
    return reached


def _pad_columns(columns: list[Floats]) -> Floats:
    """Columns as one array with NaN behind."""
    return np.pad(np.array(columns), ((0, 0), (0, BLOCK)), constant_values=np.nan)


(
    STOP_GAP, STOP, TARGET, TIME, END, SIGNAL, SESSION, REVERSE, TRAIL, BREAK_EVEN, MARGIN,
) = range(len(REASONS))  # fmt: skip

COARSE = ACCUMULATOR_INDEX["coarse"]

GOES_ON, OPENED, TOUCHED, CLOSED = range(4)
"""How a position ends in a bar."""

AHEAD = 1024
"""Bars for which conditions and levels are looked at in turn, so that neither runs far ahead."""

HALF = 0.5
"""Shares up to this keep the order of prices, so that a stop that follows them never falls."""


class Position(NamedTuple):
    """One open position, numbers alone, so that to hand it on costs nothing."""

    side: int  # 0 for a long, 1 for a short
    entry_bar: int  # of its entry
    entry: float  # price
    stop: float  # first stop
    target: float  # may be infinite
    asked: int  # condition that asks it to leave; -1: none
    clock_bar: int  # the clock ends it at the open of this bar, in another session; or `NEVER`
    close_bar: int  # it ends at the close of this bar at the latest
    close_reason: int  # why


class Follow(NamedTuple):
    """How a stop moves."""

    form: int  # of `engine.positions.exit_spec`
    reach: float  # distance or share at which it follows
    follow_gain: float  # gain from which on it does, price; NaN: never
    even_gain: float  # gain at which it moves to the entry; NaN: never


@compiled_uncounted
def find_exit(
    prices: Extremes, words: Words, at: Position, follow: Follow
) -> tuple[int, int, float, float]:
    """Bar, reason and price of an exit, and the last stop; each bar is read as a whole."""
    stop, best, begin, bar, how, reason = at.stop, at.entry, at.entry_bar, 0, GOES_ON, SESSION
    # From this gain on the stop moves; NaN is never reached.
    gain = np.fmin(follow.follow_gain, follow.even_gain)
    walks = follow.form != NONE and gain <= 0.0
    while how == GOES_ON:
        last = min(begin + AHEAD, at.close_bar)
        open_bar, reason = find_open_exit(words, at, begin, last)
        last = min(last, open_bar)
        if walks:
            bar, stop, best = first_touch_of_moving(prices, at, follow, begin, last, stop, best)
        else:
            bar = first_touch(prices, build_levels(at, stop, gain), begin, last)
        # The last bar is looked at again when it is known whether its open ends the position.
        begin = last
        if bar >= open_bar and last == open_bar:
            bar, how = open_bar, OPENED
        elif bar <= last and (walks or is_hit(prices, at, bar, stop)):
            how = TOUCHED
        elif bar <= last and bar < at.close_bar:
            # It gained so much that the stop moves at this close: to the entry, or after prices.
            walks, gain = follow.form != NONE, np.nan
            stop, begin = (stop, bar) if walks else (at.entry, bar + 1)
        elif last == at.close_bar:
            bar, how, reason = at.close_bar, CLOSED, at.close_reason
    price = load_value(prices.bars, CLOSE if how == CLOSED else OPEN, bar)
    if how == TOUCHED:
        is_gap = price <= stop if at.side == 0 else price >= stop
        is_stop = is_stopped(prices.bars, at.side, stop, bar)
        reason = STOP_GAP if is_gap else (STOP if is_stop else TARGET)
        price = price if is_gap else (stop if is_stop else at.target)
    return bar, reason, price, stop


@compiled_uncounted
def count_coarse(finer_of: Ints, bar: int, counted: int, out: Floats) -> int:
    """The last bar that was counted, once one is touched: it is where no finer ones make it up.

    Args:
        finer_of: [2, T] first of the finer bars of each bar, and one past its last.
        bar: The one that is touched.
        counted: The last one before; -1: none.
        out: [A] accumulators.
    """
    if bar > counted and finer_of[0, bar] == finer_of[1, bar]:
        out[COARSE] += 1.0
        counted = bar
    return counted


@compiled_uncounted
def read_finer_exit(
    finer: Floats,
    finer_of: Ints,
    at: Position,
    stop: float,
    bar: int,
    reason: int,
    price: float,
    opens: bool,
) -> tuple[int, float, bool]:
    """Reason and price of an exit, and if at the bar's open, where finer bars say which they are.

    Args:
        finer: [4, K + 16] finer bars, as `Extremes.bars`.
        finer_of: [2, T] first of those of each bar, and one past its last.
        at: The position.
        stop: In force.
        bar: In which it ends.
        reason: By the whole bar.
        price: Likewise.
        opens: Likewise.
    """
    first, end = finer_of[0, bar], finer_of[1, bar]
    if first < end and reason in (STOP_GAP, STOP, TARGET):
        reason, price, opens = read_finer_bars(finer, first, end, at, stop)
    return reason, price, opens


@compiled_uncounted
def read_finer_bars(
    finer: Floats, first: int, end: int, at: Position, stop: float
) -> tuple[int, float, bool]:
    """Reason and price of an exit in the bar that some finer bars make up, and if at its open.

    Args:
        finer: [4, K + 16] finer bars, as `Extremes.bars`.
        first: The first of them.
        end: One past the last.
        at: The position, whose stop or target the whole bar reaches.
        stop: In force.
    """
    levels, k = build_levels(at, stop, np.nan), first
    # As many in each bar mostly; what lies behind few would take further lines of a cache.
    if end - first <= EIGHT:
        touched = eight_reached(finer, levels, k)
    else:
        touched = find_touch_bits(finer, levels, k)
    while touched == 0 and k + BLOCK < end:
        k += BLOCK
        touched = find_touch_bits(finer, levels, k)
    k = min(k + lowest_place(touched | 1 << BLOCK), end - 1)
    opened, worst = load_value(finer, OPEN, k), load_value(finer, LOW + at.side, k)
    if opened <= stop if at.side == 0 else opened >= stop:
        return STOP_GAP, opened, k == first
    if worst <= stop if at.side == 0 else worst >= stop:
        return STOP, stop, False
    return TARGET, at.target, False


@compiled_uncounted
def is_at_open(at: Position, bar: int, reason: int) -> bool:
    """True if an exit is at the open of its bar; the clock's may be at a close."""
    return reason in (SIGNAL, STOP_GAP) or (reason == SESSION and bar == at.clock_bar)


@compiled_uncounted
def bars_held(entry_bar: int, exit_bar: int, is_at_open: bool) -> int:
    """Bars in the market, without a bar that is left at its open."""
    return exit_bar - entry_bar + 1 - int(is_at_open)


@compiled_uncounted
def find_open_exit(words: Words, at: Position, begin: int, last: int) -> tuple[int, int]:
    """At which bar's open a position ends, as far as it is known at the bar before `last`; why."""
    bar, reason = at.clock_bar, SESSION
    if at.asked >= 0:
        signal_bar = next_set(words, at.asked, max(begin - 1, at.entry_bar), last)
        if signal_bar < last and signal_bar < bar:
            bar, reason = signal_bar + 1, SIGNAL
    return bar, reason


@compiled_uncounted
def build_levels(at: Position, stop: float, gain: float) -> Levels:
    """Events that end or change a position with a resting stop."""
    lower, upper = (stop, at.target) if at.side == 0 else (at.target, stop)
    return Levels(lower, upper, at.side, at.entry, gain)


@compiled_uncounted
def is_stopped(bars: Floats, side: int, stop: float, k: int) -> bool:
    """True if a bar, the k-th of the series or of finer ones, reaches the stop of a side."""
    against: float = load_value(bars, LOW + side, k)
    return against <= stop if side == 0 else against >= stop


@compiled_uncounted
def is_hit(prices: Extremes, at: Position, bar: int, stop: float) -> bool:
    """True if a bar reaches the stop or the target."""
    best: float = load_value(prices.bars, HIGH - at.side, bar)
    is_target = best >= at.target if at.side == 0 else best <= at.target
    return is_target or is_stopped(prices.bars, at.side, stop, bar)


@compiled_uncounted
def first_touch_of_moving(
    prices: Extremes,
    at: Position,
    follow: Follow,
    first: int,
    last: int,
    stop: float,
    best: float,
) -> tuple[int, float, float]:
    """The first bar from `first` to `last` that reaches a stop that moves at closes, or the target.

    Args:
        prices: The series.
        at: The position.
        follow: How its stop moves.
        first: First bar.
        last: Last bar; its own close moves nothing.
        stop: In force at the first bar.
        best: Best price of the bars before.

    Returns:
        The bar, `last` + 1 where there is none; the stop in force at it, or at the last; the best
        price before it.
    """
    side, is_share = at.side, follow.form == SHARE
    sign = 1.0 - 2.0 * side
    signs, entry, target = (eight_times(sign), eight_times(sign * at.entry),
                            eight_times(sign * at.target))  # fmt: skip
    # A share of a price that was multiplied.
    reach = eight_times(sign * follow.reach if is_share else follow.reach)
    follow_gain, even_gain = eight_times(follow.follow_gain), eight_times(follow.even_gain)
    may_fall = is_share and follow.reach > HALF
    j, k, touch = first, EIGHT, last + 1
    before = after = eight_times(sign * stop)
    since_before = since = eight_times(sign * best)
    while k == EIGHT:
        resting, known = last_times(after), last_times(since)
        high = load_eight(prices.bars, HIGH - side, j) * signs
        low = load_eight(prices.bars, LOW + side, j) * signs
        since = larger(largest_so_far(high), known)
        gone, away = since - entry, since * reach if is_share else reach
        after = where_at_least(gone, follow_gain, larger(since - away, resting), resting)
        after = where_at_least(gone, even_gain, larger(entry, after), after)
        if may_fall:
            after = largest_so_far(after)
        before = one_later(resting, after)
        touched = bits_at_most(low, before) | bits_at_least(high, target)
        k = min(lowest_place(touched | 1 << EIGHT), last - j)
        if k < EIGHT:
            if touched >> k & 1:
                touch = j + k
            since_before = one_later(known, since)
        j += EIGHT
    return touch, sign * extract_lane(before, k), sign * extract_lane(since_before, k)
