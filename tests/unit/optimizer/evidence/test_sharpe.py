"""Sharpe ratios are held against luck and against the number of tries."""

import math

import numpy as np
import pytest

from optimizer.evidence.figures import Figure
from optimizer.evidence.returns import Daily, moments
from optimizer.evidence.sharpe import (
    compute_expected_maximum,
    compute_probabilistic,
    compute_trial_variance,
    deflate_sharpe,
    expect_best,
    find_least_record,
)
from optimizer.evidence.trials import count_effective_trials
from tests.support.evidence import daily_edge

REL = 1e-9


def daily(days, sharpe, skew, kurtosis):
    """A column by its numbers."""
    return Daily(days, Figure(sharpe), Figure(skew), Figure(kurtosis))


PUBLISHED = daily(24, 0.036 / 0.079, -2.448, 10.164)


def test_psr_and_record_of_the_law():
    """The published example: monthly returns of a fund over two years."""
    assert compute_probabilistic(PUBLISHED).value == pytest.approx(0.9127093395948954, rel=REL)
    assert compute_probabilistic(PUBLISHED, 0.1).value == pytest.approx(0.8553606185907747, rel=REL)
    assert find_least_record(PUBLISHED).value == pytest.approx(34.76135780432685, rel=REL)


@pytest.mark.parametrize(
    ("tries", "expected"),
    [(2, 0.5197553442805939), (46.5, 2.248357470243894), (1e5, 4.390828742376488)],
)
def test_expected_maximum_of_the_law(tries, expected):
    """It grows with the tries, whole or not."""
    assert compute_expected_maximum(tries) == pytest.approx(expected, rel=REL)


def test_deflated_ratios_of_the_law():
    """The published example, after 100 and after 46 trials."""
    column, variance = daily(1250, 2.5 / math.sqrt(250), -3.0, 10.0), Figure(0.5 / 250)
    hundred = Figure(100.0)
    assert expect_best(variance, hundred).value == pytest.approx(0.11317200186513214, rel=REL)
    assert deflate_sharpe(column, variance, hundred).value == pytest.approx(
        0.9003968344493904, rel=REL
    )
    fewer = deflate_sharpe(column, variance, Figure(46.0))
    assert fewer.value == pytest.approx(0.9505017068755786, rel=REL)


def test_trials_of_the_law():
    """The table with an edge: effective trials, variance, hurdle and what is left of column 7."""
    table = daily_edge()
    tries, variance = count_effective_trials(table), compute_trial_variance(table)
    assert tries.value == pytest.approx(49.31668373323354, rel=REL)
    assert variance.value == pytest.approx(0.0011170983009783217, rel=REL)
    deflated = deflate_sharpe(moments(table[:, 7]), variance, tries)
    assert expect_best(variance, tries).value == pytest.approx(0.07590451894108648, rel=REL)
    assert deflated.value == pytest.approx(0.9759341252777555, rel=REL)
    assert find_least_record(moments(table[:, 7])).value == pytest.approx(
        139.59704808567275, rel=REL
    )


def test_variance_is_not_below_that_of_a_fair_game():
    """1 over one less than the days, where trials are more alike than chance makes them."""
    column = np.sin(np.arange(50.0))[:, None]
    assert compute_trial_variance(np.repeat(column, 5, axis=1)).value == 1 / 49
