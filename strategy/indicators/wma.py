"""Mean of the newest values, weighted by how new they are."""

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

    Source: house rule for the order of the sums: those of `rolling_mean_variance`, and beside the
    sum of the differences from the anchor one that adds each as often as it counts.

    >>> wma(np.array([1.0, 4.0, 7.0]), 2)
    array([nan,  3.,  6.])
    """
    weights = window * (window + 1) // 2
    averages = np.full(len(values), math.nan)
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
            total = (weighted_left[n] + n * right) + weighted_right
            averages[t] = anchor + total / weights
    return averages
