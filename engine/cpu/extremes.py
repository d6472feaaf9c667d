"""Extremes of blocks of bars: how far a price went in many bars, in one look."""

from typing import NamedTuple

import numpy as np

from engine.compiling.loops import compiled
from engine.cpu.types import Floats

SMALL, LARGE = 16, 256
"""Bars of a block."""


class Extremes(NamedTuple):
    """Prices of one series, and the extremes of its whole blocks.

    Args:
        open: [T].
        high: [T].
        low: [T].
        close: [T].
        high_small: [T // 16] largest high of each block of 16 bars.
        low_small: [T // 16] smallest low.
        high_large: [T // 256] the same of 256 bars.
        low_large: [T // 256].
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    high_small: Floats
    low_small: Floats
    high_large: Floats
    low_large: Floats


def extremes_of(open_: Floats, high: Floats, low: Floats, close: Floats) -> Extremes:
    """Prices [T] of a series with their extremes."""
    return Extremes(
        open_,
        high,
        low,
        close,
        _largest(high, SMALL),
        -_largest(-low, SMALL),
        _largest(high, LARGE),
        -_largest(-low, LARGE),
    )


@compiled
def _largest(values: Floats, size: int) -> Floats:
    """The largest value of each whole block."""
    found = np.empty(values.size // size)
    for block in range(found.size):
        found[block] = values[block * size : (block + 1) * size].max()
    return found


@compiled
def first_touch(prices: Extremes, first: int, last: int, lower: float, upper: float) -> int:
    """The first bar from `first` to `last` that reaches down to `lower` or up to `upper`.

    `last` + 1 where none does; either price may be infinite. No bar behind `last` is looked at.
    """
    j = first
    while j <= last:
        if j & (SMALL - 1) == 0 and j + SMALL - 1 <= last:
            if j & (LARGE - 1) == 0 and j + LARGE - 1 <= last:
                block = np.uint64(j // LARGE)
                if prices.low_large[block] > lower and prices.high_large[block] < upper:
                    j += LARGE
                    continue
            block = np.uint64(j // SMALL)
            if prices.low_small[block] > lower and prices.high_small[block] < upper:
                j += SMALL
                continue
        behind = min((j | (SMALL - 1)) + 1, last + 1)
        # Without a sign, an index is not asked whether it counts from the end.
        for k in range(np.uint64(j), np.uint64(behind)):
            if prices.low[k] <= lower or prices.high[k] >= upper:
                return int(np.int64(k))
        j = behind
    return last + 1
