"""Null searches in waves: the same judgement, whoever makes them and however it was interrupted."""

import gc
from dataclasses import replace
from shutil import rmtree
from weakref import ref

import pytest

from engine import workload
from engine.batch import Engine
from engine.devices import choose_device
from optimizer.judging.executors import ThisMachine
from optimizer.judging.judge import judge_run
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.plan import Plan
from optimizer.judging.waves import MOST_MARKETS, Waves, count_markets_that_fit, plan_waves
from optimizer.judging.workers import Pool, Workers
from optimizer.run.search import engine_apart
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task, recorded_run

BARS = make_planted_market(7, 900, 8)

PLAN = Plan(folds=0, blocks=0, null=20, stop_after=4, causal=False)


class Made:
    """Makes null searches in waves of a size, or in two processes; counts how often it is asked."""

    def __init__(self, size):
        self.size, self.asked = size, 0

    def check(self, task):
        """All is well."""

    def executor(self, setup, jobs, *, first=None, engine=None):
        """Waves of that size; 0 stands for processes."""
        self.asked += 1
        return Waves(setup, self.size) if self.size else Workers(setup, 2)


def judged(path, executors, watch=lambda *told: None):
    """Everything that a judgement says, and the rows that it rests on."""
    found = judge_run(path, PLAN, {}, watch, executors=executors)
    with RunStore.open(path) as store:
        rows = {name: row for name, row in store.evidence if name.startswith("null/")}
    return found.payload(), rows


@pytest.fixture
def run(tmp_path):
    """Makes the same run anew, under the same path."""

    def made_anew():
        rmtree(tmp_path / "runs", ignore_errors=True)
        return recorded_run(tmp_path, BARS, threads=2)

    return made_anew


@pytest.mark.slow
def test_judgements_are_the_same_whoever_searches(run):
    """On processes and in waves of 1, 7 and 32: every word and row, also where it stops early."""
    expected, expected_rows = judged(run(), Made(0))
    assert expected["null"]["shuffled"]["stopped"]
    for executors in (None, Made(1), Made(7), Made(32)):
        found, rows = judged(run(), executors)
        assert found == expected
        assert executors is None or executors.asked == 1
        common = rows.keys() & expected_rows.keys()
        assert len(common) >= expected["null"]["shuffled"]["run"]
        assert {name: rows[name] for name in common} == {
            name: expected_rows[name] for name in common
        }


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [3, 7, 9])
def test_a_wave_that_is_cut_off_is_made_again(run, n_known):
    """What has ended stays, what was in the middle is searched again, and the judgement is that."""
    expected, _ = judged(run(), Made(0))
    path = run()

    def cut_off(part, done, planned, word):
        if planned and done == n_known:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(path, Made(7), cut_off)
    with RunStore.open(path) as store:
        assert sum(name.startswith("null/") for name, _ in store.evidence) == n_known
    told = []
    found, _ = judged(path, Made(7), lambda *words: told.append(words[1:3]))
    assert found == expected
    assert next(done for done, planned in told if planned) == n_known


def test_an_early_stop_leaves_the_waves_after_it():
    """No market of a wave is made before the wave before it was asked for to its end."""
    begun = []

    class Watching(NullSetup):
        def run_in_step(self, jobs):
            begun.append([job.number for job in jobs])
            return super().run_in_step(jobs)

    setup = Watching(make_task(BARS, generations=1, polish=0), "none")
    ended = Waves(setup, 3).results([NullJob("shuffled", n) for n in range(1, 9)])
    for _ in range(4):
        next(ended)
    ended.close()
    assert begun == [[1, 2, 3], [4, 5, 6]]


def test_no_wave_is_in_memory_with_the_one_before(monkeypatch):
    """Its engine is let go before the next one is made, without waiting for the collector."""
    engines = []

    def made(tasks):
        assert not any(engine() for engine in engines)
        engine, windows = engine_apart(tasks)
        engines.append(ref(engine))
        return engine, windows

    monkeypatch.setattr("optimizer.judging.null.engine_apart", made)
    jobs = [NullJob("shuffled", n) for n in range(1, 6)]
    gc.disable()
    try:
        assert len(list(Waves(NullSetup(make_task(BARS), "none"), 2).results(jobs))) == 5
    finally:
        gc.enable()
    assert len(engines) == 3


def test_waves_hold_what_memory_holds():
    """At least one market, as many as there are searches, and no more than are lost to a stop."""
    task = make_task(BARS, generations=1)
    device = choose_device(task.spec, "cpu")
    rows = task.workload().row_bars / len(BARS)
    one = device.maker.series_bytes([BARS]) + int(rows) * device.maker.slot_bytes([BARS])
    for memory, fitting in ((1, 1), (one, 1), (3 * one - 1, 2), (3 * one, 3), (99 * one, 99)):
        given = make_task(BARS, generations=1, memory=memory)
        assert count_markets_that_fit(given, device) == fitting
        for jobs in (1, 2, 500):
            assert plan_waves(given, jobs) == min(jobs, fitting, MOST_MARKETS)


class On(Engine):
    """Says that it is on a device."""

    def __init__(self, task, device):
        """As the task's."""
        super().__init__(task.spec, task.markets.series, task.markets.windows, device="cpu")
        self.device = device


def test_null_searches_are_made_in_waves_on_a_gpu(monkeypatch):
    """There on the GPU that has the task's engine."""
    asked = []

    def planned(task, jobs):
        asked.append((task.config.device, jobs))
        return 5

    monkeypatch.setattr("optimizer.judging.executors.plan_waves", planned)
    task = make_task(BARS, threads=2, device="auto")
    with Pool() as pool:
        setup = NullSetup(task, "none")
        executor = ThisMachine(pool).executor(setup, 8, engine=On(task, "cuda:0,1"))
    assert isinstance(executor, Waves)
    assert asked == [("cuda:0,1", 8)]


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize(
    ("jobs", "core_rate", "own_s", "is_here"),
    [
        # To begin processes takes longer than little work.
        (8, 1e12, 0.0, True),
        # All cores evaluate together, but one does the rest of a search.
        (8, 1e12, 1.0, False),
        (1, 1e12, 1.0, True),
        # Nine searches are three turns of four cores.
        (9, 1e4, 1e-9, True),
        (8, 1e4, 1e-1, False),
    ],
)
def test_on_a_cpu_they_are_made_where_they_are_done_first(
    monkeypatch, device, jobs, core_rate, own_s, is_here
):
    """In this process, one after the other, or by processes beside each other."""
    monkeypatch.setattr(workload, "CORE_RATE", core_rate)
    monkeypatch.setattr(workload, "CORE_ROW_RATE", 1e15)
    monkeypatch.setattr("optimizer.judging.null.INDIVIDUAL_S", own_s)
    task = make_task(BARS)
    task = replace(task, config=task.config.model_copy(update={"threads": 4}))
    engine = None if device is None else On(task, device)
    with Pool() as pool:
        executor = ThisMachine(pool).executor(NullSetup(task, "none"), jobs, engine=engine)
    assert isinstance(executor, Workers)
    assert bool(executor.alone) == is_here
