"""Conditions by hand: what is not known is never true, nor is its opposite."""
# ruff: noqa: F403, F405

import math

import numpy as np
import pytest

from strategy.words import *
from tests.support.references import FORMS
from tests.support.series import holds, make_bars

NAN = math.nan
BARS = make_bars(6, extra={"x": np.array([1.0, NAN, 3.0, 2.0, 2.0, 5.0])})
x, k = column("x"), gene("k", 2, 0, 9)
NO, YES = False, True

CASES = {
    "above": (x > 2, [NO, NO, YES, NO, NO, YES]),
    "not_above": (~(x > 2), [YES, NO, NO, YES, YES, NO]),
    "at_least": (x >= k, [NO, NO, YES, YES, YES, YES]),
    "below": (x < 3, [YES, NO, NO, YES, YES, NO]),
    "at_most": (x <= x, [YES, NO, YES, YES, YES, YES]),
    "equal": (equals(x, k), [NO, NO, NO, YES, YES, NO]),
    "unequal": (~equals(x, k), [YES, NO, YES, NO, NO, YES]),
    "both": ((x > 1) & (x < 4), [NO, NO, YES, YES, YES, NO]),
    "either": ((x > 4) | (x < 2), [YES, NO, NO, NO, NO, YES]),
    "not_either": (~((x > 4) | (x < 2)), [NO, NO, YES, YES, YES, NO]),
    "whatever_one_says": ((x > 0) | (close > 0), [YES] * 6),
    "crosses": (crosses_above(x, k), [NO, NO, NO, NO, NO, YES]),
    "crosses_from_a_hole": (crosses_above(x, 0), [NO] * 6),
    "falls": (crosses_below(x, 2.5), [NO, NO, NO, YES, NO, NO]),
    "no_cross": (~crosses_above(x, k), [YES, NO, NO, YES, YES, NO]),
    "held": (held(x > 1, 2), [NO, NO, NO, YES, YES, YES]),
    "held_for_a_bar": (held(x > 2, 1), [NO, NO, YES, NO, NO, YES]),
    "held_for_ever": (held(close > 0, 7), [NO] * 6),
    "not_held": (~held(x > 2, 2), [YES, YES, NO, YES, YES, YES]),
    "within": (within(x > 2, 2), [NO, NO, YES, YES, NO, YES]),
    "within_all": (within(x > 2, 99), [NO, NO, YES, YES, YES, YES]),
    "not_within": (~within(x > 2, 2), [NO, NO, NO, NO, YES, NO]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_a_condition_by_hand(name, form):
    """Over a hole, from bar 0 on, before which nothing is known."""
    condition, expected = CASES[name]
    actual = holds(condition.tree, BARS, {"k": 2.0}, FORMS[form])
    assert actual.tolist() == expected
