"""Exponential moving average, seeded with the first known value."""

import math

import numpy as np

from strategy.genes import Floats


def ema(values: Floats, span: int) -> Floats:
    """Exponential moving average: y[t] = y[t-1] + alpha * (x[t] - y[t-1]).

    It begins at the first known value. A value that is not known leaves the average as it was, and
    the average is not known there. This form keeps a constant series exactly constant.

    Args:
        values: [T], any unit; NaN where not known.
        span: Bars, at least 1; alpha = 2 / (span + 1).

    Returns:
        [T], unit of `values`; NaN for the first `span` - 1 bars from the first known value on.

    Source: house rule; equals pandas ``ewm(span=span, adjust=False).mean()`` up to rounding.

    >>> ema(np.array([1.0, 2.0, 3.0, np.nan, 3.25]), 3)
    array([ nan,  nan, 2.25,  nan, 2.75])
    """
    alpha = 2.0 / (span + 1.0)
    averages = np.full(len(values), math.nan)
    first = len(values)
    average = math.nan
    for t in range(len(values)):
        if math.isnan(values[t]):
            continue
        if first == len(values):
            first = t
            average = values[t]
        else:
            average = average + alpha * (values[t] - average)
        if t >= first + span - 1:
            averages[t] = average
    return averages
