"""Earlier values, and moves since then."""

import math

import numpy as np

from strategy.genes import Floats


def lag(values: Floats, bars: int) -> Floats:
    """The value `bars` bars ago.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 1.

    Returns:
        [T], unit of `values`; NaN for the first `bars` bars.

    >>> lag(np.array([1.0, 2.0, 3.0]), 2)
    array([nan, nan,  1.])
    """
    earlier = np.full(len(values), math.nan)
    for t in range(bars, len(values)):
        earlier[t] = values[t - bars]
    return earlier


def roc(values: Floats, bars: int) -> Floats:
    """Change over `bars` bars, as a fraction of the earlier value.

    Args:
        values: [T], any unit; NaN where not known.
        bars: At least 1.

    Returns:
        [T], fraction; NaN for the first `bars` bars and where the earlier value is 0.

    Source: rate of change, here not times 100.

    >>> roc(np.array([1.0, 2.0, 0.0, 3.0]), 1)
    array([nan,  1., -1., nan])
    """
    changes = np.full(len(values), math.nan)
    for t in range(bars, len(values)):
        if values[t - bars] != 0.0:
            changes[t] = (values[t] - values[t - bars]) / values[t - bars]
    return changes
