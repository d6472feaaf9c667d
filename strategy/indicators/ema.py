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


# Fast forms of the engines know `ema` alone; a source that may have holes is the host's.
def ema_over_holes(values: Floats, span: int) -> Floats:
    """Exponential moving average of values that may have holes.

    It begins at the first known value; without holes it has the bits of `ema`. A value that is
    not known leaves the average as it was, and the average is not known there.

    Args:
        values: [T], any unit; NaN where not known.
        span: Bars, at least 1; alpha = 2 / (span + 1).

    Returns:
        [T], unit of `values`; NaN for the first `span` - 1 bars from the first known value on.

    Source: house rule; equals pandas ``ewm(span=span, adjust=False).mean()`` up to rounding.

    >>> ema_over_holes(np.array([1.0, 2.0, 3.0, np.nan, 3.25]), 3)
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
