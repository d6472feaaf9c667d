"""Folds that begin with the run: picks of folds after it, however either ends."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from engine.runtime.shortage import relieve_shortage
from optimizer.config.run_config import RunConfig
from optimizer.evidence import concurrent_folds
from optimizer.evidence.concurrent_folds import SpareCores
from optimizer.evidence.jobs import machine
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.judge import judge_run
from optimizer.evidence.plan import Plan
from optimizer.run.runner import Observer, start_run
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, write_bars

BARS = make_planted_market(7, 900, 8)
PLAN = Plan(folds=3, train=2, purge=8, blocks=0)


@pytest.fixture
def searched_run(tmp_path, monkeypatch):
    """A run of a kind, and what was searched beside it."""
    monkeypatch.setattr(concurrent_folds, "FEWEST_CORES", 1)
    # The reference needs no processes of its own here.
    monkeypatch.setattr(concurrent_folds, "PROCESSES", 0)
    data = write_bars(tmp_path / "bars.csv", BARS)
    with Pool() as pool, SpareCores(pool, PLAN) as run:

        def search(**settings):
            config = RunConfig(
                **{**SMALL, "data": [data], "runs": str(tmp_path), "device": "cpu", **settings}
            )
            return run, Path(start_run(config, Observer(beside=run)).path)

        yield search


def judge(path, made_by=None):
    """The folds of a run, of which nothing is recorded yet."""
    copy = shutil.copytree(path, path.parent / f"judged-{made_by is None}" / path.name)
    return judge_run(copy, PLAN, {}, lambda progress: None, executor=made_by).folds


@pytest.mark.parametrize(
    ("settings", "is_taken"),
    [
        # The rule ends the run, and each fold by itself.
        ({"seed": 3, "parts": 2, "generations": 40, "plateau": 2}, True),
        # The run does not hear the rule, so folds do not either.
        ({"generations": 2, "plateau": 9}, False),
    ],
)
def test_folds_are_those_of_afterwards(searched_run, settings, is_taken, monkeypatch):
    """And nothing is searched again where the run ended as it was asked to."""
    run, path = searched_run(**settings)
    begun, known = run._begun, judge(path)
    assert any(row.genes for row in known.rows)
    if is_taken:
        monkeypatch.setattr(machine, "Workers", None)
    else:
        monkeypatch.setattr(begun, "results", None)
    assert judge(path, run) == known
    assert not begun._worker.is_there


def test_folds_end_with_their_run(searched_run):
    """Also those that a judge has taken and did not come to, as where it failed before."""
    run, _ = searched_run()
    begun = run._begun
    run.submit(begun._setup, range(3))
    assert run._begun is None
    run.__exit__()
    assert not begun._worker.is_there


@pytest.mark.parametrize("is_killed", [True, False])
def test_folds_that_fail_or_give_their_memory_are_searched_now(searched_run, caplog, is_killed):
    """After their process died, and where a GPU's out of memory ended them, with a word on it."""
    run, path = searched_run()
    if is_killed:
        os.kill(run._begun._worker.pid, signal.SIGKILL)
    else:
        assert relieve_shortage()
        assert not run._begun._worker.is_there
        assert not relieve_shortage()
    assert judge(path, run) == judge(path)
    assert "searched" in caplog.text
