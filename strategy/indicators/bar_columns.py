"""Columns that follow from the bars bar by bar: ranges, places and means of prices."""

import math

import numpy as np

from strategy.genes import Floats


def true_range(high: Floats, low: Floats, close: Floats) -> Floats:
    """The largest of the bar's range and its two distances from the previous close.

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], price; known from bar 0, which has no previous close and takes high minus low.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> true_range(np.array([10.0, 12.0]), np.array([8.0, 11.0]), np.array([9.0, 11.5]))
    array([2., 3.])
    """
    ranges = np.empty(len(close))
    ranges[0] = high[0] - low[0]
    for t in range(1, len(close)):
        ranges[t] = max(
            max(high[t] - low[t], abs(high[t] - close[t - 1])),
            abs(low[t] - close[t - 1]),
        )
    return ranges


def close_location(high: Floats, low: Floats, close: Floats) -> Floats:
    """The close's place between low (0) and high (1).

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], fraction from 0 to 1; NaN where high equals low.

    Source: the bracket term of Marc Chaikin's accumulation/distribution line, on a 0 to 1 scale.

    >>> close_location(np.array([4.0, 5.0]), np.array([2.0, 5.0]), np.array([3.5, 5.0]))
    array([0.75,  nan])
    """
    locations = np.empty(len(close))
    for t in range(len(close)):
        if high[t] == low[t]:
            locations[t] = math.nan
        else:
            locations[t] = (close[t] - low[t]) / (high[t] - low[t])
    return locations


def hl2(high: Floats, low: Floats) -> Floats:
    """The middle of a bar, (high + low) / 2, [T], price.

    >>> hl2(np.array([3.0]), np.array([1.0]))
    array([2.])
    """
    return (high + low) / 2.0


def hlc3(high: Floats, low: Floats, close: Floats) -> Floats:
    """The typical price, (high + low + close) / 3, [T], price.

    >>> hlc3(np.array([4.0]), np.array([1.0]), np.array([1.0]))
    array([2.])
    """
    return ((high + low) + close) / 3.0


def ohlc4(open: Floats, high: Floats, low: Floats, close: Floats) -> Floats:
    """The mean price, (open + high + low + close) / 4, [T], price.

    >>> ohlc4(*np.array([[1.0], [3.0], [1.0], [3.0]]))
    array([2.])
    """
    return (((open + high) + low) + close) / 4.0
