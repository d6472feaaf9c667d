"""Money flow index: how much of the traded money moved with rising prices."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rolling import sma


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
