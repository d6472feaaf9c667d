"""Exponential moving average, seeded with the first value."""

import math

import numpy as np

from strategy.genes import Floats


def ema(values: Floats, span: int) -> Floats:
    """Exponential moving average: y[t] = y[t-1] + alpha * (x[t] - y[t-1]).

    This form keeps a constant series exactly constant.

    Args:
        values: [T], any unit, finite.
        span: Bars, at least 1; alpha = 2 / (span + 1).

    Returns:
        [T], unit of `values`; NaN before `span` bars have been seen.

    Source: house rule; equals pandas ``ewm(span=span, adjust=False).mean()`` up to rounding.

    >>> ema(np.array([1.0, 2.0, 3.0]), 3)
    array([ nan,  nan, 2.25])
    """
    alpha = 2.0 / (span + 1.0)
    averages = np.empty(len(values))
    average = values[0]
    averages[0] = average
    for t in range(1, len(values)):
        average = average + alpha * (values[t] - average)
        averages[t] = average
    averages[: span - 1] = math.nan
    return averages
