"""On-balance volume."""

import numpy as np

from strategy.genes import Floats


def obv(close: Floats, volume: Floats) -> Floats:
    """Volume added on a rise of the close and taken away on a fall.

    Args:
        close: [T], price.
        volume: [T], units.

    Returns:
        [T], units; the first bar's own volume at bar 0.

    Source: Joseph Granville.

    >>> obv(np.array([1.0, 2.0, 2.0, 1.0]), np.array([10.0, 5.0, 7.0, 3.0]))
    array([10., 15., 15., 12.])
    """
    balances = np.empty(len(close))
    balance = volume[0]
    balances[0] = balance
    for t in range(1, len(close)):
        if close[t] > close[t - 1]:
            balance = balance + volume[t]
        elif close[t] < close[t - 1]:
            balance = balance - volume[t]
        balances[t] = balance
    return balances
