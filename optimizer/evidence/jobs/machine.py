"""The executor of this machine: its cores and its GPU."""

from collections.abc import Generator, Sequence
from typing import Any

from engine.batch import Engine
from engine.devices import choose_strategy_backend
from engine.indicators.individuals import count_rows
from engine.memory_plan import count_apart
from engine.runtime.machine import available_cores
from engine.workload import GPU_START_S
from optimizer.evidence.jobs.asking import AskingWorkers
from optimizer.evidence.jobs.estimates import MOST_ROWS
from optimizer.evidence.jobs.executor import MachineShare, limit
from optimizer.evidence.jobs.in_step import InStepSetup, Job, OnWindows, Result
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.run.task import Task

PROCESS_S = 0.5
"""Until a process is ready for its first search, on a free core."""

MOST_PAIRS = 2**20
"""Of individuals and windows that searches of a wave ask for at once: 256 MB of accumulators."""

MOST_ENGINES = 8
"""Of a wave whose markets have an engine each, as of strategies with orders, which take turns at
Python's lock: null searches of two examples took 0.30 and 0.31 s alone on an H200, 0.22 and 0.25 by
eight, 0.23 and 0.39 by 32."""


class ThisMachine:
    """This process, or one a core, which come from a pool and go back to it.

    The fastest way is taken. On a GPU one engine evaluates for all searches: for parts of the bars
    that of the run, for null markets one of a wave, also where the run's own search was so short
    that ``"auto"`` left it to the cores. On cores this process searches one after the other where
    there is little to do, or its engine has the rows already.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def check(self, task: Task) -> None:
        """All searches can be made here."""

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        engine: Engine | None = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """See `Executor`; nothing begins before a core is free for it."""
        return self._choose(setup, len(jobs), engine, used).results(jobs)

    def _choose(
        self, setup: InStepSetup[Any, Any], jobs: int, engine: Engine | None, used: str | None
    ) -> Workers | AskingWorkers[Any, Any]:
        threads = available_cores(setup.task.config.threads)
        cores = max(1, min(threads, jobs))
        beside_s = PROCESS_S + -(-jobs // cores) * setup.seconds(threads // cores)
        if isinstance(setup, OnWindows):
            if chosen := self._choose_engine(setup.on(engine), jobs, threads, beside_s):
                return chosen
        elif (
            used is not None
            and GPU_START_S + jobs * setup.seconds_on_gpu(threads) < beside_s
            and (device := find_gpu(setup.task, used)) is not None
        ):
            return share_device(setup, jobs, device, self._pool)
        elif not setup.task.spec.own and jobs * setup.seconds(threads) < beside_s:
            # One after the other, on all cores: done before processes exist.
            cores = 1
        return Workers(MachineShare.of_cores(setup.task, cores).give(setup).run, cores, self._pool)

    def _choose_engine(
        self, setup: OnWindows[Any], jobs: int, threads: int, beside_s: float
    ) -> Workers | AskingWorkers[Any, Any] | None:
        """Executor with the engine of a setup, where that is done before `beside_s`; else None."""
        engine = setup.engine
        if engine is None or engine.n_parts > 1:
            return None
        if engine.device == "cpu":
            return (
                Workers(setup.run, 1, self._pool)
                if jobs * setup.seconds(threads) < beside_s
                else None
            )
        # A run that was killed after its last search goes on with none left.
        size = min(size_wave(setup), jobs)
        several = max(1, min(threads - 1, size))
        # With one, all are searched in step here, before processes exist.
        seconds = {several: PROCESS_S + jobs * setup.seconds_on_gpu(several + 1)}
        seconds[1] = jobs * setup.seconds_on_gpu(2)
        count = min(seconds, key=lambda count: seconds[count])
        if seconds[count] < beside_s:
            return AskingWorkers(setup, count, size, self._pool)
        return None


def find_gpu(task: Task, used: str) -> str | None:
    """GPU on which null searches of a run may be evaluated; None without one.

    Args:
        task: Of the run; with the device ``"auto"`` any GPU of this machine may be used.
        used: Device of the run's own search, whose GPU comes first.
    """
    if used != "cpu":
        return used
    if task.config.device != "auto":
        return None
    choice = choose_strategy_backend(task.spec, "auto", costs=task.costs)
    return None if choice.name == "cpu" else choice.label


def size_wave(setup: OnWindows[Any]) -> int:
    """Number of searches on parts of an engine's bars that it answers together."""
    pairs = setup.task.config.population * max(map(len, setup.windows))
    return max(MOST_PAIRS // pairs, 1)


def share_device(
    setup: InStepSetup[Job, Result], jobs: int, device: str, pool: Pool
) -> AskingWorkers[Job, Result]:
    """Executor of searches on markets of their own that share a device.

    One engine of this process evaluates for as many markets in step as memory has room for, which
    all cores but one breed and choose.
    """
    setup = limit(setup, device=device)
    task, searched = setup.task, setup.searched
    pairs = task.config.population * sum(map(len, searched))
    size = max(1, min(count_markets(task, len(searched)), jobs, MOST_PAIRS // pairs))
    count = max(1, min(available_cores(task.config.threads) - 1, size))
    return AskingWorkers(setup, count, size, pool)


def count_markets(task: Task, searches: int = 1) -> int:
    """Number of markets that the task's device has room for by now, each searched so often.

    Their rows lie there beside the lists of an engine.
    """
    series = task.markets.searched
    n_rows = searches * int(task.workload().row_bars / sum(map(len, series)))
    n_rows = min(n_rows, count_rows(task.spec, MOST_ROWS))
    maker = task.device().maker
    count = count_apart(maker, series, n_rows, task.config.memory)
    is_one = maker.of_markets(task.spec, series, task.costs, len(series)) is not None
    return count if maker.meets_own or is_one else min(count, MOST_ENGINES)
