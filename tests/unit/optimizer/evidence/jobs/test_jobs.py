"""Searches in step and jobs in processes: each finds what it finds alone, and is done once."""

import gc
import os
import pickle
import signal
import time
import weakref
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.replay.certificate import certify
from optimizer.evidence import concurrent_folds
from optimizer.evidence.concurrent_folds import replay_in_processes
from optimizer.evidence.folds import FoldSetup
from optimizer.evidence.jobs import machine
from optimizer.evidence.jobs.machine import AskingWorkers
from optimizer.evidence.jobs.workers import Pool, Workers
from optimizer.evidence.null import NullJob, NullSetup
from optimizer.evidence.schedule import StepSettings
from optimizer.evidence.schedule_searches import StepSetup
from optimizer.evidence.splits import combinatorial, walk_forward
from tests.support import jobs
from tests.support.commands import start
from tests.support.evidence import make_planted_market
from tests.support.examples import RSI_PULLBACK
from tests.support.jobs import die_or_square, fail, square, talk
from tests.support.judging import make_task
from tests.support.paths import ROOT
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

BARS, OTHER = make_planted_market(7, 900, 8), make_planted_market(8, 700, 8)
SEVERAL = (Window(0, 100, 500), Window(0, 500, 900), Window(1, 50, 700))

TASKS = {
    "shipped": lambda: make_task(BARS, plateau=2, generations=5),
    "several": lambda: make_task(BARS, OTHER, windows=SEVERAL, over_windows="pooled"),
    "near": lambda: make_task(BARS, objectives="strength@near,max_drawdown", population=8),
    "words": lambda: make_task(BARS, spec=RSI_PULLBACK, min_trades=2),
    "grid": lambda: make_task(BARS, search="lattice", steps={"reward_r": 1.0}, generations=0),
}
"""A search that may end before others, windows that are one account, neighbours that are asked
too, a strategy in words, and a grid."""

JOBS = [NullJob("shuffled", number) for number in range(1, 6)] + [NullJob("mirrored", 1)]


@contextmanager
def note_engines(monkeypatch):
    """Says how many engines are there that were made since, without a collector of cycles."""
    made, begin = [], Engine.__init__

    def note(self, *arguments, **options):
        begin(self, *arguments, **options)
        made.append(weakref.ref(self._backend))

    monkeypatch.setattr(Engine, "__init__", note)
    gc.collect()
    gc.disable()
    yield lambda: sum(engine() is not None for engine in made)
    gc.enable()
    assert made


@pytest.mark.parametrize("name", TASKS)
def test_null_searches_in_step_find_what_each_finds_alone(name):
    """In waves of two and of all."""
    setup = NullSetup(TASKS[name](), "none")
    expected = {job: setup.run(job) for job in JOBS}
    assert len({search.strength for search in expected.values()}) > 1
    assert dict(setup.run_in_step(JOBS)) == expected
    assert dict([*setup.run_in_step(JOBS[:2]), *setup.run_in_step(JOBS[4:])]) == {
        job: expected[job] for job in (*JOBS[:2], *JOBS[4:])
    }


def test_processes_that_ask_find_it_too(pool, monkeypatch):
    """In three waves, each of whose engines is gone when the next is made, which a GPU needs."""
    setup = NullSetup(TASKS["shipped"](), "none")
    expected, living = dict(setup.run_in_step(JOBS)), []
    make = NullSetup.make_engine

    with note_engines(monkeypatch) as count_engines:

        def note(self, jobs, tasks):
            living.append(count_engines())
            return make(self, jobs, tasks)

        monkeypatch.setattr(NullSetup, "make_engine", note)
        assert dict(AskingWorkers(setup, 2, 2, pool).results(JOBS)) == expected
    assert living == [0, 0, 0]
    # What is left of a run that was killed.
    assert dict(AskingWorkers(setup, 2, 4, pool).results(JOBS[:1])) == {JOBS[0]: expected[JOBS[0]]}


@pytest.mark.parametrize("name", ["shipped", "near"])
def test_folds_and_steps_ask_the_engine_of_the_run(pool, name, monkeypatch):
    """In waves, by two processes; each finds what it finds alone, and no other engine is made."""
    task = TASKS[name]()
    series, windows = task.markets.series, task.markets.uncut
    splits = walk_forward(series, windows, folds=3, train_groups=2, purge=8)
    if name == "shipped":
        splits += combinatorial(series, windows, count=4, tests=2, purge=8, embargo=8)
    setup = FoldSetup(task, splits)
    if name == "near":
        setup = StepSetup(task, StepSettings("8d", "20d", 0, anchored=False, pick_by="near"))
    jobs = range(len(setup.trainings))
    expected = {job: setup.run(job) for job in jobs}
    assert any(pick.genome for pick in expected.values())
    served = replace(setup, engine=task.engine())
    monkeypatch.setattr(Engine, "__init__", None)
    assert pickle.loads(pickle.dumps(served)).engine is None
    assert dict(AskingWorkers(served, 2, 3, pool).results(jobs)) == expected


def test_processes_whose_questions_failed_are_replaced(pool, monkeypatch):
    """What the engine raises arrives, and the next searches are not given answers of these."""
    setup = NullSetup(TASKS["shipped"](), "none")
    with monkeypatch.context() as patch:
        patch.setattr(machine, "evaluate_together", raise_error)
        with pytest.raises(ValueError, match="no engine"):
            dict(AskingWorkers(setup, 2, 6, pool).results(JOBS))
    found = dict(AskingWorkers(setup, 2, 6, pool).results(JOBS))
    assert found == dict(setup.run_in_step(JOBS))


def raise_error(*_):
    """As an engine that fails."""
    raise ValueError("no engine")


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


def test_searches_of_a_process_that_died_are_made_here(pool):
    """By the same engine, and the others go on."""
    task = TASKS["shipped"]()
    setup = Dying(task, "none", test=os.getpid())
    results = dict(AskingWorkers(setup, 2, 4, pool).results(JOBS))
    assert results == dict(NullSetup(task, "none").run_in_step(JOBS))


SPEC = SHORT_SPECS["seller_exhaustion"]
JUMPY = make_bars(5, 600, jump=0.1)
GENOMES = random_genomes(SPEC, 20, seed=1)


@pytest.mark.slow
def test_a_certificate_of_processes_is_that_of_threads(pool):
    """Also of an engine that is wrong: the first difference is the same one."""
    engine = Engine(SPEC, [JUMPY], [Window.whole(JUMPY), Window(0, 100, 400)])
    in_processes = partial(certify, engine, GENOMES, replaying=partial(replay_in_processes, pool))
    expected = certify(engine, GENOMES)
    assert in_processes() == expected
    assert len(pool._idle) >= concurrent_folds.PROCESSES
    assert (expected.mismatches, expected.trades > 0) == (0, True)
    evaluate = engine.evaluate
    engine.evaluate = lambda given: evaluate(given) + (np.arange(len(given)) == 7)[:, None, None]
    wrong = certify(engine, GENOMES)
    assert wrong.mismatches == 2
    assert in_processes() == wrong


def is_there(process):
    """Whether a process is alive, and no remains of one."""
    with suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


@pytest.mark.slow
def test_processes_that_are_killed_lose_nothing(pool):
    """Their jobs are done here, and once; all others by processes."""
    run = partial(die_or_square, os.getpid(), (0, 1))
    results = list(Workers(run, 2, pool).results(range(6)))
    assert sorted((job, number) for job, (number, _) in results) == [(n, n * n) for n in range(6)]
    assert {job for job, (_, who) in results if who == os.getpid()} == {0, 1}


@pytest.mark.slow
def test_a_pool_waits_for_the_next_setup(capfd):
    """The same processes, whatever they did or printed, which is no answer; leaving ends them.

    What a job raises arrives with its type.
    """
    with Pool() as pool:
        _, first = zip(*Workers(partial(square, 0.05), 2, pool).results(range(8)), strict=True)
        results = dict(Workers(talk, 2, pool).results(range(4)))
        with pytest.raises(ValueError, match="no square"):
            list(Workers(fail, 2, pool).results([3]))
        again = dict(Workers(partial(square, 0.05), 2, pool).results(range(8)))
        who = {process for _, process in first}
        assert len(who) == 2
        assert results == {number: number for number in range(4)}
        assert "noise" in capfd.readouterr().err
        assert {process for _, process in again.values()} == who
        assert all(map(is_there, who))
    assert not any(map(is_there, who))


@pytest.mark.slow
def test_a_pool_replaces_those_that_were_in_the_middle_of_a_job(pool):
    """What was closed early is not done, and no answer of it comes later."""
    with closing(Workers(partial(square, 0.2), 2, pool).results(range(100))) as results:
        _, (_, pid) = next(results)
        assert is_there(pid)
        assert pid != os.getpid()
    assert not is_there(pid)
    squares = dict(Workers(partial(square, 0), 2, pool).results(range(6)))
    assert {job: square for job, (square, _) in squares.items()} == {n: n * n for n in range(6)}


@pytest.mark.slow
def test_no_worker_outlives_a_parent_that_is_killed():
    """It sees the end of its input, and ends within a second or so."""
    program = f"from {jobs.__name__} import child_with_workers; child_with_workers()"
    with start(cwd=ROOT, program=("-c", program)) as parent:
        workers = set()
        while len(workers) < 2:
            workers.add(int(parent.stdout.readline()))
        assert all(map(is_there, workers))
        parent.kill()
    end = time.monotonic() + 20
    while any(map(is_there, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_there, workers))
