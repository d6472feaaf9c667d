"""Classes, runs and the direction, against a walk that reads like the law."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optimizer.trend_scan.result import (
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


@given(ROWS, THRESHOLDS)
def test_classes_directions_and_runs_are_those_of_the_law(row, thresholds):
    """At every bar, values at a threshold and unknown ones among them."""
    (high, low), direction = thresholds, ""
    classes, directions = [], []
    for t, value in enumerate(row):
        word = "long" if value > high else "short" if value < low else "neutral"
        classes.append("" if math.isnan(value) else word)
        before = row[t - 1] if t else math.nan
        if value > high and before <= high:
            direction = "long"
        elif value < low and before >= low:
            direction = "short"
        directions.append(direction)
    codes = classify_bars(row, high, low)
    assert classes == [WORDS[code] for code in codes.tolist()]
    assert directions == [DIRECTIONS[code] for code in find_directions(row, high, low).tolist()]
    starts = [t for t in range(len(row)) if t == 0 or classes[t] != classes[t - 1]]
    assert starts == run_starts(codes).tolist()
