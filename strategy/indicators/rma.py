"""Averages that begin as a plain mean: Wilder's, and the exponential one of charts."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rolling import sma


def rma(values: Floats, bars: int) -> Floats:
    """Wilder's average: y[t] = y[t-1] + (1 / bars) * (x[t] - y[t-1]).

    It begins as the plain mean of the first window that is known as a whole. A value that is not
    known leaves the average as it was, and the average is not known there.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], unit of `values`; NaN before the first mean.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> rma(np.array([1.0, 3.0, 5.0, np.nan, 4.5]), 2)
    array([nan, 2. , 3.5, nan, 4. ])
    """
    return from_mean(values, bars, 1.0 / bars)


def ema_mean(values: Floats, bars: int) -> Floats:
    """Exponential moving average that begins as a plain mean; `ema` begins as the first value.

    It begins as the plain mean of the first window that is known as a whole, and then moves by
    2 / (bars + 1) of the distance. A value that is not known leaves the average as it was, and
    the average is not known there.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], unit of `values`; NaN before the first mean.

    Source: the usual form of charts, TA-Lib's among them.

    >>> ema_mean(np.array([1.0, 3.0, 5.0, 3.5]), 3)
    array([ nan,  nan, 3.  , 3.25])
    """
    return from_mean(values, bars, 2.0 / (bars + 1))


def from_mean(values: Floats, bars: int, weight: float) -> Floats:
    """y[t] = y[t-1] + weight * (x[t] - y[t-1]) from the first mean of `bars` values on, [T]."""
    means = sma(values, bars)
    averages = np.full(len(values), math.nan)
    average = math.nan
    is_seeded = False
    for t in range(len(values)):
        if is_seeded and not math.isnan(values[t]):
            average = average + weight * (values[t] - average)
            averages[t] = average
        elif not is_seeded and not math.isnan(means[t]):
            average = means[t]
            averages[t] = average
            is_seeded = True
    return averages
