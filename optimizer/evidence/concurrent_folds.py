"""Searches of folds beside the run's own search, on cores that would idle.

They need nothing from the run, only that it ends as planned. A separate process makes them, with
its own engine, so that neither waits for the other's Python.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from engine.batch import Engine
from engine.devices import Device
from engine.memory_plan import BESIDE_SHARE
from engine.replay.threads import Replaying, replaying
from engine.runtime.machine import available_cores
from engine.runtime.shortage import offer_memory, withdraw_memory
from engine.workload import GPU_START_S, Workload
from optimizer.config.settings import EvidenceSettings
from optimizer.errors import ConfigError
from optimizer.evidence.folds import FoldPick, FoldSetup
from optimizer.evidence.jobs.executor import MachineShare
from optimizer.evidence.jobs.in_step import InStepSetup, Job, Result
from optimizer.evidence.jobs.machine import ThisMachine
from optimizer.evidence.jobs.replaying import PROCESSES, replay_in_processes
from optimizer.evidence.jobs.workers import JobProcess, Pool, WorkerLostError, pack
from optimizer.evidence.judge import build_plan
from optimizer.evidence.plan import Plan
from optimizer.run.genes_file import hash_genomes
from optimizer.run.problem import Evaluator
from optimizer.run.record import build_identity
from optimizer.run.search import on_searched_bars
from optimizer.run.task import Task, TaskEvaluator, local_evaluator
from optimizer.search.generation import Floats

LOG = logging.getLogger(__name__)

FEWEST_CORES = 8
"""Of a host that makes folds beside the run: half of them are enough for its own search."""


def search_folds(
    setup: FoldSetup,
    threads: int,
    jobs: Sequence[int],
    ask: Callable[[FoldPick | None], MachineShare],
) -> None:
    """Search for folds, in a process with an engine of its own.

    Args:
        setup: Of the folds.
        threads: Processes at most.
        jobs: Of the setup.
        ask: Gives room, once it is known, and takes each pick.
    """
    with Pool() as pool:
        pool.start(min(threads, len(jobs)))
        # Its library is imported while the run prepares its own engine.
        setup.task.device()
        setup = ask(None).give(setup)
        engine = None if setup.task.config.device == "cpu" else setup.task.engine()
        for _, pick in ThisMachine(pool).submit(setup, jobs, engine=engine):
            ask(pick)


class ConcurrentFolds:
    """Folds that have begun; it answers their process.

    Args:
        setup: Of the folds.
        threads: Cores that they may use.
        packed: `search_folds` with both.
        worker: Does it.

    Attributes:
        work: Work of the run that they are of.
    """

    def __init__(self, setup: FoldSetup, threads: int, packed: bytes, worker: JobProcess) -> None:
        self._setup, self._threads, self._worker = setup, threads, worker
        self.work, self._is_ended = setup.task.workload(), False
        self._room: Future[MachineShare] = Future()
        self._picks: dict[int, Future[FoldPick]] = {n: Future() for n in range(len(setup.splits))}
        self._thread = ThreadPoolExecutor(1)
        searching = self._thread.submit(worker.run, packed, [*self._picks], self._answer)
        searching.add_done_callback(self._leave)

    def _answer(self, pick: FoldPick | None) -> MachineShare | None:
        """Room for the folds, once it is known; a pick is kept for who waits for it."""
        if pick is None:
            return self._room.result()
        self._picks[pick.number].set_result(pick)
        if all(found.done() for found in self._picks.values()):
            # A process with a GPU takes a while to end, and has its memory until then.
            self._worker.kill()
        return None

    def _leave(self, searching: "Future[None]") -> None:
        """Give up picks that were not found."""
        missing = [found for found in self._picks.values() if not found.done()]
        if missing and not self._is_ended:
            LOG.warning("folds beside the run failed (%r), and are searched", searching.exception())
        for found in missing:
            found.set_exception(WorkerLostError())

    def give_room(self, device: str, free_bytes: int) -> None:
        """Let the folds begin on a device with so much free memory for the run's engine.

        They end where memory runs short.
        """
        offer_memory(self._give_back)
        self._room.set_result(MachineShare(device, self._threads, int(BESIDE_SHARE * free_bytes)))

    def is_same_search(self, setup: InStepSetup[Any, Any]) -> bool:
        """True if a setup finds the picks of these folds."""
        return isinstance(setup, FoldSetup) and _list_deciding(setup) == _list_deciding(self._setup)

    def results(
        self, jobs: Sequence[Any], submit: Callable[..., Iterable[tuple[Any, Any]]]
    ) -> Generator[tuple[Any, Any], None, None]:
        """Picks of some folds as they come; failed ones are made after their process.

        Args:
            jobs: The folds.
            submit: Makes those that are missing.
        """
        begun, missing = {self._picks[job]: job for job in jobs}, list(jobs)
        try:
            for found in as_completed(begun):
                if found.exception() is None:
                    missing.remove(begun[found])
                    yield begun[found], found.result()
        finally:
            self.end()
        if missing:
            yield from submit(missing)

    def end(self) -> None:
        """End their process, whatever it does."""
        self._is_ended = True
        # A thread that waits for room waits no longer.
        self._room.cancel()
        self._worker.kill()
        self._thread.shutdown()
        self._worker.end()
        withdraw_memory(self._give_back)

    def _give_back(self) -> None:
        """Give their memory to the run; folds are searched after it."""
        LOG.warning("the device ran short of memory: folds are searched after the run")
        self.end()


class SpareCores(ThisMachine):
    """This machine, whose spare cores search for the folds of a plan during the run's search.

    Leaving it ends running folds. Nothing begins on few cores, or with limited memory or time.

    Args:
        pool: As of `ThisMachine`.
        plan: Of the judgement that follows the run.
    """

    def __init__(self, pool: Pool, plan: Plan) -> None:
        super().__init__(pool)
        self._plan = plan
        self._begun: ConcurrentFolds | None = None
        self._replaying: Replaying = replaying
        self._ends = ExitStack()

    def __enter__(self) -> "SpareCores":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def begin(self, task: Task, warm_start: Floats | None) -> None:
        """Begin a process for the folds of a run that is about to prepare its engine."""
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
        setup, threads = FoldSetup(planned, splits, warm_start), max(cores // 2, 1)
        if splits and (packed := pack(partial(search_folds, setup, threads))):
            with suppress(WorkerLostError):
                self._begun = ConcurrentFolds(setup, threads, packed, self._pool.take())
                self._ends.callback(self._begun.end)

    def make_evaluator(self, task: Task, device: Device) -> TaskEvaluator:
        """The `local_evaluator`, with the reference in processes on spare cores."""
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


@contextmanager
def share_cores(settings: EvidenceSettings | None) -> Iterator[SpareCores | None]:
    """Executors of a run that is about to begin and to be judged; else None."""
    if settings is None or settings.judge is False:
        yield None
        return
    with Pool() as pool, SpareCores(pool, build_plan(settings)) as beside:
        yield beside


def _list_deciding(setup: FoldSetup) -> Mapping[str, object]:
    """All that decides what folds find."""
    task = setup.task
    return {
        "identity": build_identity(task, hash_genomes(setup.warm_start)),
        "end": task.config.deciding("end"),
        "splits": setup.splits,
    }
