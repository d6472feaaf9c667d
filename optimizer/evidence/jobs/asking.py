"""Searches by processes that ask this one: one engine evaluates for all of them at once."""

import queue
import threading
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Generic

from optimizer.evidence.jobs.in_step import Ask, InStepSetup, Job, Result
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.run.problem import Answer, Question
from optimizer.run.search import evaluate_together
from optimizer.run.task import Task

_Asked = tuple[Mapping[Any, Question], Future[Sequence[Answer]]]
"""Questions of one process, and where it waits for the answers."""


class AskingWorkers(Generic[Job, Result]):
    """Executor of searches with evaluations by one engine of this process.

    Searches of a wave advance together. Processes breed and choose, while the engine evaluates for
    the ones that wait.

    Args:
        setup: Makes the engine of a wave.
        count: How many processes; with one, this process searches.
        size: How many searches are a wave at most.
        pool: Where processes come from and wait afterwards.
    """

    def __init__(self, setup: InStepSetup[Job, Result], count: int, size: int, pool: Pool) -> None:
        self._setup, self._count, self._size = setup, count, size
        self._workers = Workers(setup.run_wave, count, pool)

    def results(self, jobs: Sequence[Job]) -> Generator[tuple[Job, Result], None, None]:
        """Each job with its result, wave after wave; closing it leaves the rest."""
        waves = _cut_waves(jobs, self._size)
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

    Args:
        evaluate: Called by the thread alone.

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
        """Wait for the answers, in the order of the questions.

        Raises:
            Whatever evaluating raises.
        """
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


def _cut_waves(jobs: Sequence[Job], size: int) -> list[Sequence[Job]]:
    """As few waves as memory allows, of about one size."""
    count = -(-len(jobs) // size)
    edges = [len(jobs) * number // max(count, 1) for number in range(count + 1)]
    return [jobs[begin:end] for begin, end in pairwise(edges)]
