"""Orders that stand, on the device: which signals place them, and how a bar meets them."""

from typing import NamedTuple

import triton
import triton.language as tl

from engine.conditions.cuda.kernels import lowest_bits
from engine.positions import exit_spec
from engine.positions.cuda.order_fills import (
    AT_OPEN,
    FLAT,
    LIMIT_ORDER,
    ORDER_PART,
    on_tick,
    read_part,
)

MARKET = tl.constexpr(exit_spec.MARKET)
STOP_ORDER = tl.constexpr(exit_spec.STOP_ORDER)

UNTOUCHED = tl.constexpr(0)
WITHIN = tl.constexpr(2)
"""How a bar meets an order, beside `AT_OPEN`."""

NO_ORDER = tl.constexpr(-1)
"""In place of the signal bar of an order that stands."""


class Orders(NamedTuple):
    """Orders of one side, of each lane."""

    since: tl.tensor  # bar from whose close on the side places them
    standing: tl.tensor  # signal bar of the one that stands, or `NO_ORDER`
    price: tl.tensor  # its level, on the tick
    needed: tl.tensor  # what must be reached before it is touched
    day: tl.tensor  # session in which it began to stand
    how: tl.tensor  # how the bar meets it


class Terms(NamedTuple):
    """Life of one side's orders, of each lane."""

    expires: tl.tensor  # bars; 0: without end
    beyond: tl.tensor  # price by which prices must pass a limit's level
    delay: tl.tensor  # bars


@triton.jit
def load_window(words, row, n_words, begin, m):
    """64 bars from each lane's begin on, of its row of words, where m; 0 where there are none."""
    first = begin >> 6
    shift = (begin & 63).to(tl.int64)
    is_there = m & (row >= 0)
    word = words + tl.maximum(row, 0).to(tl.int64) * n_words + first
    low = tl.load(word, mask=is_there & (first >= 0) & (first < n_words), other=0)
    high = tl.load(word + 1, mask=is_there & (first >= -1) & (first + 1 < n_words), other=0)
    # The sign must not come down with the highest bits.
    low = (low >> shift) & lowest_bits(64 - shift)
    return low | tl.where(shift == 0, 0, high << ((64 - shift) & 63))


@triton.jit
def load_signals(longs, shorts, entries, n_words, begin, first, last, m,
                 BOTH_REST: tl.constexpr):  # fmt: skip
    """Signals of both sides, 64 bars from begin on, of those that count: from first to last."""
    counted = lowest_bits(tl.maximum(last - begin, 0).to(tl.int64))
    counted = counted & ~lowest_bits(tl.maximum(first - begin, 0).to(tl.int64))
    long = load_window(longs, tl.load(entries, mask=m, other=-1), n_words, begin, m) & counted
    short = load_window(shorts, tl.load(entries + 1, mask=m, other=-1), n_words, begin, m) & counted
    if BOTH_REST:
        return long, short
    else:
        # Where both sides signal neither does, unless both wait for prices to come.
        return long & ~short, short & ~long


@triton.jit
def is_set(word, k):
    """Whether a bit of words is set."""
    return ((word >> k) & 1) == 1


@triton.jit
def stand_order(inputs, orders, terms, is_signal, j, today, last_cancel, m, SIDE: tl.constexpr,
                ORDER: tl.constexpr, HAS_TICK: tl.constexpr, CANCELS: tl.constexpr,
                DAYS: tl.constexpr):  # fmt: skip
    """Standing order of a side in a bar; how the bar meets it is what it was."""
    t = j - 1 - terms.delay
    # A new signal replaces its own side's order.
    is_new = m & is_signal & (t >= orders.since)
    standing = tl.where(is_new, t, orders.standing)
    price, needed, day = orders.price, orders.needed, orders.day
    if ORDER == MARKET:
        standing = tl.where(is_new, t, NO_ORDER)
    else:
        is_above = (ORDER == STOP_ORDER) == (SIDE == 0)
        if tl.max(is_new.to(tl.int32), 0) > 0:
            side = tl.zeros(t.shape, tl.int32) + SIDE
            level = read_part(inputs, ORDER_PART, side, t, is_new)
            is_up = side == SIDE if is_above else side != SIDE
            level = on_tick(inputs, level, is_up, HAS_TICK)
            price = tl.where(is_new, level, price)
            if ORDER == LIMIT_ORDER:
                # Where there is no price, none lies beyond it.
                further = level - terms.beyond if SIDE == 0 else level + terms.beyond
                further = on_tick(inputs, further, is_up, HAS_TICK)
                level = tl.where((level > 0.0) & (terms.beyond > 0.0), further, level)
            needed = tl.where(is_new, level, needed)
        stands = m & (standing != NO_ORDER)
        ends = standing + 1 + terms.delay + terms.expires
        stands = stands & ((terms.expires == 0) | (j < ends))
        if CANCELS:
            stands = stands & (last_cancel <= standing)
        if DAYS:
            # A day order ends with the session in which it began to stand.
            day = tl.where(is_new, today, day)
            stands = stands & (day == today)
        standing = tl.where(stands, standing, NO_ORDER)
    return Orders(orders.since, standing, price, needed, day, orders.how)


@triton.jit
def touch_order(orders, bar, SIDE: tl.constexpr, ORDER: tl.constexpr):
    """How a bar, or a finer one, meets the order of a side that stands."""
    stands = orders.standing != NO_ORDER
    if ORDER == MARKET:
        how = tl.where(stands, AT_OPEN, UNTOUCHED)
    else:
        # Not finite, or no price: it is never touched.
        is_price = stands & (orders.needed > 0.0) & (orders.needed < float("inf"))
        if (ORDER == STOP_ORDER) == (SIDE == 0):
            at_open, within = bar.open >= orders.needed, bar.high >= orders.needed
        else:
            at_open, within = bar.open <= orders.needed, bar.low <= orders.needed
        met = tl.where(at_open, AT_OPEN, tl.where(within, WITHIN, UNTOUCHED))
        how = tl.where(is_price, met, UNTOUCHED)
    return Orders(orders.since, orders.standing, orders.price, orders.needed, orders.day, how)


@triton.jit
def find_first_touched(longs, shorts, bar, LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr):
    """The side whose order a bar fills first; -1 where it touches none."""
    has_long, has_short = longs.how != UNTOUCHED, shorts.how != UNTOUCHED
    is_short = has_short & ((has_long == 0) | (shorts.how < longs.how))
    # Of two that are met at the open, or as near, the older one.
    is_older = shorts.standing < longs.standing
    long_up, short_up = LONG_ORDER == STOP_ORDER, SHORT_ORDER == LIMIT_ORDER
    if long_up == short_up:
        long_away = tl.abs(longs.needed - bar.open)
        short_away = tl.abs(shorts.needed - bar.open)
        is_first = tl.where(long_away == short_away, is_older, short_away < long_away)
    else:
        # The path of a bar: to its nearer extreme first.
        rises = tl.zeros(longs.needed.shape, tl.float64) + (bar.high - bar.open)
        goes_up = rises < bar.open - bar.low
        is_first = goes_up if short_up else goes_up == 0
    is_first = tl.where(longs.how == WITHIN, is_first, is_older)
    is_short = is_short | (has_long & has_short & (longs.how == shorts.how) & is_first)
    return tl.where(is_short, 1, tl.where(has_long, 0, FLAT))


@triton.jit
def use_up(orders, is_used):
    """An order that was looked at stands no longer."""
    standing = tl.where(is_used, NO_ORDER, orders.standing)
    how = tl.where(is_used, UNTOUCHED, orders.how)
    return Orders(orders.since, standing, orders.price, orders.needed, orders.day, how)


@triton.jit
def place_since(orders, m, bar):
    """From which bar's close on a side places orders, where m."""
    since = tl.where(m, bar, orders.since)
    return Orders(since, orders.standing, orders.price, orders.needed, orders.day, orders.how)
