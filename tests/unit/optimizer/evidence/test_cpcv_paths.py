"""Each split takes the strongest trial of its training, and paths join what it did in tests."""

import math

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.cpcv_paths import evaluate_fixed_paths
from optimizer.evidence.splits import combinatorial, list_paths, list_windows
from tests.support.series import make_bars

SUM_R, SUM_R2 = 0, 1


def draw_trials(trials, seed, count=6, tests=2):
    """Splits of two series, their windows, and sums of trials in them."""
    series = [make_bars(120), make_bars(90)]
    searched = [Window.whole(series[0]), Window(1, 5, 80)]
    splits = combinatorial(series, searched, count=count, tests=tests, purge=2, embargo=3)
    windows = list_windows(splits)
    sums = np.zeros((trials, len(windows), 2))
    rng = np.random.Generator(np.random.PCG64(seed))
    sums[:, :, SUM_R] = rng.normal(0, 1, sums.shape[:2])
    sums[:, :, SUM_R2] = rng.random(sums.shape[:2]) + 0.5
    return splits, windows, sums


def plainly(splits, windows, found, of_paths):
    """Strengths of paths by the letter, a window at a time."""
    numbers = {(w.series, w.start, w.end): i for i, w in enumerate(windows)}

    def sums(trial, parts):
        rows = [found[trial, numbers[w.series, w.start, w.end]] for w in parts]
        return sum(row[SUM_R] for row in rows), sum(row[SUM_R2] for row in rows)

    def strength(trial, parts):
        r, r2 = sums(trial, parts)
        return r / math.sqrt(r2)

    chosen = [max(range(len(found)), key=lambda t: strength(t, s.train)) for s in splits]
    strengths = []
    for path in of_paths:
        parts = [
            sums(chosen[s], splits[s].tests[splits[s].groups.index(group)])
            for group, s in enumerate(path)
        ]
        strengths.append(sum(r for r, _ in parts) / math.sqrt(sum(r2 for _, r2 in parts)))
    return sorted(strengths)


@pytest.mark.parametrize(("count", "tests"), [(6, 2), (5, 1), (7, 3)])
def test_paths_equal_the_letter(count, tests):
    """Least, low and median strength."""
    splits, windows, sums = draw_trials(9, 1, count, tests)
    expected = plainly(splits, windows, sums, list_paths(count, tests))
    actual = evaluate_fixed_paths(sums, windows, splits, list_paths(count, tests))
    assert actual.least == pytest.approx(expected[0], rel=1e-12)
    assert actual.low == pytest.approx(expected[math.ceil(len(expected) / 20) - 1], rel=1e-12)
    assert actual.median == pytest.approx(np.median(expected), rel=1e-12)


def test_trials_that_never_traded_have_no_paths():
    """Nothing is defined then."""
    splits, windows, sums = draw_trials(2, 2)
    assert (
        evaluate_fixed_paths(0 * sums, windows, splits, list_paths(6, 2)).why["least"]
        == "no path traded"
    )
