"""Hull moving average: weighted means of half and whole length, smoothed once more."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.wma import wma


def hma(values: Floats, bars: int) -> Floats:
    """wma(2 * wma(values, bars // 2) - wma(values, bars), whole part of the root of bars).

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], unit of `values`; NaN before bars + the root's whole part - 1 values are known.

    Source: Alan Hull, the Hull Moving Average (2005).

    >>> hma(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    array([nan, nan, nan, nan,  5.])
    """
    half = wma(values, bars // 2)
    whole = wma(values, bars)
    raw = np.full(len(values), math.nan)
    for t in range(len(values)):
        raw[t] = 2.0 * half[t] - whole[t]
    return wma(raw, whole_root(bars))


def whole_root(number: int) -> int:
    """Whole part of the square root of a whole number above 0."""
    root = 1
    while (root + 1) * (root + 1) <= number:
        root += 1
    return root
