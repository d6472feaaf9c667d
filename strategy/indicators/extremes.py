"""Largest and smallest of the newest values.

The series is cut into blocks of the window's length. A window lies across at most two of them: its
extreme is that of the end of one and of the beginning of the next.
"""

import math

import numpy as np

from strategy.genes import Floats


def highest(values: Floats, window: int) -> Floats:
    """Largest of the newest `window` values.

    Args:
        values: [T], any unit; NaN where not known.
        window: Bars, at least 1.

    Returns:
        [T], unit of `values`; NaN before `window` bars and where a value of them is not known.

    Source: Richard Donchian's channel; blocks after van Herk (1992), Gil and Werman (1993).

    >>> highest(np.array([3.0, 1.0, 2.0, np.nan, 5.0]), 2)
    array([nan,  3.,  2., nan, nan])
    """
    extremes = np.full(len(values), math.nan)
    # The largest of the last n bars before a block, by n; of none it is below all.
    left = np.full(min(window, len(values)), -math.inf)
    for start in range(0, len(values), window):
        for n in range(1, min(window, start + 1)):
            left[n] = larger(left[n - 1], values[start - n])
        right = -math.inf
        for t in range(start, min(start + window, len(values))):
            right = larger(right, values[t])
            if t >= window - 1:
                extremes[t] = larger(left[window - 1 - (t - start)], right)
    return extremes


def lowest(values: Floats, window: int) -> Floats:
    """Smallest of the newest `window` values; all else as `highest`.

    >>> lowest(np.array([3.0, 1.0, 2.0, 4.0]), 2)
    array([nan,  1.,  1.,  2.])
    """
    return -highest(-values, window)


def larger(first: float, second: float) -> float:
    """The larger of two numbers; NaN where one of them is.

    >>> larger(1.0, 2.0), larger(float("nan"), 2.0), larger(1.0, float("nan"))
    (2.0, nan, nan)
    """
    return first if first > second or math.isnan(first) else second
