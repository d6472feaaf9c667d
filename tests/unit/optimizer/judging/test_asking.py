"""Processes that search while one engine evaluates for all: each finds what it finds alone."""

import os
import pickle
import signal
import sys
import threading
from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from engine.batch import Engine
from optimizer.evidence.splits import combinatorial, walk_forward
from optimizer.judging import asking
from optimizer.judging.asking import AskingWorkers, Evaluating
from optimizer.judging.folds import FoldSetup
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.schedule import NullScheduleSetup, StepSetup
from optimizer.judging.workers import Pool
from optimizer.schedule.dates import parse_schedule
from tests.support.null_tasks import TASKS

JOBS = [NullJob("shuffled", number) for number in range(1, 6)] + [NullJob("mirrored", 1)]


@pytest.fixture(scope="module")
def pool():
    """Processes for tests that end none."""
    with Pool() as pool:
        yield pool


@pytest.mark.parametrize("name", TASKS)
def test_each_finds_what_it_finds_alone(pool, name):
    """In waves of four and two markets, by two processes."""
    setup = NullSetup(TASKS[name](), "none")
    results = dict(AskingWorkers(setup, 2, 4, pool).results(JOBS))
    assert results == dict(setup.run_in_step(JOBS))


@dataclass(frozen=True)
class Apart(FoldSetup):
    """A setup that other processes search without what speaks to a GPU."""

    test: int = 0

    def search(self, job, task, problem):
        """As folds are."""
        result = yield from super().search(job, task, problem)
        assert os.getpid() == self.test or not {"torch", "triton"} & set(sys.modules)
        return result


@pytest.mark.parametrize("name", TASKS)
def test_folds_and_steps_ask_the_engine_of_the_run(pool, name, monkeypatch):
    """All of them, in waves of two, by two processes; each finds what it finds alone."""
    task = TASKS[name]()
    series, windows = task.markets.series, task.markets.uncut
    splits = walk_forward(series, windows, folds=3, train_groups=2, purge=8)
    if name == "shipped":
        splits += combinatorial(series, windows, count=4, tests=2, purge=8, embargo=8)
    setup = Apart(task, splits, test=os.getpid())
    if name == "near":
        setup = StepSetup(task, parse_schedule("8d", "20d", 0), "near")
    jobs = range(len(setup.trainings))
    expected = {job: setup.run(job) for job in jobs}
    assert any(pick.genome for pick in expected.values())
    served = replace(setup, engine=task.engine())
    # No other engine is made from here on.
    monkeypatch.setattr(Engine, "__init__", None)
    assert pickle.loads(pickle.dumps(served)).engine is None
    assert dict(AskingWorkers(served, 2, 3, pool).results(jobs)) == expected


@pytest.mark.parametrize(
    ("name", "rule"), [("shipped", "keep"), ("near", "near"), ("words", "strength")]
)
def test_null_schedules_find_what_each_finds_alone(pool, name, rule):
    """In waves of two markets, by two processes."""
    setup = NullScheduleSetup(TASKS[name](), parse_schedule("6d", "24d", 0), rule, "none")
    jobs = [*JOBS[:3], JOBS[5]]
    expected = {job: setup.run(job) for job in jobs}
    assert sum(search.trades for search in expected.values()) > 0
    assert dict(AskingWorkers(setup, 2, 2, pool).results(jobs)) == expected


def test_one_process_searches_itself(pool):
    """And a wave is as large as it may be."""
    setup = NullSetup(TASKS["shipped"](), "none")
    workers = AskingWorkers(setup, 1, 4, pool)
    assert workers.alone
    assert dict(workers.results(JOBS)) == dict(setup.run_in_step(JOBS))
    # One that is left after a run went on is not shared.
    assert dict(AskingWorkers(setup, 2, 4, pool).results(JOBS[:1])) == dict(
        setup.run_in_step(JOBS[:1])
    )


def test_what_the_engine_raises_ends_all(monkeypatch):
    """In the words of the engine."""

    def fail(engine, windows, questions):
        raise MemoryError("no room for rows")

    monkeypatch.setattr(asking, "evaluate_questions", fail)
    setup = NullSetup(TASKS["shipped"](), "none")
    with Pool() as pool, pytest.raises(MemoryError, match="no room for rows"):
        list(AskingWorkers(setup, 2, 4, pool).results(JOBS))


@dataclass(frozen=True)
class Dying(NullSetup):
    """A setup whose process dies in the middle of a search, unless it is that of the test."""

    test: int = 0

    def run_in_step(self, jobs, ask=None):
        """Ask once, and die where the first job is."""

        def ask_and_die(questions):
            answers = ask(questions)
            if jobs[0] == JOBS[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return answers

        is_here = os.getpid() == self.test
        yield from super().run_in_step(jobs, ask if is_here else ask_and_die)


def test_searches_of_a_process_that_died_are_made_here():
    """By the same engine, and the others go on."""
    task = TASKS["shipped"]()
    setup = Dying(task, "none", test=os.getpid())
    with Pool() as pool:
        results = dict(AskingWorkers(setup, 2, 4, pool).results(JOBS))
    assert results == dict(NullSetup(task, "none").run_in_step(JOBS))


def test_closing_leaves_the_rest(monkeypatch):
    """A process that waits for an answer is not waited for."""
    made, original = [], Engine.__init__

    def note(self, *arguments, **settings):
        made.append(self)
        original(self, *arguments, **settings)

    monkeypatch.setattr(Engine, "__init__", note)
    setup = NullSetup(TASKS["shipped"](), "none")
    with Pool() as pool, closing(AskingWorkers(setup, 2, 2, pool).results(JOBS)) as results:
        next(results)
    assert 0 < len(made) <= 4, "engines of waves that nobody wanted"


def test_whoever_asks_is_told_its_own_answer():
    """Also those who ask while the first is answered."""
    seen, begun, go_on = [], threading.Event(), threading.Event()

    def evaluate(questions):
        seen.append(sorted(questions))
        begun.set()
        assert go_on.wait(30)
        return [number * 10 for number in questions.values()]

    fields = {}
    with Evaluating(evaluate) as answers:

        def tell(key):
            (fields[key],) = answers.ask({key: key})

        threads = [threading.Thread(target=tell, args=(key,)) for key in range(4)]
        threads[0].start()
        assert begun.wait(30)
        for thread in threads[1:]:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            go_on.set()
            for thread in threads:
                thread.join(0.01)
    assert fields == {key: key * 10 for key in range(4)}
    assert seen[0] == [0]
    assert sorted(key for keys in seen[1:] for key in keys) == [1, 2, 3]
