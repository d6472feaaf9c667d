"""Indicators: each family in one file, with its formulas, sources and readable loops.

The loops here are the oracle's: one bar at a time, causal, as they read in plain Python and in the
same words compiled. Fast forms live beside the other rows of each engine backend and must equal
these bit for bit; an indicator without one is computed by its loop everywhere.
"""

from collections.abc import Callable

from strategy.genes import Floats

Loop = Callable[..., Floats]


def one_less(bars: int) -> int:
    """Warm-up of a window: it is known with its last bar."""
    return bars - 1
