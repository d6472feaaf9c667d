"""Standard score of a value among the newest ones."""

import math
from collections.abc import Sequence

from strategy.indicators.rolling import rolling_mean_variance


def zscore(values: Sequence[float], window: int) -> list[float]:
    """Distance of a value from its window's mean, in population standard deviations.

    Args:
        values: [T], any unit.
        window: Bars, at least 2; the newest value is part of its own window.

    Returns:
        [T], unit-free; NaN before `window` bars have been seen and where the window is flat.

    Raises:
        IndicatorError: When `window` is below 2.

    Source: house rule for the order of the sums, see `rolling_mean_variance`.

    >>> zscore([1.0, 3.0, 3.0], 2)
    [nan, 1.0, nan]
    """
    means, variances = rolling_mean_variance(values, window)
    return [
        # Rounding can leave a variance a hair below 0; like 0 it measures nothing.
        (value - mean) / math.sqrt(variance) if variance > 0.0 else math.nan
        for value, mean, variance in zip(values, means, variances, strict=True)
    ]
