"""Bars of interest: the next one at which orders or a position may change."""

import numpy as np

from engine.positions.cpu.block_minmax import HIGH, LOW, Extremes, Levels, first_touch
from engine.positions.cpu.ordered import (
    FLAT,
    NOT_REACHED,
    OpenPosition,
    asks_exit,
    find_even_price,
    follow_prices,
)
from engine.positions.cpu.orders import (
    AFTER,
    LAST,
    LEG_BARS,
    LEG_PRICES,
    LEVELS,
    NO_ORDER,
    ORDER_PART,
    STANDING,
    OrderedPopulation,
    OrderRules,
    find_delay,
    is_met_from_below,
    next_signal,
)
from engine.positions.exit_spec import MARKET
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import next_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints


@compiled_uncounted
def find_next_change(
    bars: Floats,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
) -> int:
    """The first bar behind j that changes something without a touch; `end` where there is none.

    An order begins to stand or is placed there, or it ends a position.
    """
    delay, bar = find_delay(asks, rules, p), end
    if at.side == FLAT or rules.reverses:
        t = next_signal(asks, p, at.side, max(j - delay, first), last, marks)
        if t < last:
            bar = min(bar, t + 1 + delay)
        if delay > 0:
            # Orders that rest are counted where they are placed.
            t = next_signal(asks, p, at.side, max(j + 1, first), last, marks)
            bar = min(bar, t) if t < last else bar
    if at.side != FLAT:
        bar = min(bar, at.close_bar, at.clock_bar)
        condition = asks.exits[p, at.side]
        if condition >= 0:
            t = next_set(asks.words, condition, j, bar)
            while t < bar and not asks_exit(bars, asks, p, at, t):
                t = next_set(asks.words, condition, t + 1, bar)
            bar = min(bar, t + 1)
    return bar


@compiled_uncounted
def next_bar(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    stop: float,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
    figures: Floats,
) -> int:
    """The next bar of interest behind bar j, while no stop follows prices."""
    bar = find_next_change(prices.bars, asks, rules, p, at, j, first, last, end, marks)
    lower, upper, gain, until = -np.inf, np.inf, np.nan, bar
    is_watched = at.side != FLAT
    for side in range(2):
        if marks[STANDING + side] != NO_ORDER and marks[LAST + side] > j:
            level = figures[LEVELS + side]
            if asks.forms[ORDER_PART, side] == MARKET:
                until = min(until, marks[LAST + side])
            elif 0.0 < level < np.inf and is_met_from_below(asks, side):
                upper, is_watched = min(upper, level), True
            elif 0.0 < level < np.inf:
                lower, is_watched = max(lower, level), True
    entry = 0.0
    if at.side != FLAT:
        entry, gain = at.entry, asks.break_even[p] * at.risk
        # Once the stop stands at the entry, or beyond it, no gain moves it any more.
        if not np.isnan(gain):
            even = find_even_price(asks, rules, p, at)
            if not (stop < even if at.side == 0 else stop > even):
                gain = np.nan
        if at.side == 0:
            lower = max(lower, stop)
        else:
            upper = min(upper, stop)
        for leg in range(rules.targets[at.side]):
            if marks[LEG_BARS + leg] == NOT_REACHED and at.side == 0:
                upper = min(upper, figures[LEG_PRICES + leg])
            elif marks[LEG_BARS + leg] == NOT_REACHED:
                lower = max(lower, figures[LEG_PRICES + leg])
    until = min(until, end)
    if is_watched and j + 1 < until:
        levels = Levels(lower, upper, max(at.side, 0), entry, gain)
        until = min(until, first_touch(prices, levels, j + 1, until - 1))
    return until


@compiled_uncounted
def follow_bars(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    stop: float,
    mover: int,
    best: float,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
    figures: Floats,
    stack: Floats,
) -> tuple[int, float, int, float]:
    """The next bar of interest while a stop follows prices.

    With it that stop, what put it there, and the best price.
    """
    bar = find_next_change(prices.bars, asks, rules, p, at, j, first, last, end, marks)
    other, row = 1 - at.side, 2 * p + at.side
    level = np.nan
    if marks[STANDING + other] != NO_ORDER and marks[LAST + other] > j:
        level = figures[LEVELS + other]
        if asks.forms[ORDER_PART, other] == MARKET:
            bar, level = min(bar, marks[LAST + other]), np.nan
    is_below = is_met_from_below(asks, other)
    nearest = np.inf if at.side == 0 else -np.inf
    for leg in range(rules.targets[at.side]):
        if marks[LEG_BARS + leg] == NOT_REACHED:
            price = figures[LEG_PRICES + leg]
            nearest = min(nearest, price) if at.side == 0 else max(nearest, price)
    k, gain = j + 1, load_value(asks.further, row, AFTER) * at.risk
    even = asks.break_even[p] * at.risk
    is_touched = False
    while k < bar and not is_touched:
        high, low = load_value(prices.bars, HIGH, k), load_value(prices.bars, LOW, k)
        if at.side == 0:
            is_touched = low <= stop or high >= nearest
        else:
            is_touched = high >= stop or low <= nearest
        is_touched |= high >= level if is_below else low <= level
        if not is_touched:
            best = max(best, high) if at.side == 0 else min(best, low)
            gone = best - at.entry if at.side == 0 else at.entry - best
            if gone >= gain or gone >= even:
                stop, mover = follow_prices(asks, rules, p, at, stop, mover, best, k, stack)
            k += 1
    return k, stop, mover, best
