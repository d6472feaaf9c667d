"""Extremes of blocks of bars: how far a price went in many bars, in one look."""

from typing import NamedTuple

import numpy as np

from data.bars import Bars
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER
from engine.runtime.cpu.simd8 import (
    EIGHT,
    bits_at_least,
    bits_at_most,
    eight_times,
    load_eight,
    lowest_place,
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
