"""Standard score of a value among the newest ones."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rolling import rolling_mean_variance


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
