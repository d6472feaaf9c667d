"""Folds and paths: training never touches a test, and picks are judged on bars not seen."""

import os
import shutil
import signal
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window, groups
from engine.batch import Engine
from engine.runtime.shortage import relieve_shortage
from optimizer.config.run_config import RunConfig
from optimizer.evidence import concurrent_folds
from optimizer.evidence.concurrent_folds import SpareCores, search_folds
from optimizer.evidence.folds import (
    FoldSetup,
    build_folds_record,
    build_paths_record,
    measure_drift,
)
from optimizer.evidence.jobs import machine
from optimizer.evidence.jobs.executor import MachineShare, PartPick
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.evidence.out_of_sample import add_up, measure_out_of_sample
from optimizer.evidence.returns import daily_returns, list_days
from optimizer.evidence.sharpe import compute_psr
from optimizer.evidence.splits import Split, combinatorial, list_paths, walk_forward
from optimizer.run.runner import Observer, on_other_bars, search, start_run
from strategy import Gene, GenomeLayout
from tests.support.evidence import (
    compute_plain_strength,
    counted_bars,
    make_ledger,
    make_planted_market,
)
from tests.support.judged import make_unseen
from tests.support.judging import SMALL, make_task, write_bars
from tests.support.references import BACKEND_PARAMETERS
from tests.support.series import MINUTE_NS, START_NS, make_bars
from tests.support.worlds import SHORT_SPECS


def ranges(windows):
    """First bar and end of each window."""
    return [(window.start, window.end) for window in windows]


def list_covered(windows, series=0):
    """The bars of a series that windows hold, each once."""
    held = [range(w.start, w.end) for w in windows if w.series == series]
    assert sum(map(len, held)) == len(set().union(*held))
    return set().union(*held)


def one_series(length):
    """A series and its whole window."""
    bars = make_bars(length)
    return [bars], [Window.whole(bars)]


def test_combinatorial_splits_have_the_numbers_of_the_law():
    """[0, 100) in 6 groups, 2 of them tested, purge 3 and embargo 5: split 7."""
    splits = combinatorial(*one_series(100), count=6, tests=2, purge=3, embargo=5)
    assert ranges(splits[7].train) == [(0, 13), (38, 50), (50, 63), (88, 100)]
    assert ranges(splits[7].test) == [(16, 33), (66, 83)]
    assert splits[7].groups == (1, 4)
    assert list_paths(6, 2)[1] == [1, 5, 5, 6, 7, 8]


@given(st.data())
def test_training_keeps_its_distance_from_tests(data):
    """No training bar lies within the purge before a test, or the embargo after one."""
    count = data.draw(st.integers(2, 7))
    tests = data.draw(st.integers(1, count - 1))
    purge, embargo = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    length = data.draw(st.integers(max(count, 2 * count * (purge + embargo)), 300))
    for split in combinatorial(
        *one_series(length), count=count, tests=tests, purge=purge, embargo=embargo
    ):
        tested = list_covered(split.test)
        near = {t + k for w in split.test for t in (w.start,) for k in range(-purge, 0)}
        near |= {w.end + k for w in split.test for k in range(embargo)}
        assert list_covered(split.train) == set(range(length)) - tested - near


@given(st.data())
def test_folds_train_before_they_test(data):
    """Training ends `purge` bars before the test, and tests follow each other to the end."""
    folds, train = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    purge, anchored = data.draw(st.integers(0, 5)), data.draw(st.booleans())
    length = data.draw(st.integers(max(folds + train, 2 * purge * (folds + train)), 200))
    cuts = [0, *(end for _, end in groups(0, length, folds + train))]
    splits = walk_forward(
        *one_series(length), folds=folds, train_groups=train, purge=purge, anchored=anchored
    )
    for f, split in enumerate(splits):
        assert ranges(split.train) == [(0 if anchored else cuts[f], cuts[f + train] - purge)]
        assert ranges(split.test) == [(cuts[f + train], cuts[f + train + 1])]
    assert splits[-1].test[-1].end == length


def test_borders_of_several_symbols_follow_all_of_their_bars():
    """The law's own case: opens 0, 2, .., 98 and 40, 41, .., 69 in four groups."""
    hours = [np.arange(0, 100, 2), np.arange(40, 70)]
    series = [
        make_bars(len(opens), timestamp=START_NS + opens * 60 * MINUTE_NS, symbol=name)
        for opens, name in zip(hours, "AB", strict=True)
    ]
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    splits = combinatorial(series, windows, count=4, tests=1)
    borders = [
        min(
            (series[w.series].timestamp[w.start] - START_NS) // (60 * MINUTE_NS) for w in split.test
        )
        for split in splits
    ]
    assert borders == [0, 40, 53, 66]
    assert [[w.series for w in split.test] for split in splits] == [[0], [0, 1], [0, 1], [0, 1]]
    assert ranges(w for split in splits for w in split.test if w.series == 1) == [
        (0, 13),
        (13, 26),
        (26, 30),
    ]


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(0, 3))
def test_no_test_of_one_series_lies_in_the_training_of_another(seed, purge, embargo):
    """Neither in time nor within purge and embargo, counted in bars of each series."""
    rng = np.random.Generator(np.random.PCG64(seed))
    series, windows = [], []
    for number in range(3):
        start = int(rng.integers(0, 40)) * 15 * MINUTE_NS
        times = start + np.cumsum(rng.integers(1, 5, 90)) * 15 * MINUTE_NS
        series.append(make_bars(90, timestamp=times))
        windows.append(Window(number, int(rng.integers(0, 9)), int(rng.integers(70, 91))))
    for split in combinatorial(series, windows, count=5, tests=2, purge=purge, embargo=embargo):
        times = {w.series: series[w.series].timestamp for w in windows}
        trained = [(times[w.series][w.start], times[w.series][w.end - 1]) for w in split.train]
        for test in split.test:
            first, last = times[test.series][test.start], times[test.series][test.end - 1]
            assert all(b < first or last < a for a, b in trained)
        for w in split.train:
            tested = list_covered(split.test, w.series)
            for bar in range(w.start, w.end):
                assert not tested & set(range(bar - embargo, bar + purge + 1))


@pytest.mark.parametrize("name", SHORT_SPECS)
def test_default_cuts_are_the_longest_trade_and_the_longest_warm_up(name):
    """No trade that was cut short would have lasted longer, and no genome looks further back."""
    spec, plan = SHORT_SPECS[name], Plan()
    task = make_task(make_bars(99, 900 * 10**9), spec=spec)
    assert plan.choose_purge(task) == spec.layout.gene("max_hold").high
    units = np.random.Generator(np.random.PCG64(1)).random((50, len(spec.layout)))
    for u in (0.0, 1.0, *units):
        genome = spec.layout.clip(spec.layout.low + u * (spec.layout.high - spec.layout.low))
        assert spec.warm_up(spec.layout.decode(genome)) <= plan.choose_embargo(task)
    assert (Plan(purge=3).choose_purge(task), Plan(embargo=4).choose_embargo(task)) == (3, 4)


BARS = make_planted_market(7, 1500, 8)
DAY_NS = 86_400 * 10**9
SETTINGS = {"folds": 3, "train": 3, "purge": 8, "anchored": False}


@pytest.fixture(scope="module")
def task():
    """Of one market, to be searched again."""
    return make_task(BARS, min_trades=12)


@pytest.fixture(scope="module")
def folds(task):
    """Three folds, each trained on three groups of six, and their picks."""
    splits = walk_forward([BARS], task.markets.windows, folds=3, train_groups=3, purge=8)
    setup = FoldSetup(task, splits)
    return splits, [setup.run(number) for number in range(3)]


def test_parts_are_part_of_the_search(task):
    """Each training and each null market is cut as the bars of the search were, from its whole."""
    cut = on_other_bars(
        replace(task, config=task.config.model_copy(update={"parts": 3})),
        task.markets.series,
        task.markets.windows,
    )
    assert [len(window) for window in cut.markets.windows] == [500, 500, 500]
    assert cut.markets.uncut == task.markets.windows
    train = walk_forward([BARS], cut.markets.uncut, folds=3, train_groups=3, purge=8)[1].train
    again = on_other_bars(cut, cut.markets.series, train)
    assert again.markets.uncut == tuple(replace(part, role="search") for part in train)
    assert len(again.markets.windows) == 3


def backtest(task, genome, start, end):
    """The ledger of one individual in [start, end)."""
    engine = Engine(task.spec, [BARS], [Window(0, start, end)], task.costs, device="cpu")
    return engine.trades(np.array(genome))[0]


def daily(ledger, start, end):
    """R of each day from the first to the last bar of [start, end), by hand."""
    first, last = (int(BARS.timestamp[bar]) // DAY_NS for bar in (start, end - 1))
    days = [0.0] * (last - first + 1)
    for bar, r in zip(ledger.exit_bar.tolist(), ledger.r.tolist(), strict=True):
        days[int(BARS.timestamp[bar]) // DAY_NS - first] += r
    return days


def test_a_fold_is_a_search_of_its_training_alone(task, folds):
    """Same settings, fewest trades by bars, bars after the training gone, and its strongest."""
    splits, picks = folds
    for split, pick in zip(splits, picks, strict=True):
        (window,) = split.train
        bars = BARS.until(window.end)
        fewest = -(-12 * len(window) // 1500)
        alone = make_task(bars, windows=[Window(0, window.start, window.end)], min_trades=fewest)
        front = search(alone, alone.engine()).front
        strengths = [
            compute_plain_strength([backtest(task, genome, window.start, window.end)])
            for genome in front.genomes
        ]
        assert pick.genome == tuple(front.genomes[int(np.argmax(strengths))].tolist())


@pytest.mark.parametrize("device", BACKEND_PARAMETERS)
def test_one_engine_serves_all_folds(task, folds, device, monkeypatch):
    """An engine of all bars picks what an engine of each training picks; no other is made."""
    splits, picks = folds
    served = FoldSetup(task, splits, engine=task.engine(device))
    monkeypatch.setattr(Engine, "__init__", None)
    assert dict(served.run_in_step(range(3))) == dict(enumerate(picks))


def test_a_fold_may_lack_a_series():
    """Others of the same engine have all."""
    early, late = replace(BARS, symbol="EARLY"), BARS.cut(900, 1500, symbol="LATE")
    task = make_task(early, late, min_trades=12)
    trainings = [(0, 0, 700)], [(1, 0, 500)], [(0, 0, 700), (1, 0, 500)]
    splits = tuple(
        Split(tuple(Window(*window, role="train") for window in windows), (), ())
        for windows in trainings
    )
    served = dict(FoldSetup(task, splits, engine=task.engine()).run_in_step(range(3)))
    assert served == {number: FoldSetup(task, splits).run(number) for number in range(3)}


def test_folds_say_what_their_picks_did_unseen(task, folds):
    """Trades, mean R, efficiency and strength against an account in plain Python."""
    splits, picks = folds
    record = build_folds_record(task, splits, picks, SETTINGS)
    ledgers = []
    for split, pick, row in zip(splits, picks, record.rows, strict=True):
        (train,), (test,) = split.train, split.test
        before, after = (backtest(task, pick.genome, w.start, w.end) for w in (train, test))
        ledgers.append(after)
        assert row.trades == len(after)
        assert row.mean_r == pytest.approx(sum(after.r.tolist()) / len(after), rel=1e-9)
        trained, tested = daily(before, train.start, train.end), daily(after, test.start, test.end)
        assert row.efficiency == pytest.approx(np.mean(tested) / np.mean(trained), rel=1e-9)
        assert row.test[0].first == np.datetime_as_string(
            np.datetime64(int(BARS.timestamp[test.start]), "ns"), unit="m"
        ), row.test
        assert row.genes == task.spec.layout.decode(np.array(pick.genome))
    together = [r for ledger in ledgers for r in ledger.r.tolist()]
    assert record.trades == len(together)
    assert record.mean_r == pytest.approx(sum(together) / len(together), rel=1e-9)
    assert record.strength == pytest.approx(compute_plain_strength(ledgers), rel=1e-9)
    tests = [window for split in splits for window in split.test]
    days = daily_returns([ledgers], [BARS], tests, list_days([BARS], tests))
    assert record.psr == compute_psr(days[:, 0]).value
    closed = {
        int(BARS.timestamp[bar]) // DAY_NS for trades in ledgers for bar in trades.exit_bar.tolist()
    }
    assert record.closing_days == len(closed)
    assert (record.train, record.purge, record.embargo) == (3, 8, 0)
    genomes = [np.array(pick.genome) for pick in picks]
    assert record.drift == measure_drift(task.spec.layout, genomes).value


def test_drift_is_the_mean_share_of_the_span():
    """Between neighbours that both have a pick, over genes that may move."""
    layout = GenomeLayout(
        (
            Gene("length", "int", 10, 110, 20),
            Gene("level", "float", 0.5, 4.5, 1.0),
            Gene("fixed", "float", 1.0, 1.0, 1.0),
        )
    )
    picks = [np.array(p) for p in ([10.0, 0.5, 1.0], [60.0, 0.5, 1.0], [60.0, 1.5, 1.0])]
    assert measure_drift(layout, picks).value == pytest.approx((0.5 + 0 + 0 + 0.25) / 4)
    for few in ([picks[0], None, picks[1]], picks[:1]):
        assert measure_drift(layout, few).why == "no two neighbouring folds have a pick"


def test_a_fold_without_a_pick_is_a_row_without_one(task, folds):
    """The others are judged without it."""
    splits, picks = folds
    gone = [picks[0], PartPick(1, None), picks[2]]
    record = build_folds_record(task, splits, gone, SETTINGS)
    assert record.rows[1].genes == {}
    assert record.rows[1].why["mean_r"] == "no candidate was feasible"
    assert record.trades == record.rows[0].trades + record.rows[2].trades
    assert record.drift is None
    none = build_folds_record(task, splits, [PartPick(n, None) for n in range(3)], SETTINGS)
    assert (none.trades, none.mean_r, none.psr, none.closing_days) == (0, None, None, 0)
    assert "no candidate was feasible in any fold" in none.why.values()


def test_paths_join_the_tests_of_their_splits(task):
    """Four groups, two tested at a time: six splits, one without a pick, three paths."""
    splits = combinatorial([BARS], task.markets.windows, count=4, tests=2, purge=8, embargo=30)
    setup = FoldSetup(task, splits)
    picks = [setup.run(number) for number in range(6)]
    picks[2] = PartPick(2, None)
    record = build_paths_record(task, splits, picks, 4, 2)
    chosen = list(combinations(range(4), 2))
    expected = []
    for path in range(3):
        seen = []
        for group in range(4):
            split = [number for number, tests in enumerate(chosen) if group in tests][path]
            if picks[split].genome is not None:
                start, end = group * 375, (group + 1) * 375
                seen.append(backtest(task, picks[split].genome, start, end))
        expected.append(compute_plain_strength(seen))
    assert record.paths == pytest.approx(expected, rel=1e-9)
    assert (record.splits, record.least) == (6, min(record.paths))
    assert record.low == min(record.paths)
    assert record.median == pytest.approx(sorted(expected)[1])


def test_parts_add_up_to_one_mean_and_one_strength():
    """7.5 R of thirty trades whose squares are 18.75, twice; a third part loses 4 of 16."""
    bars = counted_bars(24 * 60)
    ledger = make_ledger(np.tile([1.0, -0.5], 15), exit_bar=24 * np.arange(30))
    part = measure_out_of_sample([ledger], [bars], [Window(0, 0, 24 * 30)])
    assert part.strength == pytest.approx(7.5 / 18.75**0.5)
    assert not part.is_nought
    lost = make_unseen(20, 20, -0.2, 0.1, -1.0)
    trades, mean_r, strength = add_up([part, part, lost])
    assert trades == 80
    assert mean_r == pytest.approx(11 / 80)
    assert strength == pytest.approx(11 / (18.75 + 18.75 + 16) ** 0.5)
    assert np.isnan(add_up([part, replace(lost, strength=None)])[2])


FEW_BARS = make_planted_market(7, 900, 8)
PLAN = Plan(folds=3, train=2, purge=8, blocks=0)


@pytest.fixture
def searched_run(tmp_path, monkeypatch):
    """A run of a kind, and what was searched beside it."""
    monkeypatch.setattr(concurrent_folds, "FEWEST_CORES", 1)
    # The reference needs no processes of its own here.
    monkeypatch.setattr(concurrent_folds, "PROCESSES", 0)
    data = write_bars(tmp_path / "bars.csv", FEW_BARS)
    with SpareCores(PLAN) as run:

        def search(**settings):
            config = RunConfig(
                **{**SMALL, "data": [data], "runs": str(tmp_path), "device": "cpu", **settings}
            )
            return run, Path(start_run(config, Observer(place=run)).path)

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


def test_folds_beside_a_run_are_told_one_by_one(searched_run):
    """So that a killed judgement loses none that was found."""
    run, _ = searched_run()
    told = []

    def tell(pick):
        told.append(pick.number)
        raise EOFError

    with pytest.raises(EOFError):
        search_folds(run._begun._setup, 1, MachineShare("cpu", 1, 2**30), tell)
    assert len(told) == 1


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
