"""Engines end before others need their memory, without a collector of cycles."""

import gc
import weakref

import pytest

from engine.batch import Engine
from optimizer.__main__ import main
from optimizer.config.run_config import make_config
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.executors import ThisMachine
from optimizer.judging.judge import judge_run
from optimizer.judging.null import NullJob, NullSetup, OnNullMarkets
from optimizer.judging.plan import build_plan
from optimizer.judging.workers import Pool
from optimizer.report.run import evolve
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, write_bars
from tests.support.null_tasks import TASKS

RULES = [{}, {"every": "10d", "train": "20d", "pick_by": "keep"}]
"""Null searches, and null schedules."""

JOBS = [NullJob("shuffled", number) for number in range(1, 6)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Of a run that is judged; all that it compiles is there.

    Where a loop is compiled, exceptions hold each other, and whoever called the loop.
    """
    folder = tmp_path_factory.mktemp("planted")
    data = write_bars(folder / "planted.csv", make_planted_market(7, 1500, 8))
    judged = {"null": 2, "folds": 3, "blocks": 4, "data": data, "runs": str(folder / "runs")}
    for rule in RULES:
        evolve({**SMALL, **judged, **rule})
    return {**SMALL, **judged}


@pytest.fixture
def living(monkeypatch):
    """Says how many of the engines are there that this process has made since."""
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


def evolve_in_python(settings):
    """As a notebook does."""
    evolve(settings)


def evolve_by_command(settings):
    """As a person does."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    assert main(["evolve", *flags, "--quiet", "--no-report"]) == 0


def judge_later(settings):
    """With an engine that is made for it."""
    path = evolve({**settings, "judge": False}).path
    plan = build_plan(make_config(settings, where="test"), settings)
    judge_run(path, plan, {}, lambda *told: None)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=["searches", "schedules"])
@pytest.mark.parametrize("way", [evolve_in_python, evolve_by_command, judge_later])
def test_the_engine_of_a_run_is_gone_when_null_searches_begin(
    monkeypatch, settings, living, way, rule
):
    """Whoever searched and judged with it, and whatever folds and steps asked of it."""
    counts, choose = [], ThisMachine.executor

    def note(self, setup, jobs, **known):
        if isinstance(setup, OnNullMarkets):
            counts.append(living())
        return choose(self, setup, jobs, **known)

    monkeypatch.setattr(ThisMachine, "executor", note)
    way({**settings, **rule})
    assert counts == [0]


@pytest.mark.parametrize("name", ["shipped", "words"])
@pytest.mark.parametrize("processes", [1, 2])
def test_the_engine_of_a_wave_is_gone_when_the_next_is_made(monkeypatch, request, name, processes):
    """Also where other processes ask it."""
    setup = NullSetup(TASKS[name](), "none")
    expected = dict(setup.run_in_step(JOBS))
    living = request.getfixturevalue("living")
    counts, make = [], NullSetup.make_engine

    def note(self, jobs, tasks):
        counts.append(living())
        return make(self, jobs, tasks)

    monkeypatch.setattr(NullSetup, "make_engine", note)
    with Pool() as pool:
        assert dict(AskingWorkers(setup, processes, 2, pool).results(JOBS)) == expected
    assert counts == [0, 0, 0]
