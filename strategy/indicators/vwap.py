"""Volume-weighted average price of a session."""

import math

import numpy as np

from strategy.genes import Floats, Ints


def vwap(typical: Floats, volume: Floats, sessions: Ints) -> Floats:
    """The session's average price so far, each bar weighted by its volume.

    Args:
        typical: [T], a price that stands for the bar.
        volume: [T], units.
        sessions: [T], number of the session that holds the bar.

    Returns:
        [T], price; NaN where nothing was traded yet, and in the first session, whose beginning
        the file may lack.

    Source: the common definition, with the mean of high, low and close for a bar's price.

    >>> vwap(np.array([9.0, 1.0, 4.0]), np.array([1.0, 2.0, 1.0]), np.array([0, 1, 1]))
    array([nan,  1.,  2.])
    """
    averages = np.full(len(typical), math.nan)
    traded = 0.0
    units = 0.0
    for t in range(1, len(typical)):
        if sessions[t] == sessions[0]:
            continue
        if sessions[t] != sessions[t - 1]:
            traded = typical[t] * volume[t]
            units = volume[t]
        else:
            traded = traded + typical[t] * volume[t]
            units = units + volume[t]
        if units != 0.0:
            averages[t] = traded / units
    return averages
