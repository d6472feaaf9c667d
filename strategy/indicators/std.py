"""Standard deviation of the newest values."""

import math

import numpy as np

from strategy.genes import Floats
from strategy.indicators.rolling import rolling_mean_variance


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
