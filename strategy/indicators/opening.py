"""Opening range: how far price went in a session's first minutes."""

import math

import numpy as np

from strategy.genes import Floats, Ints


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
