"""Unknown values: the newest known one in their place, or a number, and bars since then."""

import math

import numpy as np

from strategy.genes import Floats


def last_known(values: Floats) -> Floats:
    """The newest known value of a row, this bar's or an earlier one's.

    Args:
        values: [T], any unit; NaN where not known.

    Returns:
        [T], unit of `values`; NaN before the first known one.

    >>> last_known(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([nan,  1.,  1.,  3.])
    """
    newest = math.nan
    kept = np.empty(len(values))
    for t in range(len(values)):
        if not math.isnan(values[t]):
            newest = values[t]
        kept[t] = newest
    return kept


def bars_unknown(values: Floats) -> Floats:
    """Bars since a row was last known.

    Args:
        values: [T], any unit; NaN where not known.

    Returns:
        [T], bars; 0 where it is known, NaN before that.

    >>> bars_unknown(np.array([np.nan, 1.0, np.nan, np.nan]))
    array([nan,  0.,  1.,  2.])
    """
    since = math.nan
    ages = np.empty(len(values))
    for t in range(len(values)):
        since = since + 1.0 if math.isnan(values[t]) else 0.0
        ages[t] = since
    return ages


def filled(values: Floats, number: float) -> Floats:
    """A row with a number where it is not known.

    Args:
        values: [T], any unit; NaN where not known.
        number: A whole one, such as 0.

    Returns:
        [T], unit of `values`.

    >>> filled(np.array([np.nan, 1.5]), 0)
    array([0. , 1.5])
    """
    whole = np.empty(len(values))
    for t in range(len(values)):
        whole[t] = number if math.isnan(values[t]) else values[t]
    return whole
