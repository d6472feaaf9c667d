"""The sign of a number, its root and its whole part."""

import math

import numpy as np

from strategy.genes import Floats


def sign(values: Floats) -> Floats:
    """1 above 0, -1 below it, and 0.

    Args:
        values: [T], any unit; NaN where not known.

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

    Args:
        values: [T], any unit; NaN where not known.

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

    Args:
        values: [T], any unit; NaN where not known.

    Returns:
        [T]; NaN where the values are.

    >>> floor(np.array([2.5, -2.5, np.nan]))
    array([ 2., -3., nan])
    """
    whole = np.empty(len(values))
    for t in range(len(values)):
        whole[t] = values[t] - values[t] % 1.0
    return whole
