"""Jobs are done once and named in errors, on workers as without."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.costs import Costs
from engine.batch import Engine
from optimizer.cluster import jobs as module
from optimizer.cluster.jobs import (
    ClusterSearches,
    FailedError,
    PackedSetup,
    Parcel,
    in_order,
    pack_setup,
    refuse_own_indicators,
    run_jobs,
)
from optimizer.cluster.sharded import Shards, on_workers
from optimizer.errors import ConfigError, WorkersLostError
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.store import RunStore
from strategy import words as w
from tests.support.clusters import (
    SERIES,
    PlayedSetup,
    make_jobs,
    play_cluster,
    run_search,
    search_on_seven,
)
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task, recorded_run
from tests.support.own_words import efficiency

BARS = make_planted_market(3, 400, 0)


def unpack(body, carried):
    """What a worker makes of a packed setup."""
    names, contents = zip(*carried, strict=True) if carried else ((), ())
    return PackedSetup(body, names, contents).unpack(contents, 1)


def test_every_job_is_done_once_by_a_setup_that_is_made_once(played):
    """On each worker, however many batches there are; results are the same to the last bit."""
    for name in "01":
        played.add(name)
    odd = np.array([np.nan, -0.0, np.inf, 5e-324, np.frombuffer(b"\1" * 6 + b"\xf8\x7f")[0]])
    made = PlayedSetup.made
    with played.join() as cluster:
        parcel = Parcel(cluster, PlayedSetup(BARS))
        other = Parcel(cluster, PlayedSetup(BARS, "another"))
        assert [bars.key for bars in parcel.bars] == [bars.key for bars in other.bars]
        for _ in range(3):
            jobs = [replace(job, job=("echo", odd)) for job in make_jobs(cluster, 9)]
            jobs = [replace(job, parcel=parcel) for job in jobs]
            results = dict(run_jobs(cluster, jobs))
            assert sorted(results) == list(range(9))
            assert {result.tobytes() for result in results.values()} == {odd.tobytes()}
        assert list(run_jobs(cluster, [])) == []
    assert PlayedSetup.made - made <= 2


def test_an_error_of_a_job_names_it_and_is_not_tried_again(played):
    """And what else was begun is taken back."""
    for name in "01":
        played.add(name)
    with played.join() as cluster:
        jobs = make_jobs(cluster, 9, "raise")
        begun = PlayedSetup.begun["raise"]
        with pytest.raises(FailedError, match=r"job \d: ValueError: no") as caught:
            list(run_jobs(cluster, [*make_jobs(cluster, 3), *jobs[3:]]))
        assert PlayedSetup.begun["raise"] - begun <= 4
        assert dict(run_jobs(cluster, make_jobs(cluster, 2))) == {0: 0, 1: 1}
        with pytest.raises(WorkersLostError, match="job 0 ended 4 workers"):
            list(run_jobs(cluster, make_jobs(cluster, 1, "lost")))
    assert [caught.value.exit_code, FailedError("x", ConfigError("x")).exit_code] == [1, 2]
    assert FailedError("x", MemoryError()).exit_code == 2


@pytest.mark.parametrize("error", [WorkersLostError("gone"), KeyboardInterrupt()])
def test_what_came_early_is_told_before_what_went_wrong(error):
    """One job that never ends must not cost what the others found."""

    def ending(order):
        yield from ((index, None) for index in order)
        raise error

    jobs = in_order(ending([1, 0, 5, 3, 4]))
    assert [next(jobs)[0] for _ in range(5)] == [0, 1, 3, 4, 5]
    with pytest.raises(type(error)):
        next(jobs)


def test_large_bars_are_read_from_a_shared_folder(tmp_path, monkeypatch):
    """Written once; without a folder, or where it cannot be read, they are refused.

    What was worked out of bars is no part of them.
    """
    monkeypatch.setattr(module, "MOST_CARRIED", 1000)
    monkeypatch.setattr(module, "own_address", lambda: "tcp://b:1")
    for _ in range(2):
        body, carried = pack_setup(PlayedSetup(BARS), tmp_path / "large")
        (file,) = (tmp_path / "large").iterdir()
        assert carried == []
        bars = unpack(body, carried).bars
        assert (bars.content_hash, bars.notes) == (BARS.content_hash, BARS.notes)
        assert pack_setup(PlayedSetup(bars), None) == (body, [])
    file.write_bytes(b"x")
    with pytest.raises(ConfigError, match="other bytes"):
        unpack(body, carried)
    file.unlink()
    with pytest.raises(ConfigError, match=r"tcp://b:1 cannot read bars .* all hosts share"):
        unpack(body, carried)
    with pytest.raises(ConfigError, match="send"):
        pack_setup(PlayedSetup(BARS), None)


def test_bars_that_were_changed_on_their_way_are_refused(played, monkeypatch):
    """By what they came as."""
    played.add("0")
    honest = module.pack_setup

    def pack_otherwise(*arguments):
        body, ((digest, content),) = honest(*arguments)
        return body, [(digest, content[:-1] + b"x")]

    monkeypatch.setattr(module, "pack_setup", pack_otherwise)
    with played.join() as cluster, pytest.raises(FailedError, match="has other bytes") as refused:
        list(run_jobs(cluster, make_jobs(cluster, 1, bars=BARS)))
    assert refused.value.exit_code == 2


def test_what_cannot_be_packed_is_refused(monkeypatch):
    """Functions of a program, and what has none."""
    with pytest.raises(ConfigError, match="leave --cluster out"):
        pack_setup(PlayedSetup(name=lambda: None), None)
    kind = type("Mine", (PlayedSetup,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Mine", kind, raising=False)
    with pytest.raises(ConfigError, match="this program itself defines"):
        pack_setup(kind(), None)


def test_an_own_indicator_is_refused_by_name():
    """Other hosts do not have its code."""
    spec = w.strategy("Own.", long=w.close > efficiency(9), stop=w.share(0.1))
    with pytest.raises(ConfigError, match="--cluster: own indicator 'efficiency'"):
        refuse_own_indicators(spec)


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_null_begun_here_goes_on_there_and_back(two, run, tmp_path):
    """Rows are rows, wherever they were made."""
    path, expected = run
    copy = shutil.copytree(path, tmp_path / path.name)
    for count, place in ((2, None), (5, ClusterSearches(two)), (12, None)):
        plan = PLAN.model_copy(update={"null": count, "folds": 0, "cpcv": None})
        judgement = judge_run(copy, plan, {}, lambda progress: None, executor=place)
    assert judgement.null == expected.null
    assert len(list_searches(copy)) == len(set(list_searches(copy)))


@pytest.mark.slow
@pytest.mark.parametrize(("over", "shards"), [("mean", 1), ("worst", 2), ("q25", 7)])
def test_a_front_of_seven_symbols_is_the_same_on_workers(two, over, shards):
    """Front, trials and certificate, into however many shards they are cut."""
    task = search_on_seven(over_windows=over)
    expected = run_search(task)
    assert expected[3].is_green
    assert expected[3].trades
    assert run_search(task, on_workers(two, task, shards)) == expected


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_account_with_limits_is_searched_here(two):
    """Whom it takes hangs on all symbols, of which a worker has some."""
    task = make_task(*SERIES[:2], costs=Costs(max_positions=1))
    with pytest.raises(ConfigError, match="account with limits"):
        Shards(two, is_judged=False, least_s=0.0).make_evaluator(task, task.device())
    with pytest.raises(ConfigError, match="account with limits"):
        on_workers(two, task)
    made = Shards(two, is_judged=True, least_s=0.0).make_evaluator(task, task.device())
    assert isinstance(made.problem.engine, Engine)
