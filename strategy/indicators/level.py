"""Level: a source as it is, so that a comparison can read it."""

from collections.abc import Sequence


def level(values: Sequence[float]) -> list[float]:
    """The values themselves.

    Args:
        values: [T], any unit.

    Returns:
        [T], the same numbers; known wherever they are.

    Source: house rule.

    >>> level([1.0, 2.5])
    [1.0, 2.5]
    """
    return list(values)
