"""Constraints as people write them, and how far a value is from holding."""

import numpy as np
import pytest

from optimizer.errors import ConfigError
from optimizer.goals.constraints import LEAST_MISS, parse_constraint, parse_constraints


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_drawdown <= 0.3", "max_drawdown<=0.3"),
        ("  max_drawdown<=30% ", "max_drawdown<=0.3"),
        ("sharpe@worst > -1e-3", "sharpe@worst>-0.001"),
        ("trades >= 100 soft", "trades>=100.0 soft"),
        ("expectancy > 0 hard", "mean_r>0.0"),
        ("win_rate@q25 < .5", "win_rate@q25<0.5"),
    ],
)
def test_constraints_are_read(text, expected):
    """What is read is written in one form, which reads back as the same."""
    constraint = parse_constraint(text)
    assert constraint.text == expected
    assert parse_constraint(constraint.text) == constraint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_drawdwn <= 0.3", "did you mean 'max_drawdown'"),
        ("max_drawdown = 0.3", "must look like METRIC <= NUMBER"),
        ("max_drawdown <= much", "must look like"),
        ("max_drawdown <= nan", "must look like"),
        ("max_drawdown <= 0.3 perhaps", "must look like"),
        ("0.3 >= max_drawdown", "must look like"),
        ("", "must look like"),
        ("sharpe > 1e999", "too large"),
        ("sharpe@median > 1", "use pooled, mean, worst"),
        ("sharpe_annual@worst > 1", "'sharpe_annual' is called 'sharpe' now"),
    ],
)
def test_wrong_constraints_are_refused(text, message):
    """The message repeats the text and names what would do."""
    with pytest.raises(ConfigError, match=message) as error:
        parse_constraint(text)
    assert f"constraint '{text}'" in str(error.value)


def test_all_wrong_constraints_are_named_at_once():
    """The second is named without another run."""
    with pytest.raises(ConfigError) as error:
        parse_constraints(["sharp > 1", "calmar >= 1", "trade > 3", "calmar>=1.0"])
    for message in ("'sharpe'", "'trades'", "'calmar>=1.0' is given twice"):
        assert message in str(error.value)


def test_what_is_missed_is_a_share():
    """Half at twice the bound; 0 where it holds; 1 where nothing is known."""
    misses = parse_constraint("max_drawdown <= 0.25").misses(np.array([0.1, 0.25, 0.5, np.nan]))
    assert misses.tolist() == [0.0, 0.0, 0.5, 1.0]
    misses = parse_constraint("sharpe >= 0").misses(np.array([0.0, -1.0, 3.0]))
    assert misses.tolist() == [0.0, 0.5, 0.0]


def test_a_strict_comparison_is_missed_by_its_bound():
    """Equality is nearly nothing, and yet not feasible."""
    constraint = parse_constraint("sharpe > 1e300")
    assert constraint.misses(np.array([1e300])).tolist() == [LEAST_MISS]
    assert constraint.misses(np.array([np.nextafter(1e300, 2e300)])).tolist() == [0.0]


def test_what_is_missed_by_more_is_missed_more():
    """A search without a feasible individual has a direction, and never sees an infinity."""
    values = -np.array([0.0, 1e-300, 1e-9, 0.5, 2.0, 1e9, 1e308])
    misses = parse_constraint("sharpe > 0").misses(values)
    assert (np.diff(misses[2:]) > 0).all() or misses[-1] == 1.0
    assert (misses > 0).all()
    assert (misses <= 1).all()
