"""Double exponential moving average: the lag of one average taken from it once."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rma import ema_mean


def dema(values: Floats, bars: int) -> Floats:
    """2 * y - z: y is `ema_mean`, z the exponential average of y that begins at its first value.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2; both averages move by 2 / (bars + 1).

    Returns:
        [T], unit of `values`; NaN where `ema_mean` is not known.

    Source: Patrick G. Mulloy, Smoothing Data with Faster Moving Averages, Stocks & Commodities
    12 (1994); the second average begins without a mean of its own.

    >>> dema(np.array([1.0, 3.0, 5.0, 7.0]), 3)
    array([nan, nan,  3.,  6.])
    """
    weight = 2.0 / (bars + 1)
    averages = ema_mean(values, bars)
    doubled = np.full(len(values), math.nan)
    first = len(values)
    second = math.nan
    for t in range(len(values)):
        if math.isnan(averages[t]):
            continue
        if first == len(values):
            first = t
            second = averages[t]
        else:
            second = second + weight * (averages[t] - second)
        doubled[t] = 2.0 * averages[t] - second
    return doubled
