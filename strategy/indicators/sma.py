"""Simple moving average."""

from strategy.genes import Floats
from strategy.indicators.rolling import rolling_mean_variance


def sma(values: Floats, window: int) -> Floats:
    """Mean of the newest `window` values.

    Args:
        values: [T], any unit.
        window: Bars, at least 2.

    Returns:
        [T], unit of `values`; NaN before `window` bars have been seen.

    Source: house rule for the order of the sums, see `rolling_mean_variance`. On true range this is
    the ATR in its simple-average form.

    >>> import numpy as np
    >>> sma(np.array([1.0, 3.0, 5.0]), 2)
    array([nan,  2.,  4.])
    """
    means, _ = rolling_mean_variance(values, window)
    return means
