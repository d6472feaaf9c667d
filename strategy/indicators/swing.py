"""The last swing: the largest high, or the smallest low, that its neighbours confirm."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.extremes import highest


def swing_high(high: Floats, lookback: int, lookahead: int) -> Floats:
    """The largest confirmed high of the last `lookback` bars.

    A bar j is confirmed when no high of j - lookahead .. j + lookahead exceeds its own. The value
    at t is the largest confirmed high with all neighbours in t - lookback .. t - 1; without one,
    the largest high of t - lookback .. t - lookahead - 1. Nothing after t - 1 is read.

    Args:
        high: [T], price.
        lookback: Bars, above `lookahead`.
        lookahead: Bars on each side that confirm, at least 1.

    Returns:
        [T], price; NaN for the first `lookback` + `lookahead` bars.

    Source: house rule, after the swing of the system that this project grew from.

    >>> swing_high(np.array([1.0, 5.0, 2.0, 3.0, 4.0, 9.0]), 4, 1)
    array([nan, nan, nan, nan, nan,  5.])
    """
    around = highest(high, 2 * lookahead + 1)
    # A confirmed high is known so many bars late, and stands at that bar.
    known = np.full(len(high), -math.inf)
    for t in range(2 * lookahead, len(high)):
        if high[t - lookahead] == around[t]:
            known[t] = high[t - lookahead]
    # Where so few bars hold no neighbours, none is confirmed.
    bars = lookback - 2 * lookahead
    confirmed = highest(known, max(bars, 1))
    plain = highest(high, lookback - lookahead)
    swings = np.full(len(high), math.nan)
    for t in range(lookback + lookahead, len(high)):
        if bars > 0 and confirmed[t - 1] > -math.inf:
            swings[t] = confirmed[t - 1]
        else:
            swings[t] = plain[t - lookahead - 1]
    return swings


def swing_low(low: Floats, lookback: int, lookahead: int) -> Floats:
    """The smallest confirmed low of the last `lookback` bars; all else as `swing_high`.

    >>> swing_low(np.array([5.0, 1.0, 4.0, 3.0, 2.0, 9.0]), 4, 1)
    array([nan, nan, nan, nan, nan,  1.])
    """
    return -swing_high(-low, lookback, lookahead)
