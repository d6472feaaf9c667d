"""Honest runs of all kinds are whole: nothing is found anew otherwise than it was recorded."""

import pytest

from optimizer.report.run import evolve
from optimizer.run.runner import Observer, resume_run
from optimizer.store import RunStore
from optimizer.verifying.check import check_run
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, judge_briefly, recorded_run, write_bars

pytestmark = pytest.mark.slow

KINDS = {
    "plain": {},
    "not polished": {"polish": 0},
    "lattice with regret": {"search": "lattice", "steps": {"ema_fast": 60}, "regret": 64},
    "plateau": {"generations": 40, "plateau": 2},
    "evaluations": {"generations": 40, "max_evaluations": 60},
    "no time": {"generations": 4000, "max_seconds": 0.01},
    "empty front": {"min_trades": 100_000},
    "summaries": {"keep": "last", "generations": 6},
    "budget": {"budget": 1, "generations": 6},
    "parts, worst": {"parts": 3, "over_windows": "worst"},
    "held out": {"holdout": "25%"},
    "constraints": {"constraints": ["max_drawdown <= 0.5", "win_rate >= 0.6 soft"]},
    "few objectives": {"objectives": "sharpe"},
    "near": {"objectives": "strength@near,max_drawdown"},
    "islands": {"islands": 2, "population": 32},
    "other costs": {"fee_bp": 1.0, "bounds": {"ema_fast": [20, 90]}},
    "mean reversion": {"strategy": "mean_reversion"},
    "adaptive trend": {"strategy": "adaptive_trend"},
}


def assert_whole(path):
    """Everything was found anew, and nothing was wrong."""
    with RunStore.open(path) as store:
        problems = check_run(store, {}, 3)
    assert (problems.problems, problems.unchecked, problems.is_whole) == ((), (), True)


@pytest.fixture(scope="module")
def bars():
    """A market of a thousand hours and more."""
    return make_planted_market(7, 1500, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_each_kind_is_whole(tmp_path, bars, kind):
    """Before it is judged, and afterwards."""
    path = recorded_run(tmp_path, bars, **KINDS[kind])
    assert_whole(path)
    judge_briefly(path, folds=2, train=1, purge=8, embargo=8, null=3, stop_after=2, causal=True)
    assert_whole(path)


def test_a_run_that_began_with_another_is_whole(tmp_path, bars):
    """Its notes are those of what it began with, which may be gone."""
    first = recorded_run(tmp_path, bars)
    path = recorded_run(tmp_path, bars, warm_start=str(first), holdout="25%", seed=2)
    assert_whole(path)


def test_a_run_that_was_gone_on_with_is_whole(tmp_path, bars):
    """Its header stays that of its beginning."""
    path = recorded_run(tmp_path, bars)
    resume_run(path, {"generations": 6}, Observer(), lambda: False)
    assert_whole(path)


def test_a_run_that_was_judged_twice_is_whole(tmp_path, bars):
    """With another pick, and with more null searches."""
    path = recorded_run(tmp_path, bars, holdout="25%", generations=8)
    judge_briefly(path, folds=2, train=1, purge=8, null=2, stop_after=9)
    judge_briefly(path, null=5, stop_after=9, is_open=True)
    assert_whole(path)
    judge_briefly(path, pick=1, folds=2, train=1, purge=8, anchored=True)
    assert_whole(path)


def test_a_run_of_several_symbols_is_whole(tmp_path, bars):
    """Each with windows of its own."""
    markets = {
        name: make_planted_market(seed, 1200, 0.5) for seed, name in ((1, "one"), (2, "two"))
    }
    data = [write_bars(tmp_path / f"{name}.csv", market) for name, market in markets.items()]
    given = {**SMALL, "data": data, "runs": str(tmp_path / "runs"), "holdout": "20%"}
    path = evolve({**given, "judge": False}).path
    assert_whole(path)
    judge_briefly(path, folds=2, train=1, purge=8, null=2, is_open=True)
    assert_whole(path)
