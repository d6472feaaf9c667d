"""Relative strength index: how much of the movement went up."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rma import rma


def rsi(values: Floats, bars: int) -> Floats:
    """Wilder's average of the rises as a share of that of all moves, in percent.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], 0 to 100; NaN for the first `bars` bars and where nothing moved.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> rsi(np.array([1.0, 2.0, 1.0, 2.0]), 2)
    array([nan, nan, 50., 75.])
    """
    rises = np.full(len(values), math.nan)
    falls = np.full(len(values), math.nan)
    for t in range(1, len(values)):
        d = values[t] - values[t - 1]
        if not math.isnan(d):
            rises[t] = d if d > 0.0 else 0.0
            falls[t] = -d if d < 0.0 else 0.0
    up = rma(rises, bars)
    down = rma(falls, bars)
    strength = np.full(len(values), math.nan)
    for t in range(len(values)):
        if up[t] + down[t] > 0.0:
            strength[t] = 100.0 * (up[t] / (up[t] + down[t]))
    return strength
