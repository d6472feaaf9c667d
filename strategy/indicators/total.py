"""Sums since the first bar."""

import math

import numpy as np

from strategy.genes import Floats


def total(values: Floats) -> Floats:
    """Sum of all known values so far, oldest first.

    Args:
        values: [T], any unit; NaN where not known, which adds nothing.

    Returns:
        [T], unit of `values`; NaN where they are.

    >>> total(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([nan,  1., nan,  4.])
    """
    summed = 0.0
    sums = np.full(len(values), math.nan)
    for t in range(len(values)):
        if not math.isnan(values[t]):
            summed = summed + values[t]
            sums[t] = summed
    return sums
