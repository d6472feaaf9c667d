"""Mean, deviation and score of a sliding window, by sums anchored inside the window.

The series is cut into blocks of `window` bars. A window lies either exactly on one block or across
two neighbours, and its sums start from a value that it contains, so that what cancels is never
larger than the window's own spread. A flat window has a variance of exactly 0.
"""

import math

import numpy as np

from strategy.genes import Floats


def rolling_mean_variance(values: Floats, window: int) -> tuple[Floats, Floats]:
    """Mean and population variance over the newest `window` bars, at every bar.

    Args:
        values: [T], any unit.
        window: Bars, at least 2.

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

    Args:
        values: [T], any unit.
        window: Bars, at least 2.

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

    Args:
        values: [T], any unit; NaN where not known.
        window: Bars, at least 2.

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
