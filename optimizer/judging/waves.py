"""Null searches in waves: several markets searched in step by this process, on its GPU."""

import logging
from collections.abc import Generator, Iterable

from engine.devices import Device
from optimizer.judging.null import NullJob, NullSearch, NullSetup
from optimizer.judging.verdict import ROWS_OF_ONE
from optimizer.run.task import Task

log = logging.getLogger(__name__)

MOST_MARKETS = 32
"""Of a wave: so many individuals fill a GPU, and no more of them are lost to an early stop."""


def plan_waves(task: Task, jobs: int) -> int:
    """Number of null searches, of so many, that are made together on the task's device; logged."""
    device = task.device()
    size = min(jobs, MOST_MARKETS, count_markets_that_fit(task, device))
    log.info(
        "null searches: %d at a time on %s, which has room for many markets", size, device.label
    )
    return size


def count_markets_that_fit(task: Task, device: Device) -> int:
    """Markets whose series, and the rows that a search asks for, memory holds; at least one."""
    series, maker = task.markets.searched, device.maker
    allowed = task.config.memory or int(maker.free_share * maker.free_bytes())
    n_rows = task.workload().row_bars / sum(map(len, series))
    # Those of a strategy that is no fast case come and go with a population.
    n_rows = int(n_rows) or ROWS_OF_ONE * task.config.population
    n_bytes = sum(maker.series_bytes([bars]) + n_rows * maker.slot_bytes([bars]) for bars in series)
    return max(1, allowed // n_bytes)


class Waves:
    """Makes null searches in this process, some of them together.

    Args:
        setup: Its task names the device.
        size: How many markets are searched together.
    """

    def __init__(self, setup: NullSetup, size: int) -> None:
        self._setup, self._size = setup, size

    def results(self, jobs: Iterable[NullJob]) -> Generator[tuple[NullJob, NullSearch], None, None]:
        """Each job with what came of it, as they end; closing it ends what was begun."""
        pending = list(jobs)
        for begin in range(0, len(pending), self._size):
            yield from self._setup.run_in_step(pending[begin : begin + self._size])
