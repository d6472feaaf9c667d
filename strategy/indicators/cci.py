"""Commodity channel index: how far a price lies from its mean, in mean deviations."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rolling import sma


def cci(values: Floats, bars: int) -> Floats:
    """Commodity channel index: distance from the window's mean, in 0.015 mean deviations.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2; deviations of the window are summed oldest first.

    Returns:
        [T], unit-free; NaN before `bars` values and where the window is flat.

    Source: Donald Lambert, Commodities (October 1980), there of `hlc3`.

    >>> cci(np.array([1.0, 2.0, 6.0]), 3)
    array([ nan,  nan, 100.])
    """
    means = sma(values, bars)
    distances = np.full(len(values), math.nan)
    for t in range(bars - 1, len(values)):
        total = 0.0
        for k in range(t - bars + 1, t + 1):
            total = total + abs(values[k] - means[t])
        if total > 0.0:
            distances[t] = (values[t] - means[t]) / (0.015 * (total / bars))
    return distances
