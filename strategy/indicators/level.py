"""Level: a source as it is, so that a comparison can read it."""

from strategy.genes import Floats


def level(values: Floats) -> Floats:
    """The values themselves.

    Args:
        values: [T], any unit.

    Returns:
        [T], the same numbers; known wherever they are.

    Source: house rule.

    >>> import numpy as np
    >>> level(np.array([1.0, 2.5]))
    array([1. , 2.5])
    """
    return values
