"""Adaptive trends of many series at once."""

from collections.abc import Sequence

from data.checks import Floats
from engine.indicators.cpu.trends import Trend, TrendForm, weigh_lanes
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.lru_cache import ArrayCache
from engine.runtime.machine import available_cores


def trends(
    closes: Sequence[Floats],
    parameters: Sequence[int],
    *,
    is_script: bool = False,
    threads: int | None = None,
) -> list[Trend]:
    """The adaptive trends of several series with the same parameters.

    Args:
        closes: Each [T], whole series.
        parameters: The eighteen whole numbers of `adaptive_trend`.
        is_script: Whether to take `adaptive_trend_script`.
        threads: Cores; all when None.

    >>> import numpy as np
    >>> (found,) = trends([np.linspace(100.0, 200.0, 60)], (28,) * 6 + (1, 20, 3, 0, 10, -10)
    ...     + (10,) * 6)
    >>> round(float(found.row[-1]), 6), found.votes[:, -1].tolist()
    (0.282371, [0, 0, 0, 0, 0, 100])
    """
    by_number: dict[int, Trend] = {}
    # Sides of a series serve once.
    workers, form = Threads(available_cores(threads)), TrendForm(ArrayCache(0))
    groups = _group_alike(closes)

    def work(thread: int) -> None:
        for some in groups[thread :: min(workers.count, len(groups))]:
            own, tuples = [closes[k] for k in some], [parameters] * len(some)
            words = [form.find_words(close, parameters, is_script=is_script) for close in own]
            made = weigh_lanes(own, tuples, words, is_script=is_script, has_votes=True)
            by_number.update(zip(some, made, strict=True))

    if groups:
        workers.run(work, len(groups))
    return [by_number[number] for number in range(len(closes))]


def _group_alike(closes: Sequence[Floats]) -> list[list[int]]:
    """Series by number, up to four together that are of one length."""
    alike: dict[int, list[int]] = {}
    for number, close in enumerate(closes):
        alike.setdefault(len(close), []).append(number)
    return [
        some[begin : begin + LANES]
        for some in alike.values()
        for begin in range(0, len(some), LANES)
    ]


def rows(
    closes: Sequence[Floats],
    parameters: Sequence[int],
    *,
    is_script: bool = False,
    device: str = "cpu",
    threads: int | None = None,
) -> list[Floats]:
    """The rows [T] of the adaptive trends of several series, which are the same on every device.

    Args:
        closes: Each [T], whole series.
        parameters: The eighteen whole numbers of `adaptive_trend`.
        is_script: Whether to take `adaptive_trend_script`.
        device: ``cpu``, or ``cuda`` with a number or without one.
        threads: Cores; all when None.
    """
    if device == "cpu" or not closes:
        by_series = trends(closes, parameters, is_script=is_script, threads=threads)
        return [trend.row for trend in by_series]
    from engine.indicators.cuda.trends import compute_trend_rows

    workers = Threads(available_cores(threads))
    return compute_trend_rows(closes, parameters, workers, is_script=is_script, device=device)


__all__ = ["Trend", "rows", "trends"]
