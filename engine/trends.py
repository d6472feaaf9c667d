"""Adaptive trends of many series at once."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.cpu.threads import Threads
from engine.cpu.trends import Trend, TrendState, trend_of
from engine.machine import available_cores

Floats = npt.NDArray[np.float64]


def trends(
    closes: Sequence[Floats],
    parameters: Sequence[int],
    *,
    is_script: bool = False,
    states: Sequence[TrendState | None] | None = None,
    threads: int | None = None,
) -> list[Trend]:
    """The adaptive trends of several series with the same parameters.

    Args:
        closes: Each [T], whole series.
        parameters: The eighteen whole numbers of `adaptive_trend`.
        is_script: Whether to take `adaptive_trend_script`.
        states: Where each goes on, or None for its first bar; a state must be that of the same
            parameters and of the same closes up to its bar.
        threads: Cores; all when None.

    >>> (found,) = trends([np.linspace(100.0, 200.0, 60)], (28,) * 6 + (1, 20, 3, 0, 10, -10)
    ...     + (10,) * 6)
    >>> round(float(found.row[-1]), 6), found.votes[:, -1].tolist()
    (0.282371, [0, 0, 0, 0, 0, 100])
    """
    given = [None] * len(closes) if states is None else states
    found: dict[int, Trend] = {}
    workers = Threads(threads or available_cores())

    def work(thread: int) -> None:
        for number in range(thread, len(closes), min(workers.count, len(closes))):
            found[number] = trend_of(closes[number], parameters, is_script, given[number])

    if closes:
        workers.run(work, len(closes))
    return [found[number] for number in range(len(closes))]


__all__ = ["Trend", "TrendState", "trends"]
