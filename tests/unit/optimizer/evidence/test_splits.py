"""Splits cover what they should, and training never touches a test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from data.windows import groups
from optimizer.evidence.plan import Plan
from optimizer.evidence.splits import combinatorial, list_paths, walk_forward
from tests.support.judging import make_task
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
