"""Classes, runs and the direction, against a walk that reads like the law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.trend_scan.classes import (
    DIRECTIONS,
    WORDS,
    classify_bars,
    find_directions,
    run_starts,
)

VALUES = st.sampled_from([-1.0, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 1.0])
ROWS = st.tuples(st.integers(0, 3), st.lists(VALUES, min_size=1, max_size=40)).map(
    lambda drawn: np.array([math.nan] * drawn[0] + drawn[1])
)
THRESHOLDS = st.tuples(VALUES, VALUES).map(lambda pair: (max(pair), min(pair)))


def walk_classes(row, high, low):
    """Class and direction at each bar."""
    classes, directions, direction = [], [], ""
    for t, value in enumerate(row):
        if math.isnan(value):
            classes.append("")
        else:
            classes.append("long" if value > high else "short" if value < low else "neutral")
        before = row[t - 1] if t else math.nan
        if value > high and before <= high:
            direction = "long"
        elif value < low and before >= low:
            direction = "short"
        directions.append(direction)
    return classes, directions


@given(ROWS, THRESHOLDS)
def test_classes_and_directions_are_those_of_the_law(row, thresholds):
    """At every bar, values at a threshold and unknown ones among them."""
    classes, directions = walk_classes(row, *thresholds)
    assert classes == [WORDS[code] for code in classify_bars(row, *thresholds).tolist()]
    assert directions == [DIRECTIONS[code] for code in find_directions(row, *thresholds).tolist()]


@given(ROWS, THRESHOLDS)
def test_runs_are_the_longest_stretches_of_one_class(row, thresholds):
    """They begin at bar 0 and wherever the class is another than at the bar before."""
    classes, _ = walk_classes(row, *thresholds)
    expected = [t for t in range(len(row)) if t == 0 or classes[t] != classes[t - 1]]
    assert expected == run_starts(classify_bars(row, *thresholds)).tolist()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.1, 0.2], ["", "long"]),
        ([0.1 + 1e-9, 0.2], ["", ""]),
        ([0.0, 0.1], ["", ""]),
        ([math.nan, 0.2], ["", ""]),
        ([0.0, -0.2, 0.0, -0.2], ["", "short", "short", "short"]),
    ],
    ids=["from_the_threshold", "above_before", "to_the_threshold", "unknown", "keeps"],
)
def test_a_cross_comes_from_the_threshold_or_before_it(row, expected):
    """A value at the threshold has not crossed it; the bar after it may."""
    actual = find_directions(np.array(row), 0.1, -0.1).tolist()
    assert expected == [DIRECTIONS[code] for code in actual]
