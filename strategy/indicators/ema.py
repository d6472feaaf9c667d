"""Exponential moving average, seeded with the first value."""

import math
from collections.abc import Sequence

from strategy.errors import IndicatorError


def ema(values: Sequence[float], span: int) -> list[float]:
    """Exponential moving average: y[t] = y[t-1] + alpha * (x[t] - y[t-1]).

    This form keeps a constant series exactly constant.

    Args:
        values: [T], any unit, finite.
        span: Bars, at least 1; alpha = 2 / (span + 1).

    Returns:
        [T], unit of `values`; NaN before `span` bars have been seen.

    Raises:
        IndicatorError: When `span` is below 1.

    Source: house rule; equals pandas ``ewm(span=span, adjust=False).mean()`` up to rounding.

    >>> ema([1.0, 2.0, 3.0], 3)
    [nan, nan, 2.25]
    """
    if span < 1:
        raise IndicatorError(f"ema needs a span of at least 1 bar, got {span}")
    alpha = 2.0 / (span + 1.0)
    average = values[0]
    averages = [average]
    for value in values[1:]:
        average = average + alpha * (value - average)
        averages.append(average)
    known_from = min(span - 1, len(values))
    return [math.nan] * known_from + averages[known_from:]
