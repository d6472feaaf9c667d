"""Ranks of values in their windows."""

import math

import numpy as np

from strategy.genes import Floats


def percentile(values: Floats, window: int, percent: int) -> Floats:
    """A value of the newest `window` ones by its rank, between two where the rank is.

    Args:
        values: [T], any unit; NaN where not known.
        window: At least 2.
        percent: 0 for the smallest, 50 for the median, 100 for the largest.

    Returns:
        [T], unit of `values`; NaN where a value of the window is.

    Source: Hyndman and Fan, The American Statistician 50 (1996), type 5.

    >>> percentile(np.array([4.0, 1.0, 3.0, 2.0]), 4, 50)
    array([nan, nan, nan, 2.5])
    """
    found = np.full(len(values), math.nan)
    place = window * percent / 100.0 - 0.5
    first = min(max(math.floor(place), 0), window - 2)
    share = min(max(place - first, 0.0), 1.0)
    for t in range(window - 1, len(values)):
        ranked = np.sort(values[t - window + 1 : t + 1])
        # Unknown values are sorted to the end.
        if not math.isnan(ranked[window - 1]):
            found[t] = ranked[first] + share * (ranked[first + 1] - ranked[first])
    return found


def percent_rank(values: Floats, bars: int) -> Floats:
    """Share of the `bars` values before that are not above this one, in percent.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 1.

    Returns:
        [T], 0 to 100; NaN where one of them is, or this one.

    >>> percent_rank(np.array([2.0, 5.0, 3.0]), 2)
    array([nan, nan, 50.])
    """
    ranks = np.full(len(values), math.nan)
    for t in range(bars, len(values)):
        count = 0
        is_known = not math.isnan(values[t])
        for k in range(t - bars, t):
            is_known = is_known and not math.isnan(values[k])
            count += values[k] <= values[t]
        if is_known:
            ranks[t] = 100.0 * count / bars
    return ranks


def rank_correlation(values: Floats, window: int) -> Floats:
    """Rank correlation index: how steadily the newest `window` values rise, -100 to 100.

    Args:
        values: [T], any unit; NaN where not known.
        window: At least 2; equal values share their mean rank.

    Returns:
        [T], percent; NaN where a value of the window is, or all are equal.

    Source: Charles Spearman, The American Journal of Psychology 15 (1904).

    >>> rank_correlation(np.array([1.0, 2.0, 4.0, 3.0]), 4)
    array([nan, nan, nan, 80.])
    """
    index = np.full(len(values), math.nan)
    middle = (window + 1) / 2.0
    for t in range(window - 1, len(values)):
        product, spread, even = 0.0, 0.0, 0.0
        is_known = True
        for i in range(window):
            own = values[t - i]
            rank = 0.5
            for k in range(window):
                other = values[t - k]
                is_known = is_known and not math.isnan(other)
                rank += 1.0 if other < own else 0.5 if other == own else 0.0
            place = window - i - middle
            product += place * (rank - middle)
            spread += (rank - middle) * (rank - middle)
            even += place * place
        if is_known and spread > 0.0:
            index[t] = 100.0 * (product / math.sqrt(even * spread))
    return index


def bars_since_highest(values: Floats, window: int) -> Floats:
    """Bars since the largest of the newest `window` values, the oldest of equal ones.

    Args:
        values: [T], any unit; NaN where not known.
        window: At least 1.

    Returns:
        [T], 0 to `window` - 1; NaN where a value of the window is.

    >>> bars_since_highest(np.array([1.0, 3.0, 3.0, 2.0]), 3)
    array([nan, nan,  1.,  2.])
    """
    ages = np.full(len(values), math.nan)
    for t in range(window - 1, len(values)):
        best = t - window + 1
        is_known = not math.isnan(values[best])
        for k in range(best + 1, t + 1):
            is_known = is_known and not math.isnan(values[k])
            if values[k] > values[best]:
                best = k
        if is_known:
            ages[t] = t - best
    return ages


def bars_since_lowest(values: Floats, window: int) -> Floats:
    """Bars since the smallest of the newest `window` values; all else as `bars_since_highest`."""
    return bars_since_highest(-values, window)
