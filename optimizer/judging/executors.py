"""Executors of whole searches: the cores of this machine, or others that a caller gives."""

from dataclasses import replace
from typing import Protocol

from engine.batch import Engine
from engine.devices import choose_backend
from engine.runtime.free_memory import free_host_bytes
from engine.runtime.gpus import can_share_gpus
from engine.runtime.machine import available_cores
from engine.workload import GPU_START_S
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.folds import FoldSetup
from optimizer.judging.null import NullSetup
from optimizer.judging.schedule import NullScheduleSetup, StepSetup
from optimizer.judging.verdict import ROWS_OF_ONE
from optimizer.judging.workers import Executor, Pool, Workers
from optimizer.run.task import Task

SearchSetup = NullSetup | FoldSetup | StepSetup | NullScheduleSetup
"""What repeats the search of a task."""

PROCESS_S = 0.5
"""Until a process is ready for its first search, on a free core."""

GPU_PROCESSES = 4
"""That share a GPU, each with an engine of its own."""

CONTEXT_BYTES = 2**30
"""Of a GPU that a process takes beside its rows, for CUDA itself and kernels."""


class Executors(Protocol):
    """Executors of searches; they decide no result."""

    def check(self, task: Task) -> None:
        """Refuse a task whose searches cannot be made there, before any work.

        Raises:
            ConfigError: When they cannot.
        """
        ...

    def executor(
        self,
        setup: SearchSetup,
        jobs: int,
        *,
        first: int | None = None,
        engine: Engine | None = None,
    ) -> Executor:
        """Executor of the searches of a setup.

        Args:
            setup: Its task limits threads and memory.
            jobs: How many searches there will be.
            first: With so many the rest may be superfluous; None where all are wanted.
            engine: Of this process and of the same bars, which may be used.
        """
        ...


class ThisMachine:
    """This process, or one a core, which come from a pool and go back to it.

    This process searches one after the other where that is done sooner: little, and splits of the
    bars, because its engine has the rows already and may have a GPU. Null searches are evaluated on
    a GPU where that is done sooner than on all cores.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def check(self, task: Task) -> None:
        """All searches can be made here."""

    def executor(
        self,
        setup: SearchSetup,
        jobs: int,
        *,
        first: int | None = None,
        engine: Engine | None = None,
    ) -> Executor:
        """As `Executors`; nothing begins before a core is free for it, so `first` means nothing."""
        config = setup.task.config
        threads = config.threads or available_cores()
        cores = max(1, min(threads, jobs))
        beside_s = PROCESS_S + -(-jobs // cores) * setup.seconds(threads // cores)
        if isinstance(setup, FoldSetup | StepSetup):
            has_rows = engine is not None and engine.n_parts == 1
            if has_rows and jobs * setup.seconds(threads, engine) < beside_s:
                return Workers(replace(setup, engine=engine), 1)
        elif (
            engine is not None
            and engine.device != "cpu"
            and GPU_START_S + jobs * setup.seconds_on_gpu(threads) < beside_s
        ):
            return share_device(setup, jobs, engine.device, self._pool)
        elif not setup.task.spec.own and jobs * setup.seconds(threads) < beside_s:
            # One after the other, on all cores: before processes are there it is done.
            cores = 1
        room = (config.memory or free_host_bytes() // 2) // cores
        settings = {"threads": threads // cores, "memory": room, "device": "cpu"}
        alone = replace(setup.task, config=config.model_copy(update=settings))
        return Workers(replace(setup, task=alone), cores, self._pool)


def share_device(
    setup: NullSetup | NullScheduleSetup, jobs: int, device: str, pool: Pool
) -> Executor:
    """Executor of null searches that share a device.

    One engine of this process evaluates for as many searches in step as memory has room for, which
    all cores but one breed and choose. Null schedules have processes with an engine each.
    """
    config = setup.task.config.model_copy(update={"device": device})
    task = replace(setup.task, config=config)
    room, fit, of_one = measure_room(task)
    cores = config.threads or available_cores()
    count, size = max(1, min(cores - 1, jobs)), max(1, min(fit, jobs))
    if isinstance(setup, NullScheduleSetup):
        count, size = min(GPU_PROCESSES, jobs, room // (of_one + CONTEXT_BYTES)), 1
        if count < 2 or not can_share(device):
            count = 1
        cores, room = max(cores // count, 1), room // count
    settings = {"threads": cores, "memory": room}
    task = replace(task, config=config.model_copy(update=settings))
    if isinstance(setup, NullSetup):
        return AskingWorkers(replace(setup, task=task), min(count, size), size, pool)
    return Workers(replace(setup, task=task), count, pool)


def can_share(device: str) -> bool:
    """Whether several processes may use a device of the engine at once."""
    return can_share_gpus(choose_backend(device).devices)


def measure_room(task: Task) -> tuple[int, int, int]:
    """Bytes that searches may take on the task's device, how many fit, and the bytes of one.

    Those that fit have their rows there beside the lists of an engine: rows that have no place are
    made again and again.
    """
    series, maker = task.markets.searched, task.device().maker
    allowed = task.config.memory or int(maker.free_share * maker.free_bytes())
    # Those of a strategy that is no fast case come and go with a population.
    n_rows = int(task.workload().row_bars / sum(map(len, series)))
    n_rows = n_rows or ROWS_OF_ONE * task.config.population
    of_one = sum(maker.series_bytes([bars]) + n_rows * maker.slot_bytes([bars]) for bars in series)
    return allowed, maker.room(allowed, 0).rows // of_one, of_one
