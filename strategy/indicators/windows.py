"""Windows of the newest values: means, deviations, extremes and ranks.

A series is cut into blocks of `window` bars. A window lies either exactly on one block or across
two neighbours, and joins the end of one and the beginning of the next. Sums start from a value that
the window contains, so that what cancels is never larger than the window's own spread. A flat
window has a variance of exactly 0.

`values` are [T] of any unit, NaN where not known; a window has at least 2 bars but where another
least is said.
"""

import math

import numpy as np

from strategy.genes import Floats


def rolling_mean_variance(values: Floats, window: int) -> tuple[Floats, Floats]:
    """Mean and population variance over the newest `window` bars, at every bar.

    Returns:
        Mean [T] in the unit of `values` and variance [T] in its square; both NaN before `window`
        bars have been seen.

    Source: house rule, engine/README.md section 3. Against exact rational arithmetic the standard
    deviation is right to 1e-13 on hard series, where running sums are off by up to 3e-3.

    >>> rolling_mean_variance(np.array([1.0, 3.0, 5.0]), 2)
    (array([nan,  2.,  4.]), array([nan,  1.,  1.]))
    """
    means = np.empty(len(values))
    variances = np.empty(len(values))
    # Sums of d and d * d over the last n bars before a block, by n; over none they are 0.
    left = np.empty(min(window, len(values)))
    left2 = np.empty(len(left))
    left[0] = left2[0] = 0.0
    for start in range(0, len(values), window):
        # The anchor of a block is its first value.
        anchor = values[start]
        # The left part of a window is summed backwards, from the bar before the block.
        for n in range(1, min(window, start + 1)):
            d = values[start - n] - anchor
            left[n] = left[n - 1] + d
            left2[n] = left2[n - 1] + d * d
        # The right part is summed forwards, from the first bar of the block.
        right = 0.0
        right2 = 0.0
        for t in range(start, min(start + window, len(values))):
            d = values[t] - anchor
            right = right + d
            right2 = right2 + d * d
            if t < window - 1:
                means[t] = math.nan
                variances[t] = math.nan
                continue
            # A window that ends with the block's last bar lies on the block and has no left part.
            n = window - 1 - (t - start)
            total = left[n] + right
            total2 = left2[n] + right2
            means[t] = anchor + total / window
            variances[t] = (total2 - total * total / window) / window
    return means, variances


def sma(values: Floats, window: int) -> Floats:
    """Mean of the newest `window` values.

    Returns:
        [T], unit of `values`; NaN before `window` bars have been seen.

    Source: house rule for the order of the sums, see `rolling_mean_variance`. On true range this is
    the ATR in its simple-average form.

    >>> sma(np.array([1.0, 3.0, 5.0]), 2)
    array([nan,  2.,  4.])
    """
    means, _ = rolling_mean_variance(values, window)
    return means


def std(values: Floats, window: int) -> Floats:
    """Population standard deviation of the newest `window` values.

    Returns:
        [T], unit of `values`; exactly 0 on a flat window, NaN where a value of it is not known.

    Source: house rule for the order of the sums, see `rolling_mean_variance`.

    >>> std(np.array([1.0, 3.0, 3.0]), 2)
    array([nan,  1.,  0.])
    """
    _, variances = rolling_mean_variance(values, window)
    deviations = np.full(len(values), math.nan)
    for t in range(len(values)):
        # Rounding can leave a variance a hair below 0; it is 0 then.
        if variances[t] > 0.0:
            deviations[t] = math.sqrt(variances[t])
        elif not math.isnan(variances[t]):
            deviations[t] = 0.0
    return deviations


def zscore(values: Floats, window: int) -> Floats:
    """Distance of a value from its window's mean, in population standard deviations.

    Args:
        values: [T], any unit.
        window: Bars, at least 2; the newest value is part of its own window.

    Returns:
        [T], unit-free; NaN before `window` bars have been seen and where the window is flat.

    Source: house rule for the order of the sums, see `rolling_mean_variance`.

    >>> zscore(np.array([1.0, 3.0, 3.0]), 2)
    array([nan,  1., nan])
    """
    means, variances = rolling_mean_variance(values, window)
    scores = np.empty(len(values))
    for t in range(len(values)):
        # Rounding can leave a variance a hair below 0; like 0 it measures nothing.
        if variances[t] > 0.0:
            scores[t] = (values[t] - means[t]) / math.sqrt(variances[t])
        else:
            scores[t] = math.nan
    return scores


def highest(values: Floats, window: int) -> Floats:
    """Largest of the newest `window` values.

    Args:
        values: [T], any unit; NaN where not known.
        window: Bars, at least 1.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: Richard Donchian's channel; blocks after van Herk (1992), Gil and Werman (1993).

    >>> highest(np.array([3.0, 1.0, 2.0, np.nan, 5.0]), 2)
    array([nan,  3.,  2., nan, nan])
    """
    extremes = np.full(len(values), math.nan)
    # The largest of the last n bars before a block, by n; of none it is below all.
    left = np.full(min(window, len(values)), -math.inf)
    for start in range(0, len(values), window):
        for n in range(1, min(window, start + 1)):
            left[n] = larger(left[n - 1], values[start - n])
        right = -math.inf
        for t in range(start, min(start + window, len(values))):
            right = larger(right, values[t])
            if t >= window - 1:
                extremes[t] = larger(left[window - 1 - (t - start)], right)
    return extremes


def lowest(values: Floats, window: int) -> Floats:
    """Smallest of the newest `window` values; all else as `highest`.

    >>> lowest(np.array([3.0, 1.0, 2.0, 4.0]), 2)
    array([nan,  1.,  1.,  2.])
    """
    return -highest(-values, window)


def larger(first: float, second: float) -> float:
    """The larger of two numbers; NaN where one of them is.

    >>> larger(1.0, 2.0), larger(float("nan"), 2.0), larger(1.0, float("nan"))
    (2.0, nan, nan)
    """
    return first if first > second or math.isnan(first) else second


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
