"""How times are taken: what was repeated how often, on which machine."""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from strategy.genes import Floats


@dataclass(frozen=True)
class Timing:
    """One line of the bench.

    Args:
        what: What was timed.
        individuals: P.
        bars: Bars of all windows.
        p20_s: 20th percentile of the repeats, seconds.
        p50_s: Median, seconds.
        p80_s: 80th percentile, seconds.
        individual_bars_per_s: P times bars over the median.
    """

    what: str
    individuals: int
    bars: int
    p20_s: float
    p50_s: float
    p80_s: float
    individual_bars_per_s: float


def seconds_of(
    call: Callable[[], object], repeats: int, *, warm_up: bool = True
) -> Sequence[float]:
    """Time a call.

    Args:
        call: What to time.
        repeats: How often.
        warm_up: Whether it is called once before.

    Returns:
        Seconds of each repeat.
    """
    if warm_up:
        call()
    found: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def timing_of(what: str, genomes: Floats, bars: int, seconds: Sequence[float]) -> Timing:
    """One line of the bench from the seconds of its repeats."""
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return Timing(what, len(genomes), bars, p20, p50, p80, len(genomes) * bars / p50)


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
