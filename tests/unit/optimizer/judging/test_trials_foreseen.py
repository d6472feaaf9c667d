"""The announced time of statistics over all trials is about what they take."""

import time
from dataclasses import replace

import pytest

from optimizer.judging.judge import judge_run
from optimizer.judging.plan import Plan
from optimizer.judging.verdict import estimate_trials_seconds
from optimizer.report.run import evolve
from optimizer.store import RunStore
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, judge_briefly, write_bars

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("symbols", "bars"), [(1, 20_000), (20, 700)])
def test_statistics_over_trials_are_foreseen(tmp_path, symbols, bars):
    """Within a factor of six in time of the processor; few windows and many."""
    data = [
        write_bars(tmp_path / f"s{i}.csv", replace(make_planted_market(i, bars, 8), symbol=f"S{i}"))
        for i in range(symbols)
    ]
    given = {**SMALL, "population": 128, "generations": 6, "polish": 0, "min_trades": 2}
    path = evolve({**given, "data": data, "runs": str(tmp_path / "runs"), "judge": False}).path
    with RunStore.open(path) as store:
        result = load_result(store)
    foreseen = estimate_trials_seconds(result.data.windows, result.evaluated)
    # The search is made again first, and loops may be compiled.
    judge_briefly(path, blocks=12)
    seen = []

    def watch(part, *_):
        seen.append((part, time.process_time()))

    judge_run(path, Plan(folds=0, blocks=12), {}, watch)
    took = time.process_time() - dict(seen)["statistics over all trials"]
    assert took / 6 < foreseen < 6 * took, (took, foreseen)
