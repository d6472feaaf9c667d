"""Several windows become one number without hiding what is undefined in one of them."""

import numpy as np
import pytest

from optimizer.errors import ConfigError
from optimizer.goals.constraints import check_aggregation, over_windows

VALUES = np.array([[3.0, 1.0, 2.0, 5.0, 4.0]])


@pytest.mark.parametrize(
    ("how", "more_is_better", "expected"),
    [
        ("mean", True, 3.0),
        ("worst", True, 1.0),
        ("worst", False, 5.0),
        ("q1", True, 1.0),
        ("q24", True, 1.0),
        ("q25", True, 2.0),
        ("q25", False, 4.0),
        ("q50", True, 3.0),
        ("q50", False, 3.0),
    ],
)
def test_windows_are_taken_together_by_hand(how, more_is_better, expected):
    """Quantiles are members, the nearest on the worse side of the asked share."""
    assert over_windows(VALUES, how, more_is_better=more_is_better).tolist() == [expected]


@pytest.mark.parametrize(
    ("how", "endless"), [("mean", np.inf), ("worst", 1.0), ("q10", 1.0), ("q50", 2.0)]
)
def test_one_undefined_window_is_undefined(how, endless):
    """No way leaves out the undefined one; one without losses is as good as can be."""
    values = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0], [1.0, np.inf, 2.0]])
    objectives = over_windows(values, how, more_is_better=True)
    assert np.isnan(objectives).tolist() == [True, False, False]
    assert objectives[2] == endless


def test_a_mean_beyond_all_numbers_is_undefined():
    """No infinity becomes an objective."""
    objectives = over_windows(np.array([[1.7e308, 1.7e308]]), "mean", more_is_better=True)
    assert np.isnan(objectives).all()


@pytest.mark.parametrize("how", ["mean", "worst", "q10", "q50"])
def test_one_window_is_itself(how):
    """With a single window every way gives its value, bit for bit."""
    values = np.array([[0.1], [-7.3]])
    assert over_windows(values, how, more_is_better=False).tolist() == [0.1, -7.3]


@pytest.mark.parametrize("text", ["median", "q0", "q51", "q", "Q10", "", "worst "])
def test_unknown_ways_are_refused(text):
    """The message lists what there is."""
    with pytest.raises(ConfigError, match="use pooled, mean, worst, or q1 to q50"):
        check_aggregation(text)
