"""Supertrend: a band beside the price that only follows, and the side on which it lies.

Source: Olivier Seban; as charts compute it, with Wilder's average of the true range.
"""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rma import rma


def supertrend(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> Floats:
    """Supertrend: the band below a rising market, above a falling one.

    Each bar offers a band of `factor_tenths` / 10 average true ranges on both sides of its middle.
    The lower one never falls and the upper one never rises until a close has gone through it. The
    trend begins as falling; it turns up at a close above the upper band and down at a close below
    the lower one.

    Args:
        middle: [T], price, (high + low) / 2.
        close: [T], price.
        ranges: [T], true range, price.
        bars: At least 2, of Wilder's average.
        factor_tenths: Tenths of an average true range: 30 for a factor of 3.

    Returns:
        [T], price; NaN before the average is known.

    >>> close = np.array([10.0, 11.0, 15.0, 9.0])
    >>> supertrend(close, close, np.array([1.0, 1.0, 4.0, 6.0]), 2, 10)
    array([  nan, 12.  , 12.5 , 13.25])
    """
    line, _ = _follow_trend(middle, close, ranges, bars, factor_tenths)
    return line


def supertrend_side(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> Floats:
    """Side of the supertrend: 1 for a rise, -1 for a fall; all else as `supertrend`.

    >>> close = np.array([10.0, 11.0, 15.0, 9.0])
    >>> supertrend_side(close, close, np.array([1.0, 1.0, 4.0, 6.0]), 2, 10)
    array([nan, -1.,  1., -1.])
    """
    _, side = _follow_trend(middle, close, ranges, bars, factor_tenths)
    return side


def _follow_trend(
    middle: Floats, close: Floats, ranges: Floats, bars: int, factor_tenths: int
) -> tuple[Floats, Floats]:
    """Line and side of a supertrend, [T] each."""
    average = rma(ranges, bars)
    line = np.full(len(close), math.nan)
    side = np.full(len(close), math.nan)
    lower = upper = math.nan
    is_rising = False
    for t in range(len(close)):
        if math.isnan(average[t]):
            continue
        reach = (factor_tenths / 10.0) * average[t]
        # Bands that the close has not gone through so far stay where they were, or come nearer.
        before_lower, before_upper = lower, upper
        lower = middle[t] - reach
        if before_lower > lower and not close[t - 1] < before_lower:
            lower = before_lower
        upper = middle[t] + reach
        if before_upper < upper and not close[t - 1] > before_upper:
            upper = before_upper
        is_rising = not close[t] < lower if is_rising else close[t] > upper
        if math.isnan(before_upper):
            is_rising = False
        line[t] = lower if is_rising else upper
        side[t] = 1.0 if is_rising else -1.0
    return line, side
