"""Prices that stand for a whole bar: means of its high, low, close and open."""

from strategy.genes import Floats


def hl2(high: Floats, low: Floats) -> Floats:
    """The middle of a bar, (high + low) / 2, [T], price.

    >>> import numpy as np
    >>> hl2(np.array([3.0]), np.array([1.0]))
    array([2.])
    """
    return (high + low) / 2.0


def hlc3(high: Floats, low: Floats, close: Floats) -> Floats:
    """The typical price, (high + low + close) / 3, [T], price.

    >>> import numpy as np
    >>> hlc3(np.array([4.0]), np.array([1.0]), np.array([1.0]))
    array([2.])
    """
    return ((high + low) + close) / 3.0


def ohlc4(open: Floats, high: Floats, low: Floats, close: Floats) -> Floats:
    """The mean price, (open + high + low + close) / 4, [T], price.

    >>> import numpy as np
    >>> ohlc4(*np.array([[1.0], [3.0], [1.0], [3.0]]))
    array([2.])
    """
    return (((open + high) + low) + close) / 4.0
