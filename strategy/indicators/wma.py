"""Sums that weigh the newest values most: the weighted mean, and the end of a fitted line."""

import math

import numpy as np

from strategy.genes import Floats


def wma(values: Floats, window: int) -> Floats:
    """Weighted mean in which the oldest of `window` values counts once, the newest `window` times.

    Args:
        values: [T], any unit; NaN where not known.
        window: Bars, at least 2.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: house rule for the order of the sums, see `anchored_sums`.

    >>> wma(np.array([1.0, 4.0, 7.0]), 2)
    array([nan,  3.,  6.])
    """
    anchors, _, weighted = anchored_sums(values, window)
    weights = window * (window + 1) // 2
    averages = np.empty(len(values))
    for t in range(len(values)):
        averages[t] = anchors[t] + weighted[t] / weights
    return averages


def lsma(values: Floats, window: int) -> Floats:
    """End of the least-squares line through the newest `window` values.

    Args:
        values: [T], any unit; NaN where not known.
        window: Bars, at least 2.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: linear regression; its end is three weighted means less two plain ones.

    >>> lsma(np.array([1.0, 4.0, 7.0, 7.0]), 3)
    array([nan, nan, 7. , 7.5])
    """
    anchors, totals, weighted = anchored_sums(values, window)
    weights = window * (window + 1) // 2
    ends = np.empty(len(values))
    for t in range(len(values)):
        line = 3.0 * (weighted[t] / weights) - 2.0 * (totals[t] / window)
        ends[t] = anchors[t] + line
    return ends


def anchored_sums(values: Floats, window: int) -> tuple[Floats, Floats, Floats]:
    """Anchor of each window, and the plain and the weighted sum of differences from it, [T] each.

    The blocks are those of `rolling_mean_variance`. In the weighted sum the oldest value counts
    once, the newest `window` times. NaN before `window` bars and where a value is not known.
    """
    anchors = np.full(len(values), math.nan)
    totals = np.full(len(values), math.nan)
    weighted = np.full(len(values), math.nan)
    # Sums over the last n bars before a block, by n; over none they are 0.
    left = np.zeros(min(window, len(values)))
    weighted_left = np.zeros(len(left))
    for start in range(0, len(values), window):
        # The anchor of a block is its first value.
        anchor = values[start]
        # The left part of a window is summed backwards, from the bar before the block.
        for n in range(1, min(window, start + 1)):
            left[n] = left[n - 1] + (values[start - n] - anchor)
            weighted_left[n] = weighted_left[n - 1] + left[n]
        # The right part is summed forwards, from the first bar of the block.
        right = 0.0
        weighted_right = 0.0
        for t in range(start, min(start + window, len(values))):
            d = values[t] - anchor
            right = right + d
            weighted_right = weighted_right + (t - start + 1) * d
            if t < window - 1:
                continue
            # Each value of the right part counts once more for every value of the left one.
            n = window - 1 - (t - start)
            anchors[t] = anchor
            totals[t] = left[n] + right
            weighted[t] = (weighted_left[n] + n * right) + weighted_right
    return anchors, totals, weighted
