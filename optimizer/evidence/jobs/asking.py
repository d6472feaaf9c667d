"""Searches by processes that ask this one: one engine evaluates for all of them at once."""

import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Generic, NamedTuple

from optimizer.evidence.jobs.in_step import Ask, InStepSetup, Job, Result, Waves
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.run.problem import Answer, Question
from optimizer.run.search import evaluate_questions
from optimizer.run.task import Task


class AskingWorkers(Generic[Job, Result]):
    """Executor of searches whose evaluations one engine of this process makes.

    Those of a wave are searched together. Processes breed and choose, while the engine evaluates
    for those who have asked.

    Args:
        setup: Makes the engine of a wave.
        count: How many processes; with one, this process searches.
        size: How many searches are a wave at most.
        pool: Where processes come from and wait afterwards.

    Attributes:
        alone: As of `Workers`.
    """

    def __init__(self, setup: InStepSetup[Job, Result], count: int, size: int, pool: Pool) -> None:
        self._setup, self._count, self._size, self._pool = setup, count, size, pool
        self.alone = Workers(Waves(setup), count, pool).alone

    def results(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Result], None, None]:
        """Each job with what came of it, wave after wave; closing it leaves the rest."""
        waves = _cut_waves(list(jobs), self._size)
        if self.alone or min(map(len, waves), default=0) < 2:
            for wave in waves:
                yield from self._setup.run_in_step(wave)
            return
        tasks = self._make_tasks(waves[:1])
        for wave, following in zip_longest(waves, waves[1:], fillvalue=()):
            tasks = yield from self._search_wave(wave, tasks, following)

    def _search_wave(
        self, wave: Sequence[Job], tasks: Sequence[Task], following: Sequence[Job]
    ) -> Generator[tuple[Job, Result], None, list[Task]]:
        """Search the tasks of a wave; returns those of the following one.

        With it its engine goes: memory may hold no two of them.
        """
        evaluate = partial(evaluate_questions, *self._setup.make_engine(wave, tasks))
        shares = [wave[first :: self._count] for first in range(min(self._count, len(wave)))]
        with Evaluating(evaluate) as answers:
            workers = Workers(Waves(self._setup), len(shares), self._pool, answers)
            with closing(workers.results(shares)) as done:
                # Made while this wave is searched.
                upcoming = self._make_tasks([following])
                for _, results in done:
                    yield from results
        return upcoming

    def _make_tasks(self, waves: Sequence[Sequence[Job]]) -> list[Task]:
        return [self._setup.build_task(job) for wave in waves for job in wave]


class _Asked(NamedTuple):
    """Questions of one process, and where it waits for the answers."""

    questions: Mapping[Any, Question]
    answers: "queue.SimpleQueue[Sequence[Answer] | Exception]"


class Evaluating:
    """A thread that evaluates, all at once that has been asked since it last did.

    Args:
        evaluate: Called by the thread alone.

    Attributes:
        quiet: Held while it evaluates. An engine lets go of Python's lock at every launch, and
            would wait for each of many threads that read and write meanwhile.
    """

    def __init__(self, evaluate: Ask) -> None:
        self._evaluate, self.quiet = evaluate, threading.Lock()
        self._asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Evaluating":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._asked.put(None)
        self._thread.join()

    def ask(self, questions: Mapping[Any, Question]) -> Sequence[Answer]:
        """Wait for the answers, in the order of the questions.

        Raises:
            Whatever evaluating raises.
        """
        waiting = _Asked(questions, queue.SimpleQueue())
        self._asked.put(waiting)
        answers = waiting.answers.get()
        if isinstance(answers, Exception):
            raise answers
        return answers

    def _run(self) -> None:
        """Answer until None is asked, when no question is open."""
        while (first := self._asked.get()) is not None:
            pending = [first, *_take_all(self._asked)]
            self._answer(pending)

    def _answer(self, pending: Sequence[_Asked]) -> None:
        questions = {
            key: question for waiting in pending for key, question in waiting.questions.items()
        }
        try:
            with self.quiet:
                answers = dict(zip(questions, self._evaluate(questions), strict=True))
        except Exception as error:
            for waiting in pending:
                waiting.answers.put(error)
            return
        for waiting in pending:
            waiting.answers.put([answers[key] for key in waiting.questions])


def _take_all(asked: "queue.SimpleQueue[_Asked | None]") -> Iterator[_Asked]:
    """Questions asked so far."""
    while not asked.empty():
        if (other := asked.get()) is None:
            asked.put(None)
            return
        yield other


def _cut_waves(jobs: Sequence[Job], size: int) -> list[Sequence[Job]]:
    """As few waves as memory allows, of about one size."""
    count = -(-len(jobs) // size)
    edges = [len(jobs) * number // max(count, 1) for number in range(count + 1)]
    return [jobs[begin:end] for begin, end in pairwise(edges)]
