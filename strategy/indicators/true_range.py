"""True range: the distance that price covered since the previous close."""

import numpy as np

from strategy.genes import Floats


def true_range(high: Floats, low: Floats, close: Floats) -> Floats:
    """The largest of the bar's range and its two distances from the previous close.

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], price; known from bar 0, which has no previous close and takes high minus low.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> true_range(np.array([10.0, 12.0]), np.array([8.0, 11.0]), np.array([9.0, 11.5]))
    array([2., 3.])
    """
    ranges = np.empty(len(close))
    ranges[0] = high[0] - low[0]
    for t in range(1, len(close)):
        ranges[t] = max(
            max(high[t] - low[t], abs(high[t] - close[t - 1])),
            abs(low[t] - close[t - 1]),
        )
    return ranges
