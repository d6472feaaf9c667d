"""Stochastic oscillator: where the close lies in the range of the newest bars."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.extremes import highest, lowest


def stoch(high: Floats, low: Floats, close: Floats, window: int) -> Floats:
    """The close's place between the lowest low and the highest high, in percent (fast %K).

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.
        window: Bars, at least 1.

    Returns:
        [T], 0 to 100; NaN before `window` bars and where the range is empty.

    Source: George Lane.

    >>> stoch(np.array([4.0, 5.0]), np.array([1.0, 2.0]), np.array([2.0, 4.0]), 2)
    array([nan, 75.])
    """
    top = highest(high, window)
    bottom = lowest(low, window)
    percents = np.full(len(close), math.nan)
    for t in range(len(close)):
        if top[t] > bottom[t]:
            percents[t] = 100.0 * ((close[t] - bottom[t]) / (top[t] - bottom[t]))
    return percents
