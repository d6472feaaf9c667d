"""Mean and variance of a sliding window, by sums anchored inside the window.

The series is cut into blocks of `window` bars. A window lies either exactly on one block or across
two neighbours, and its sums start from a value that it contains, so that what cancels is never
larger than the window's own spread. A flat window has a variance of exactly 0.
"""

import math
from collections.abc import Sequence

from strategy.errors import IndicatorError


def rolling_mean_variance(values: Sequence[float], window: int) -> tuple[list[float], list[float]]:
    """Mean and population variance over the newest `window` bars, at every bar.

    Args:
        values: [T], any unit.
        window: Bars, at least 2.

    Returns:
        Mean [T] in the unit of `values` and variance [T] in its square; both NaN before `window`
        bars have been seen.

    Raises:
        IndicatorError: When `window` is below 2.

    Source: house rule, engine/README.md section 3. Against exact rational arithmetic the standard
    deviation is right to 1e-13 on hard series, where running sums are off by up to 3e-3.

    >>> rolling_mean_variance([1.0, 3.0, 5.0], 2)
    ([nan, 2.0, 4.0], [nan, 1.0, 1.0])
    """
    if window < 2:
        raise IndicatorError(f"a rolling window needs at least 2 bars, got {window}")
    means = [math.nan] * len(values)
    variances = [math.nan] * len(values)
    for start in range(0, len(values), window):
        anchor = values[start]
        left = _backward_sums(values, start, window, anchor)
        sum1 = sum2 = 0.0
        for t in range(start, min(start + window, len(values))):
            d = values[t] - anchor
            # The right part runs forwards from its own first term.
            sum1 = d if t == start else sum1 + d
            sum2 = d * d if t == start else sum2 + d * d
            reaches_left = window - 1 - (t - start)
            if reaches_left == 0:
                total1, total2 = sum1, sum2
            elif start == 0:
                continue
            else:
                left1, left2 = left[reaches_left - 1]
                total1, total2 = left1 + sum1, left2 + sum2
            means[t] = anchor + total1 / window
            variances[t] = (total2 - total1 * total1 / window) / window
    return means, variances


def _backward_sums(
    values: Sequence[float], start: int, window: int, anchor: float
) -> list[tuple[float, float]]:
    """Sums of d and d * d over the last 1, 2, ... bars of the block that ends before `start`."""
    if start == 0:
        return []
    sum1 = values[start - 1] - anchor
    sum2 = sum1 * sum1
    sums = [(sum1, sum2)]
    for t in range(start - 2, start - window, -1):
        d = values[t] - anchor
        sum1 = sum1 + d
        sum2 = sum2 + d * d
        sums.append((sum1, sum2))
    return sums
