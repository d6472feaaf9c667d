"""Simple moving average."""

from collections.abc import Sequence

from strategy.indicators.rolling import rolling_mean


def sma(values: Sequence[float], window: int) -> list[float]:
    """Mean of the newest `window` values.

    Args:
        values: [T], any unit.
        window: Bars, at least 2.

    Returns:
        [T], unit of `values`; NaN before `window` bars have been seen.

    Raises:
        IndicatorError: When `window` is below 2.

    Source: house rule for the order of the sums, see `rolling_mean`. On true range this is the
    ATR in its simple-average form.

    >>> sma([1.0, 3.0, 5.0], 2)
    [nan, 2.0, 4.0]
    """
    return rolling_mean(values, window)
