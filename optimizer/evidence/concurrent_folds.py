"""Searches of folds beside the run's own search, on cores that would idle.

They need nothing from the run, only that it ends as planned. A separate process makes them, with
its own engine, so that neither waits for the other's Python.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.batch import Engine
from engine.devices import Device
from engine.memory_plan import BESIDE_SHARE
from engine.reference import Reference
from engine.replay.threads import Indices, Replayed, Replaying, replaying, sharing_order
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.machine import available_cores
from engine.runtime.shortage import offer_memory, withdraw_memory
from engine.workload import GPU_START_S, Workload
from optimizer.errors import ConfigError
from optimizer.evidence.folds import FoldSetup
from optimizer.evidence.jobs.executor import InStepSetup, Job, MachineShare, PartPick, Result
from optimizer.evidence.jobs.machine import ThisMachine
from optimizer.evidence.jobs.workers import JobProcess, Pool, WorkerLostError, Workers, pack
from optimizer.evidence.judged_run import Plan
from optimizer.run.problem import Evaluator
from optimizer.run.record import build_identity
from optimizer.run.runner import on_searched_bars
from optimizer.run.tables import hash_genomes
from optimizer.run.task import Place, Task, TaskEvaluator, local_evaluator
from optimizer.search.generation import Floats
from strategy.model import Strategy

PROCESSES = 4
"""With more, sending them bars takes as long as they save."""

PARTS_PER_PROCESS = 2

MOST_BARS = 100_000
"""Of all series, which are sent with each job; of more a job has one series."""

FEWEST_REPLAYS = 32
"""Individuals and windows: fewer are replayed before processes have their bars."""

FEWEST_INDIVIDUALS = 64
"""Of long series, for the same reason."""


class ReplayJob(NamedTuple):
    """Some individuals in some windows, with the bars of these."""

    individuals: Indices  # [N] their numbers
    genomes: Floats  # [N, G]
    numbers: tuple[int, ...]  # of the windows among all
    series: tuple[Bars, ...]
    windows: tuple[Window, ...]  # of these series


def replay_job(spec: Strategy, costs: Costs, threads: int, job: ReplayJob) -> list[Replayed]:
    """Replays of a job, with the numbers that its individuals and windows have here."""
    form = CompiledForm()
    reference = Reference(spec, job.series, job.windows, costs, form=form)
    if threads > 1:
        # All loops are compiled before threads ask for them.
        reference.replay(job.genomes[0], [0])
    with replaying(reference, job.genomes, threads) as replays:
        return [
            replayed._replace(
                individual=int(job.individuals[replayed.individual]),
                window=job.numbers[replayed.window],
            )
            for replayed in replays
        ]


@contextmanager
def replay_in_processes(
    pool: Pool, reference: Reference, genomes: Floats, threads: int
) -> Iterator[Iterator[Replayed]]:
    """`engine.replay.threads.replaying` by processes of a pool, if that is sooner done."""
    jobs = [] if threads == 1 else _list_jobs(reference, genomes)
    each = max(1, threads // PROCESSES) if _is_long(reference) else 1
    run = partial(replay_job, reference.spec, reference.costs, each)
    workers = Workers(run, min(PROCESSES, len(jobs)), pool)
    if workers.alone:
        with replaying(reference, genomes, threads) as replays:
            yield replays
        return
    with workers.begin(jobs) as done:
        yield chain.from_iterable(replays for _, replays in done)


def _is_long(reference: Reference) -> bool:
    return sum(map(len, reference.series)) > MOST_BARS


def _list_jobs(reference: Reference, genomes: Floats) -> list[ReplayJob]:
    """Jobs of processes: some individuals on all series, or all on one; none where threads do."""
    series, windows = reference.series, reference.windows
    everyone, all_numbers = np.arange(len(genomes)), tuple(range(len(windows)))
    if not _is_long(reference):
        if len(genomes) * len(windows) < FEWEST_REPLAYS:
            return []
        order = sharing_order(reference.spec, genomes)
        parts = np.array_split(order, min(len(order), PROCESSES * PARTS_PER_PROCESS))
        return [ReplayJob(part, genomes[part], all_numbers, series, windows) for part in parts]
    # An account with limits replays all series together; a few threads share rows.
    is_few = len(series) < PROCESSES or len(genomes) < FEWEST_INDIVIDUALS
    if is_few or reference.costs.has_limits:
        return []
    jobs = []
    for number, bars in enumerate(series):
        own = tuple(k for k in all_numbers if windows[k].series == number)
        alone = tuple(replace(windows[k], series=0) for k in own)
        if own:
            jobs.append(ReplayJob(everyone, genomes, own, (bars,), alone))
    return jobs


LOG = logging.getLogger(__name__)

FEWEST_CORES = 8
"""Of a host that makes folds beside the run: half of them are enough for its own search."""


def search_folds(
    setup: FoldSetup,
    threads: int,
    share: MachineShare | None,
    tell: Callable[[PartPick], object] = lambda _: None,
) -> None:
    """Tell picks of folds as they are found, with an engine and at most so many processes.

    Without a share of the machine it only imports the library of its device.
    """
    if share is None:
        setup.task.device()
        return
    setup, jobs = share.give(setup), range(len(setup.splits))
    with Pool() as pool:
        pool.start(min(threads, len(jobs)))
        engine = None if setup.task.config.device == "cpu" else setup.task.engine()
        for _, pick in ThisMachine(pool).submit(setup, jobs, engine=engine):
            tell(pick)


class ConcurrentFolds:
    """Folds that a process searches for by `search_folds`, as packed, once there is room."""

    def __init__(self, setup: FoldSetup, threads: int, packed: bytes, worker: JobProcess) -> None:
        self._setup, self._threads, self._packed, self._worker = setup, threads, packed, worker
        self.work, self._is_ended = setup.task.workload(), False
        self._searching: Future[None] | None = None
        # None comes last.
        self._picks: SimpleQueue[PartPick | None] = SimpleQueue()
        self._thread = ThreadPoolExecutor(1)
        # While the run prepares its own engine.
        self._thread.submit(worker.run, packed, None)

    def give_room(self, device: str, free_bytes: int) -> None:
        """Let the folds begin on a device with so much free memory for the run's engine.

        They end where memory runs short.
        """
        offer_memory(self._give_back)
        share = MachineShare(device, self._threads, int(BESIDE_SHARE * free_bytes))
        searching = self._thread.submit(self._worker.run, self._packed, share, self._picks.put)
        searching.add_done_callback(self._leave)
        self._searching = searching

    def is_same_search(self, setup: InStepSetup[Any, Any]) -> bool:
        """True if a setup finds the picks of these folds."""
        if self._searching is None or not isinstance(setup, FoldSetup):
            return False
        return _list_deciding(setup) == _list_deciding(self._setup)

    def results(
        self, jobs: Sequence[Any], submit: Callable[..., Iterable[tuple[Any, Any]]]
    ) -> Generator[tuple[Any, Any], None, None]:
        """Picks of some folds as they are found; `submit` makes failed ones after their process."""
        missing = list(jobs)
        try:
            while (pick := self._picks.get()) is not None:
                if pick.number in missing:
                    missing.remove(pick.number)
                    yield pick.number, pick
        finally:
            self.end()
        if missing:
            yield from submit(missing)

    def end(self) -> None:
        """End their process, whatever it does."""
        self._is_ended = True
        self._worker.kill()
        self._thread.shutdown()
        self._worker.end()
        withdraw_memory(self._give_back)

    def _leave(self, searching: Future[None]) -> None:
        """Say that no more picks come, or why; a GPU's memory is free once its process ended."""
        self._worker.kill()
        if (error := searching.exception()) is not None and not self._is_ended:
            LOG.warning("folds beside the run failed (%r), and are searched", error)
        self._picks.put(None)

    def _give_back(self) -> None:
        """Give their memory to the run; folds are searched after it."""
        LOG.warning("the device ran short of memory: folds are searched after the run")
        self.end()


class SpareCores(ThisMachine, Place):
    """This machine, whose spare cores search for the folds of a plan during the run's search.

    Leaving it ends running folds. Nothing begins on few cores, or with limited memory or time.
    """

    def __init__(self, plan: Plan) -> None:
        self._ends = ExitStack()
        super().__init__(self._ends.enter_context(Pool()))
        self._plan = plan
        self._begun: ConcurrentFolds | None = None
        self._replaying: Replaying = replaying

    def __enter__(self) -> "SpareCores":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def begin(self, task: Task, warm_start: Floats | None) -> None:
        """Begin a process for the folds of the run."""
        cores = available_cores(task.config.threads)
        is_limited = task.config.memory is not None or task.config.max_seconds is not None
        if cores < FEWEST_CORES or is_limited:
            return
        # They are ready when the search is over.
        self._pool.start(PROCESSES + 1)
        self._replaying = partial(replay_in_processes, self._pool)
        planned = on_searched_bars(task)
        try:
            splits = self._plan.split_walks(planned)
        except ConfigError:
            # The judgement reports it.
            return
        setup, threads = FoldSetup(planned, splits, warm_start=warm_start), max(cores // 2, 1)
        if splits and (packed := pack(partial(search_folds, setup, threads))):
            with suppress(WorkerLostError):
                self._begun = ConcurrentFolds(setup, threads, packed, self._pool.take())
                self._ends.callback(self._begun.end)

    def make_evaluator(self, task: Task, device: Device) -> TaskEvaluator:
        """See `Place`; the reference runs in processes on spare cores."""
        return local_evaluator(task, device, self._replaying)

    def give_room(self, engine: Evaluator) -> None:
        """Let the folds begin, beside the engine of the run."""
        if self._begun is None:
            return
        if isinstance(engine, Engine) and _leaves_room(engine, self._begun.work):
            self._begun.give_room(engine.device, engine.memory_plan(1).free_bytes)
        else:
            self._begun.end()
            self._begun = None

    def submit(
        self,
        setup: InStepSetup[Job, Result],
        jobs: Sequence[Job],
        *,
        engine: Engine | None = None,
        used: str | None = None,
    ) -> Generator[tuple[Job, Result], None, None]:
        """See `Executor`; running folds are taken over, if they are these."""
        begun, self._begun = self._begun, None
        submit = partial(super().submit, setup, engine=engine)
        if begun is not None and begun.is_same_search(setup):
            return begun.results(jobs, submit)
        if begun is not None:
            begun.end()
        return submit(jobs, used=used)


def _leaves_room(engine: Engine, work: Workload) -> bool:
    """True if the engine of a run leaves room for another of its size.

    On cores that holds for little work; of more work none is left for folds, which would compute
    rows of their own. On a GPU half of the free memory stays so: for copies, graphs and everything
    else computed there.
    """
    if engine.device == "cpu":
        return engine.n_parts == 1 and work.cpu_s <= GPU_START_S
    return engine.memory_plan(1).leaves_room_beside


def _list_deciding(setup: FoldSetup) -> Mapping[str, object]:
    """All that decides what folds find."""
    task = setup.task
    return {
        "identity": build_identity(task, hash_genomes(setup.warm_start)),
        "end": task.config.deciding("end"),
        "splits": setup.splits,
    }
