"""Double exponential moving average: the lag of one average taken from it once."""

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rma import ema_mean


def dema(values: Floats, bars: int) -> Floats:
    """2 * y - z: y is `ema_mean` of the values, z is `ema_mean` of y.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2; both averages move by 2 / (bars + 1).

    Returns:
        [T], unit of `values`; NaN where either average is not known.

    Source: Patrick G. Mulloy, Smoothing Data with Faster Moving Averages, Stocks & Commodities
    12 (1994); both averages begin with a mean of their own, as in TA-Lib.

    >>> dema(np.array([1.0, 3.0, 5.0, 7.0]), 2)
    array([nan, nan,  5.,  7.])
    """
    averages = ema_mean(values, bars)
    seconds = ema_mean(averages, bars)
    doubled = np.empty(len(values))
    for t in range(len(values)):
        doubled[t] = 2.0 * averages[t] - seconds[t]
    return doubled
