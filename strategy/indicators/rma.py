"""Wilder's moving average, seeded with a plain mean."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.sma import sma


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
    weight = 1.0 / bars
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
