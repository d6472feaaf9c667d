"""True range: the distance that price covered since the previous close."""

from collections.abc import Sequence


def true_range(high: Sequence[float], low: Sequence[float], close: Sequence[float]) -> list[float]:
    """The largest of the bar's range and its two distances from the previous close.

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], price; known from bar 0, which has no previous close and takes high minus low.

    Source: J. Welles Wilder, New Concepts in Technical Trading Systems (1978).

    >>> true_range([10.0, 12.0], [8.0, 11.0], [9.0, 11.5])
    [2.0, 3.0]
    """
    ranges = [high[0] - low[0]]
    for t in range(1, len(close)):
        ranges.append(
            max(
                max(high[t] - low[t], abs(high[t] - close[t - 1])),
                abs(low[t] - close[t - 1]),
            )
        )
    return ranges
