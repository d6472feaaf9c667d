"""Directional movement: how much of the true range went up, how much down, how one-sided it was.

Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).
"""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rma import rma


def plus_di(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Upward movement as a share of the true range, each in Wilder's average, in percent.

    Args:
        high: [T], price.
        low: [T], price.
        ranges: [T], true range, price.
        bars: At least 2.

    Returns:
        [T], percent; NaN for the first `bars` bars and where there was no range.

    >>> high, low = np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])
    >>> plus_di(high, low, np.array([1.0, 2.0, 2.0]), 2)
    array([nan, nan, 50.])
    """
    moves = np.full(len(high), math.nan)
    for t in range(1, len(high)):
        up = high[t] - high[t - 1]
        down = low[t - 1] - low[t]
        moves[t] = up if up > down and up > 0.0 else 0.0
    return _share(moves, ranges, bars)


def minus_di(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Downward movement; all else as `plus_di`.

    >>> high, low = np.array([4.0, 3.0, 2.0]), np.array([3.0, 2.0, 1.0])
    >>> minus_di(high, low, np.array([1.0, 2.0, 2.0]), 2)
    array([nan, nan, 50.])
    """
    moves = np.full(len(high), math.nan)
    for t in range(1, len(high)):
        up = high[t] - high[t - 1]
        down = low[t - 1] - low[t]
        moves[t] = down if down > up and down > 0.0 else 0.0
    return _share(moves, ranges, bars)


def adx(high: Floats, low: Floats, ranges: Floats, bars: int) -> Floats:
    """Average directional index: Wilder's average of how far the two movements lie apart.

    Args:
        high: [T], price.
        low: [T], price.
        ranges: [T], true range, price.
        bars: At least 2.

    Returns:
        [T], 0 to 100; NaN for the first 2 * `bars` - 1 bars and where nothing moved.

    >>> high, low = np.array([2.0, 3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> adx(high, low, np.array([1.0, 2.0, 2.0, 2.0]), 2)
    array([ nan,  nan,  nan, 100.])
    """
    plus = plus_di(high, low, ranges, bars)
    minus = minus_di(high, low, ranges, bars)
    apart = np.full(len(high), math.nan)
    for t in range(len(high)):
        if plus[t] + minus[t] > 0.0:
            apart[t] = 100.0 * (abs(plus[t] - minus[t]) / (plus[t] + minus[t]))
    return rma(apart, bars)


def _share(moves: Floats, ranges: Floats, bars: int) -> Floats:
    """Moves [T] as a share of the true range; the first bar has no close before it."""
    later = ranges.copy()
    later[:1] = math.nan
    movement = rma(moves, bars)
    whole = rma(later, bars)
    shares = np.full(len(moves), math.nan)
    for t in range(len(moves)):
        if whole[t] > 0.0:
            shares[t] = 100.0 * (movement[t] / whole[t])
    return shares
