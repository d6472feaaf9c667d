"""The executor of this machine: its cores and its GPU."""

import queue
import threading
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Generic

from engine.batch import Engine
from engine.devices import choose_strategy_backend
from engine.indicators.individuals import count_rows
from engine.memory_plan import count_apart
from engine.runtime.machine import available_cores
from engine.workload import GPU_START_S
from optimizer.evidence.jobs.executor import (
    MOST_ROWS,
    Ask,
    InStepSetup,
    Job,
    MachineShare,
    OnWindows,
    Result,
    limit,
)
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.run.problem import Answer, Question
from optimizer.run.runner import evaluate_together
from optimizer.run.task import Task

_Asked = tuple[Mapping[Any, Question], Future[Sequence[Answer]]]
"""Questions of one process, and where it waits for the answers."""


class AskingWorkers(Generic[Job, Result]):
    """Executor of searches with evaluations by one engine of this process.

    Searches of a wave, `size` at most, advance together. So many processes breed and choose, while
    the engine evaluates for the ones that wait; with one, this process searches.
    """

    def __init__(self, setup: InStepSetup[Job, Result], count: int, size: int, pool: Pool) -> None:
        self._setup, self._count, self._size = setup, count, size
        self._workers = Workers(setup.run_wave, count, pool)

    def results(self, jobs: Sequence[Job]) -> Generator[tuple[Job, Result], None, None]:
        """Each job with its result, wave after wave; closing it leaves the rest."""
        # As few as memory allows, of about one size.
        count = -(-len(jobs) // self._size)
        edges = [len(jobs) * number // max(count, 1) for number in range(count + 1)]
        waves = [jobs[begin:end] for begin, end in pairwise(edges)]
        if self._workers.alone or min(map(len, waves), default=0) < 2:
            for wave in waves:
                yield from self._setup.run_in_step(wave)
            return
        tasks = self._build_tasks(waves[0])
        for wave, following in zip_longest(waves, waves[1:], fillvalue=()):
            tasks = yield from self._search_wave(wave, tasks, following)

    def _search_wave(
        self, wave: Sequence[Job], tasks: list[Task], following: Sequence[Job]
    ) -> Generator[tuple[Job, Result], None, list[Task]]:
        """Search a wave, with which its engine goes: memory may hold no two of them.

        Returns the tasks of the following one, which are built beside the search.
        """
        evaluate = partial(evaluate_together, *self._setup.make_engine(wave, tasks))
        shares = [wave[first :: self._count] for first in range(min(self._count, len(wave)))]
        with (
            Evaluating(evaluate) as engine,
            self._workers.begin(shares, engine.ask, quiet=engine.quiet) as done,
        ):
            upcoming = self._build_tasks(following)
            for _, results in done:
                yield from results
        return upcoming

    def _build_tasks(self, wave: Sequence[Job]) -> list[Task]:
        return [self._setup.build_task(job) for job in wave]


class Evaluating:
    """A thread that evaluates all waiting requests at once.

    Attributes:
        quiet: Held while it evaluates. An engine lets go of Python's lock at every launch, and
            would wait for each of many threads that read and write meanwhile.
    """

    def __init__(self, evaluate: Ask) -> None:
        self._evaluate, self.quiet = evaluate, threading.Lock()
        self._asked: queue.SimpleQueue[_Asked] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> "Evaluating":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def ask(self, questions: Mapping[Any, Question]) -> Sequence[Answer]:
        """Wait for the answers, in the order of the questions; raise as evaluating does."""
        answers: Future[Sequence[Answer]] = Future()
        self._asked.put((questions, answers))
        self._thread.submit(self._answer)
        return answers.result()

    def _answer(self) -> None:
        """Answer questions so far; none may be left."""
        pending = []
        with suppress(queue.Empty):
            while True:
                pending.append(self._asked.get_nowait())
        questions = {key: question for asked, _ in pending for key, question in asked.items()}
        if not questions:
            return
        try:
            with self.quiet:
                found = dict(zip(questions, self._evaluate(questions), strict=True))
        except Exception as error:
            for _, answers in pending:
                answers.set_exception(error)
            return
        for asked, answers in pending:
            answers.set_result([found[key] for key in asked])


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
        self, setup: OnWindows, jobs: int, threads: int, beside_s: float
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
        size = max(1, min(size_wave(setup), jobs))
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

    The one `used` by its own search comes first; with the device ``"auto"`` any other may serve.
    """
    if used != "cpu":
        return used
    if task.config.device != "auto":
        return None
    choice = choose_strategy_backend(task.spec, "auto", costs=task.costs)
    return None if choice.name == "cpu" else choice.label


def size_wave(setup: OnWindows) -> int:
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


def count_markets(task: Task, searches: int) -> int:
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
