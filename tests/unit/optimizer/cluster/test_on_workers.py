"""On workers of this machine everything is found that is found without them, bit for bit."""

import shutil
from dataclasses import replace

import pytest

from engine.accounts.costs import Costs
from engine.batch import Engine
from optimizer.cluster.jobs import ClusterSearches
from optimizer.cluster.sharded import on_shards, on_workers
from optimizer.errors import ConfigError
from optimizer.evidence.judge import judge_run
from optimizer.evidence.plan import Plan
from optimizer.store import RunStore
from tests.support.clusters import SERIES, play_cluster, run_search, search_on_seven
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task, recorded_run

pytestmark = pytest.mark.slow

PLAN = Plan(null=12, folds=2, train=2, purge=8, cpcv="4,1", embargo=8, blocks=0)


@pytest.fixture(scope="module")
def two():
    """Two workers in this process, which packs and sends as to any other."""
    with play_cluster() as played:
        for name in "01":
            played.add(name)
        with played.join() as cluster:
            yield cluster


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run to be judged, and what is found out about it here."""
    folder = tmp_path_factory.mktemp("judged")
    path = recorded_run(
        folder, make_planted_market(7, 900, 8), generations=3, min_trades=10, polish=16
    )
    alone = shutil.copytree(path, folder / "alone" / path.name)
    return path, judge_run(alone, PLAN, {}, lambda progress: None)


def judge_copy(cluster, path, to, plan=PLAN):
    """What is found out about a copy of a run on a cluster, and where the copy is."""
    copy = shutil.copytree(path, to / path.name)
    place = ClusterSearches(cluster)
    return judge_run(copy, plan, {}, lambda progress: None, executor=place), copy


def list_searches(path):
    """Searches that were recorded, in the order in which they were."""
    with RunStore.open(path) as store:
        assert store.verify() == []
        rows = [(name, row) for name, row in store.evidence if name in ("null", "fold", "cpcv")]
    return [(name, *row["settings"].values(), row["number"]) for name, row in rows]


def test_a_judgement_is_the_same_on_workers(two, run, tmp_path):
    """p, folds, paths and verdict; recorded in the order of numbers."""
    path, expected = run
    actual, copy = judge_copy(two, path, tmp_path)
    assert replace(actual, verdict=expected.verdict) == expected
    assert actual.verdict.grade == expected.verdict.grade
    rows = list_searches(copy)
    assert len(rows) == len(set(rows))
    numbers = [number for name, *_, number in rows if name == "null"]
    assert numbers == list(range(1, expected.null.shuffled.run + 1))


def test_a_null_begun_here_goes_on_there_and_back(two, run, tmp_path):
    """Rows are rows, wherever they were made."""
    path, expected = run
    copy = shutil.copytree(path, tmp_path / path.name)
    for count, place in ((2, None), (5, ClusterSearches(two)), (12, None)):
        plan = PLAN.model_copy(update={"null": count, "folds": 0, "cpcv": None})
        judgement = judge_run(copy, plan, {}, lambda progress: None, executor=place)
    assert judgement.null == expected.null
    assert len(list_searches(copy)) == len(set(list_searches(copy)))


@pytest.mark.parametrize(("over", "shards"), [("mean", 1), ("worst", 2), ("q25", 7)])
def test_a_front_of_seven_symbols_is_the_same_on_workers(two, over, shards):
    """Front, trials and certificate, into however many shards they are cut."""
    task = search_on_seven(over_windows=over)
    expected = run_search(task)
    assert expected[3].is_green
    assert expected[3].trades
    assert run_search(task, on_workers(two, task, shards)) == expected


def test_trades_are_listed_on_workers_too(two):
    """Ledgers of each candidate and window, in every bit, into however many shards they are cut."""
    task = search_on_seven()
    genomes = task.random_individuals(5)
    expected = list(task.engine(device="cpu").ledgers(genomes))
    actual = list(on_workers(two, task, 3).problem.engine.ledgers(genomes))
    for own, other in zip(actual, expected, strict=True):
        for ledger, same in zip(own, other, strict=True):
            assert ledger.rejected == same.rejected
            for name, column in same.columns().items():
                assert getattr(ledger, name).tobytes() == column.tobytes(), name
    assert any(len(ledger) for own in expected for ledger in own)


def test_an_account_with_limits_is_searched_here(two):
    """Whom it takes hangs on all symbols, of which a worker has some."""
    task = make_task(*SERIES[:2], costs=Costs(max_positions=1))
    with pytest.raises(ConfigError, match="account with limits"):
        on_shards(two, is_judged=False, least_s=0.0)(task, task.device())
    with pytest.raises(ConfigError, match="account with limits"):
        on_workers(two, task)
    made = on_shards(two, is_judged=True, least_s=0.0)(task, task.device())
    assert isinstance(made.problem.engine, Engine)
