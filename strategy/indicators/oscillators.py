"""Oscillators: where a value lies among the newest ones, or which way they moved."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.averages import rma
from strategy.indicators.windows import highest, lowest, sma


def rsi(values: Floats, bars: int) -> Floats:
    """Wilder's average of the rises as a share of that of all moves, in percent.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2.

    Returns:
        [T], 0 to 100; NaN for the first `bars` bars and where nothing moved.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> rsi(np.array([1.0, 2.0, 1.0, 2.0]), 2)
    array([nan, nan, 50., 75.])
    """
    rises = np.full(len(values), math.nan)
    falls = np.full(len(values), math.nan)
    for t in range(1, len(values)):
        d = values[t] - values[t - 1]
        if not math.isnan(d):
            rises[t] = d if d > 0.0 else 0.0
            falls[t] = -d if d < 0.0 else 0.0
    up = rma(rises, bars)
    down = rma(falls, bars)
    strength = np.full(len(values), math.nan)
    for t in range(len(values)):
        if up[t] + down[t] > 0.0:
            strength[t] = 100.0 * (up[t] / (up[t] + down[t]))
    return strength


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


def cci(values: Floats, bars: int) -> Floats:
    """Commodity channel index: distance from the window's mean, in 0.015 mean deviations.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 2; deviations of the window are summed oldest first.

    Returns:
        [T], unit-free; NaN before `bars` values and where the window is flat.

    Source: Donald Lambert, Commodities (October 1980), there of `hlc3`.

    >>> cci(np.array([1.0, 2.0, 6.0]), 3)
    array([ nan,  nan, 100.])
    """
    means = sma(values, bars)
    distances = np.full(len(values), math.nan)
    for t in range(bars - 1, len(values)):
        total = 0.0
        for k in range(t - bars + 1, t + 1):
            total = total + abs(values[k] - means[t])
        if total > 0.0:
            distances[t] = (values[t] - means[t]) / (0.015 * (total / bars))
    return distances


def mfi(prices: Floats, volume: Floats, bars: int) -> Floats:
    """Money flow index: share of money traded at rising prices, in percent.

    Args:
        prices: [T], price; the word `mfi` reads the typical price `hlc3`.
        volume: [T], units.
        bars: At least 2; a bar whose price is that of the bar before counts on neither side.

    Returns:
        [T], 0 to 100; NaN for the first `bars` bars and where no money moved.

    Source: Gene Quong and Avrum Soudack, Technical Analysis of Stocks & Commodities (March 1989).

    >>> mfi(np.array([1.0, 2.0, 3.0, 2.0]), np.array([9.0, 1.0, 2.0, 1.0]), 2)
    array([ nan,  nan, 100.,  75.])
    """
    rising = np.full(len(prices), math.nan)
    falling = np.full(len(prices), math.nan)
    for t in range(1, len(prices)):
        money = prices[t] * volume[t]
        rising[t] = money if prices[t] > prices[t - 1] else 0.0
        falling[t] = money if prices[t] < prices[t - 1] else 0.0
    gained = sma(rising, bars)
    lost = sma(falling, bars)
    shares = np.full(len(prices), math.nan)
    for t in range(len(prices)):
        if gained[t] + lost[t] > 0.0:
            shares[t] = 100.0 * (gained[t] / (gained[t] + lost[t]))
    return shares
