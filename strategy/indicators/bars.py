"""Rows of the bars: prices of a bar, volume, and sessions.

Columns are prices [T], volume in units.
"""

import math

import numpy as np

from strategy.genes import Floats, Ints


def true_range(high: Floats, low: Floats, close: Floats) -> Floats:
    """The largest of the bar's range and its two distances from the previous close.

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


def obv(close: Floats, volume: Floats) -> Floats:
    """Volume added on a rise of the close and taken away on a fall.

    Args:
        close: [T], price.
        volume: [T], units.

    Returns:
        [T], units; the first bar's own volume at bar 0.

    Source: Joseph Granville.

    >>> obv(np.array([1.0, 2.0, 2.0, 1.0]), np.array([10.0, 5.0, 7.0, 3.0]))
    array([10., 15., 15., 12.])
    """
    balances = np.empty(len(close))
    balance = volume[0]
    balances[0] = balance
    for t in range(1, len(close)):
        if close[t] > close[t - 1]:
            balance = balance + volume[t]
        elif close[t] < close[t - 1]:
            balance = balance - volume[t]
        balances[t] = balance
    return balances


def vwap(typical: Floats, volume: Floats, sessions: Ints) -> Floats:
    """The session's average price so far, each bar weighted by its volume.

    Args:
        typical: [T], a price that stands for the bar.
        volume: [T], units.
        sessions: [T], number of the session that holds the bar.

    Returns:
        [T], price; NaN where nothing was traded yet, and in the first session, whose beginning
        the file may lack.

    Source: the common definition, with the mean of high, low and close for a bar's price.

    >>> vwap(np.array([9.0, 1.0, 4.0]), np.array([1.0, 2.0, 1.0]), np.array([0, 1, 1]))
    array([nan,  1.,  2.])
    """
    averages = np.full(len(typical), math.nan)
    traded = 0.0
    units = 0.0
    for t in range(1, len(typical)):
        if sessions[t] == sessions[0]:
            continue
        if sessions[t] != sessions[t - 1]:
            traded = typical[t] * volume[t]
            units = volume[t]
        else:
            traded = traded + typical[t] * volume[t]
            units = units + volume[t]
        if units != 0.0:
            averages[t] = traded / units
    return averages


def opening_high(
    high: Floats, timestamp: Ints, over_ns: Ints, sessions: Ints, span_ns: int
) -> Floats:
    """The largest high of a session's first minutes, once they are over.

    Args:
        high: [T], price.
        timestamp: [T], nanoseconds, a bar's open.
        over_ns: [T], nanoseconds, when it is over.
        sessions: [T], number of the session that holds the bar.
        span_ns: Time from the open of a session's first bar; bars that open within it count.

    Returns:
        [T], price; NaN until a bar is over at the end of that time or later, and in the first
        session, whose beginning the file may lack.

    Source: Toby Crabel, Day Trading with Short Term Price Patterns (1990).

    >>> day, times = np.array([0, 1, 1, 1]), np.array([0, 10, 20, 30])
    >>> opening_high(np.array([9.0, 5.0, 6.0, 7.0]), times, times + 10, day, 20)
    array([nan, nan,  6.,  6.])
    """
    ranges = np.full(len(high), math.nan)
    largest = -math.inf
    ends_at = timestamp[0]
    for t in range(1, len(high)):
        if sessions[t] == sessions[0]:
            continue
        if sessions[t] != sessions[t - 1]:
            largest = -math.inf
            ends_at = timestamp[t] + span_ns
        if timestamp[t] < ends_at and high[t] > largest:
            largest = high[t]
        if over_ns[t] >= ends_at:
            ranges[t] = largest
    return ranges


def opening_low(
    low: Floats, timestamp: Ints, over_ns: Ints, sessions: Ints, span_ns: int
) -> Floats:
    """The smallest low of a session's first minutes; all else as `opening_high`.

    >>> day, times = np.array([0, 1, 1, 1]), np.array([0, 10, 20, 30])
    >>> opening_low(np.array([9.0, 5.0, 4.0, 3.0]), times, times + 10, day, 20)
    array([nan, nan,  4.,  4.])
    """
    return -opening_high(-low, timestamp, over_ns, sessions, span_ns)
