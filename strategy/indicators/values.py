"""Rows of another row: earlier values, known ones, signs and sums.

`values` are [T] of any unit, NaN where not known.
"""

import math

import numpy as np

from strategy.genes import Floats


def lag(values: Floats, bars: int) -> Floats:
    """The value `bars` bars ago.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 1.

    Returns:
        [T], unit of `values`; NaN for the first `bars` bars.

    >>> lag(np.array([1.0, 2.0, 3.0]), 2)
    array([nan, nan,  1.])
    """
    earlier = np.full(len(values), math.nan)
    for t in range(bars, len(values)):
        earlier[t] = values[t - bars]
    return earlier


def roc(values: Floats, bars: int) -> Floats:
    """Change over `bars` bars, as a fraction of the earlier value.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 1.

    Returns:
        [T], fraction; NaN for the first `bars` bars and where the earlier value is 0.

    Source: rate of change, here not times 100.

    >>> roc(np.array([1.0, 2.0, 0.0, 3.0]), 1)
    array([nan,  1., -1., nan])
    """
    changes = np.full(len(values), math.nan)
    for t in range(bars, len(values)):
        if values[t - bars] != 0.0:
            changes[t] = (values[t] - values[t - bars]) / values[t - bars]
    return changes


def last_known(values: Floats) -> Floats:
    """The newest known value of a row, this bar's or an earlier one's.

    Returns:
        [T], unit of `values`; NaN before the first known one.

    >>> last_known(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([nan,  1.,  1.,  3.])
    """
    newest = math.nan
    kept = np.empty(len(values))
    for t in range(len(values)):
        if not math.isnan(values[t]):
            newest = values[t]
        kept[t] = newest
    return kept


def bars_unknown(values: Floats) -> Floats:
    """Bars since a row was last known.

    Returns:
        [T], bars; 0 where it is known, NaN before that.

    >>> bars_unknown(np.array([np.nan, 1.0, np.nan, np.nan]))
    array([nan,  0.,  1.,  2.])
    """
    since = math.nan
    ages = np.empty(len(values))
    for t in range(len(values)):
        since = since + 1.0 if math.isnan(values[t]) else 0.0
        ages[t] = since
    return ages


def filled(values: Floats, number: float) -> Floats:
    """A row with a number where it is not known.

    Args:
        values: [T], any unit; NaN where not known.
        number: A whole one, such as 0.

    Returns:
        [T], unit of `values`.

    >>> filled(np.array([np.nan, 1.5]), 0)
    array([0. , 1.5])
    """
    whole = np.empty(len(values))
    for t in range(len(values)):
        whole[t] = number if math.isnan(values[t]) else values[t]
    return whole


def sign(values: Floats) -> Floats:
    """1 above 0, -1 below it, and 0.

    Returns:
        [T], NaN where the values are.

    >>> sign(np.array([-0.5, 0.0, 2.0, np.nan]))
    array([-1.,  0.,  1., nan])
    """
    signs = np.full(len(values), math.nan)
    for t in range(len(values)):
        if values[t] > 0.0:
            signs[t] = 1.0
        elif values[t] < 0.0:
            signs[t] = -1.0
        elif values[t] == 0.0:
            signs[t] = 0.0
    return signs


def square_root(values: Floats) -> Floats:
    """The square root of a number.

    Returns:
        [T]; NaN where the values are, or below 0.

    >>> square_root(np.array([4.0, -1.0]))
    array([ 2., nan])
    """
    roots = np.full(len(values), math.nan)
    for t in range(len(values)):
        if values[t] >= 0.0:
            roots[t] = math.sqrt(values[t])
    return roots


def floor(values: Floats) -> Floats:
    """The largest whole number that is not above a number.

    Returns:
        [T]; NaN where the values are.

    >>> floor(np.array([2.5, -2.5, np.nan]))
    array([ 2., -3., nan])
    """
    whole = np.empty(len(values))
    for t in range(len(values)):
        whole[t] = values[t] - values[t] % 1.0
    return whole


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
