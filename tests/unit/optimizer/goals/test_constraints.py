"""Constraints as people write them, how far a value is from holding, and windows as one number."""

import numpy as np
import pytest

from optimizer.goals.constraints import LEAST_MISS, over_windows, parse_constraint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  max_drawdown<=30% ", "max_drawdown<=0.3"),
        ("sharpe@worst > -1e-3", "sharpe@worst>-0.001"),
        ("trades >= 100 soft", "trades>=100.0 soft"),
        ("expectancy > 0 hard", "mean_r>0.0"),
        ("cagr >= -0", "cagr>=0.0"),
    ],
)
def test_constraints_are_read_into_one_form(text, expected):
    """Whatever spaces, percent or case there are."""
    assert parse_constraint(text).text == expected


@pytest.mark.parametrize(
    ("text", "values", "misses"),
    [
        ("max_drawdown <= 0.25", [0.1, 0.25, 0.5, np.nan], [0.0, 0.0, 0.5, 1.0]),
        ("sharpe >= 0", [0.0, -1.0, 3.0], [0.0, 0.5, 0.0]),
        ("sharpe >= -2", [-2.0, -4.0, -6.0], [0.0, 0.5, 2 / 3]),
        ("sharpe > 1e300", [1e300, np.nextafter(1e300, 2e300)], [LEAST_MISS, 0.0]),
    ],
)
def test_the_share_missed_is_worked_out_by_hand(text, values, misses):
    """Half at twice the bound, whatever its sign; at a strict bound nearly nothing."""
    assert parse_constraint(text).misses(np.array(values)).tolist() == misses


@pytest.mark.parametrize(
    ("how", "more_is_better", "expected"),
    [
        ("mean", True, 3.0),
        ("worst", True, 1.0),
        ("worst", False, 5.0),
        ("q1", True, 1.0),
        ("q25", True, 2.0),
        ("q25", False, 4.0),
        ("q50", True, 3.0),
    ],
)
def test_windows_are_taken_together_by_hand(how, more_is_better, expected):
    """Quantiles are members, the nearest on the worse side of the share asked for."""
    values = np.array([[3.0, 1.0, 2.0, 5.0, 4.0]])
    assert over_windows(values, how, more_is_better=more_is_better).tolist() == [expected]
    one = np.array([[0.1], [-7.3]])
    assert over_windows(one, how, more_is_better=more_is_better).tolist() == [0.1, -7.3]


@pytest.mark.parametrize(
    ("how", "endless"), [("mean", np.inf), ("worst", 1.0), ("q10", 1.0), ("q50", 2.0)]
)
def test_one_undefined_window_is_undefined(how, endless):
    """No way leaves it out; one without losses is as good as can be, a mean beyond all is none."""
    values = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0], [1.0, np.inf, 2.0]])
    found = over_windows(values, how, more_is_better=True)
    assert np.isnan(found).tolist() == [True, False, False]
    assert found[2] == endless
    if how == "mean":
        beyond = over_windows(np.array([[1.7e308, 1.7e308]]), how, more_is_better=True)
        assert np.isnan(beyond).all()
