"""Close location: where in its range a bar closed."""

import math

import numpy as np

from strategy.genes import Floats


def close_location(high: Floats, low: Floats, close: Floats) -> Floats:
    """The close's place between low (0) and high (1).

    Args:
        high: [T], price.
        low: [T], price.
        close: [T], price.

    Returns:
        [T], fraction from 0 to 1; NaN where high equals low.

    Source: the bracket term of Marc Chaikin's accumulation/distribution line, on a 0 to 1 scale.

    >>> close_location(np.array([4.0, 5.0]), np.array([2.0, 5.0]), np.array([3.5, 5.0]))
    array([0.75,  nan])
    """
    locations = np.empty(len(close))
    for t in range(len(close)):
        if high[t] == low[t]:
            locations[t] = math.nan
        else:
            locations[t] = (close[t] - low[t]) / (high[t] - low[t])
    return locations
