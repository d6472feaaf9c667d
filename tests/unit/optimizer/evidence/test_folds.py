"""Folds and paths: each training searched again, its pick judged on bars that it did not see."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from optimizer.evidence.folds import (
    FoldPick,
    FoldSettings,
    FoldSetup,
    build_folds_record,
    build_paths_record,
    measure_drift,
)
from optimizer.evidence.returns import daily_returns, list_days
from optimizer.evidence.sharpe import compute_psr
from optimizer.evidence.splits import Split, combinatorial, walk_forward
from optimizer.run.search import on_other_bars, search
from strategy import Gene, GenomeLayout
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.evidence import compute_plain_strength, make_planted_market
from tests.support.judging import make_task

BARS = make_planted_market(7, 1500, 8)
DAY_NS = 86_400 * 10**9
SETTINGS = FoldSettings(3, 3, 8, anchored=False)


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
    assert [(w.start, w.end) for split in splits for w in split.train] == [
        (0, 742),
        (250, 992),
        (500, 1242),
    ]
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
    gone = [picks[0], FoldPick(1, None), picks[2]]
    record = build_folds_record(task, splits, gone, SETTINGS)
    assert record.rows[1].genes == {}
    assert record.rows[1].why["mean_r"] == "no candidate was feasible"
    assert record.trades == record.rows[0].trades + record.rows[2].trades
    assert record.drift is None
    none = build_folds_record(task, splits, [FoldPick(n, None) for n in range(3)], SETTINGS)
    assert (none.trades, none.mean_r, none.psr, none.closing_days) == (0, None, None, 0)
    assert "no candidate was feasible in any fold" in none.why.values()


def test_paths_join_the_tests_of_their_splits(task):
    """Four groups, two tested at a time: six splits, one without a pick, three paths."""
    splits = combinatorial([BARS], task.markets.windows, count=4, tests=2, purge=8, embargo=30)
    setup = FoldSetup(task, splits)
    picks = [setup.run(number) for number in range(6)]
    picks[2] = FoldPick(2, None)
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
