"""A judge that is killed again and again comes to the same numbers as one that is left alone."""

import shutil
from dataclasses import replace

import pytest

from optimizer.judging.judge import judge_run
from optimizer.judging.judgement import read_judgement
from optimizer.judging.null import NullSearch
from optimizer.judging.plan import Plan
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import child_judge, recorded_run
from tests.support.kill import ENDLESS, child, kill_process

SEARCHES_A_KILL = 40
"""So many null searches leave some to be made after the last kill."""


@pytest.mark.slow
def test_null_searches_killed_again_and_again(tmp_path, kills):
    """With folds before them: the same p, the same judgement, and no search counts twice."""
    searches = SEARCHES_A_KILL * kills
    given = {"generations": 12, "min_trades": 10, "polish": 16, "threads": 2}
    path = recorded_run(tmp_path, make_planted_market(7, 900, 0), **given)
    alone = shutil.copytree(path, tmp_path / "alone" / path.name)
    for number in range(kills):
        with child(child_judge, path, searches) as process:
            kill_process(process, 6 + 5 * (number % 4), 0.7 * (number % 3 == 2))
    with RunStore.open(path) as store:
        before = len(list_searches(store))
        assert read_judgement(store) is None
    assert 0 < before < searches
    with child(child_judge, path, searches) as process:
        assert process.stdout.read().splitlines()[-1] == "done"
    plan = Plan(null=searches, stop_after=ENDLESS, folds=3, train=2, purge=8, blocks=4)
    expected = judge_run(alone, plan, {}, lambda *progress: None)
    with RunStore.open(path) as store, RunStore.open(alone) as other:
        judgement = read_judgement(store)
        assert list_searches(store) == list_searches(other)
        assert store.verify() == []
    # Seconds that searching takes are no evidence, and stand in the sentence of what is unjudged.
    assert replace(judgement, verdict=expected.verdict) == expected
    assert judgement.verdict.grade == expected.verdict.grade
    assert (judgement.null.shuffled.run, judgement.null.shuffled.stopped) == (searches, False)


def list_searches(store):
    """Null searches that were recorded, by number; each once."""
    rows = [NullSearch.read(row) for name, row in store.evidence if name.startswith("null/")]
    by_number = {row.number: row for row in rows}
    assert len(by_number) == len(rows)
    return by_number
