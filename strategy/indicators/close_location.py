"""Close location: where in its range a bar closed."""

import math
from collections.abc import Sequence


def close_location(
    high: Sequence[float], low: Sequence[float], close: Sequence[float]
) -> list[float]:
    """The close's place between low (0) and high (1).

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], fraction from 0 to 1; NaN where high equals low.

    Source: the bracket term of Marc Chaikin's accumulation/distribution line, on a 0 to 1 scale.

    >>> close_location([4.0, 5.0], [2.0, 5.0], [3.5, 5.0])
    [0.75, nan]
    """
    return [
        math.nan if high[t] == low[t] else (close[t] - low[t]) / (high[t] - low[t])
        for t in range(len(close))
    ]
