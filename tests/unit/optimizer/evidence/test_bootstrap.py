"""Resampled days say whether the best of given trials is better than nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence import bootstrap
from optimizer.evidence.bootstrap import (
    choose_block_length,
    compare_superior,
    compare_with_nothing,
    compute_long_run_deviations,
    compute_mean_p,
    draw_days,
    resample,
)
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.search.randomness import draw_words, scale_to_index, scale_to_unit
from tests.support.evidence import daily_edge, daily_noise

REL = 1e-9
BLOCK = Figure(10.0)


def test_block_lengths_of_the_law():
    """A column as it is, and its moving sums over five days."""
    column = daily_noise()[:, 0]
    sums = np.convolve(column, np.ones(5), "valid")
    assert choose_block_length(column[:, None]).value == pytest.approx(1.1653748543705655, rel=REL)
    assert choose_block_length(daily_noise()[:, 1:2]).value == 1.0
    assert choose_block_length(sums[:, None]).value == pytest.approx(11.506060555172963, rel=REL)

    table = np.column_stack([column, np.append(sums, sums[-4:]), np.full(len(column), 0.1)])
    lengths = [choose_block_length(part[:, None]).value for part in table.T[:2]]
    assert choose_block_length(table).value == pytest.approx(np.median(lengths), rel=REL)


@given(st.integers(0, 2**40), st.integers(1, 999), st.integers(1, 50), st.floats(1.0, 20.0))
def test_resamples_equal_the_letter(seed, index, days, block):
    """Two words a step: whether a run begins, and where."""
    drawn = draw_words(seed, index, "bootstrap", 2 * days)
    u, j = scale_to_unit(drawn[0::2]), scale_to_index(drawn[1::2], days)
    expected = [int(j[0])]
    for t in range(1, days):
        expected.append(int(j[t]) if u[t] < 1 / block else (expected[-1] + 1) % days)
    assert expected == resample(seed, index, days, block).tolist()


def count_resamples(p, resamples=499):
    """How many of the resamples, and one, a p stands for."""
    return round(p * (resamples + 1), 9)


def compute_statistic(table, seed, resamples, block=10.0):
    """Hansen's statistic of the columns that vary."""
    spread = compute_long_run_deviations(table, block)
    drawn = draw_days(seed, resamples, len(table), block)
    return compare_superior(table[:, spread > 0], spread[spread > 0], drawn)[0].value


def test_the_table_without_an_edge():
    """The law's numbers: nothing is found."""
    comparison = compare_with_nothing(daily_noise(), BLOCK, seed=1, resamples=499)
    statistic = compute_statistic(daily_noise(), 1, 499)
    assert statistic == pytest.approx(1.784956969787604, rel=REL)
    ps = (comparison.spa_lower, comparison.spa_p, comparison.spa_upper)
    assert [count_resamples(p) for p in ps] == [375, 410, 410]
    assert (comparison.resamples, comparison.block) == (499, BLOCK.value)
    deviation = compute_long_run_deviations(daily_noise(), 10.0)[0]
    assert deviation == pytest.approx(0.0052020910269099715, rel=REL)


def test_the_table_with_an_edge():
    """The law's numbers: it is found."""
    comparison = compare_with_nothing(daily_edge(), BLOCK, seed=1, resamples=499)
    statistic = compute_statistic(daily_edge(), 1, 499)
    assert statistic == pytest.approx(4.165205032287021, rel=REL)
    assert count_resamples(comparison.spa_p) == 1


@pytest.mark.parametrize("edge", [-0.05, 0.0, 0.05])
def test_a_mean_reaches_as_many_resamples_as_counted_by_hand(edge):
    """Means around the observed one, losing columns included."""
    column = daily_noise()[:, 3] + edge * daily_noise()[:, 3].std()
    mean, days = column.mean(), len(column)
    drawn = (column[resample(1, index, days, 10.0)].mean() for index in range(1, 500))
    reaching = sum(of_resample - mean >= mean for of_resample in drawn)
    p = compute_mean_p(column[:, None], BLOCK, seed=1, resamples=499)
    assert count_resamples(p.value) == 1 + reaching


def test_columns_that_do_not_vary_take_no_part(monkeypatch):
    """Nor does the size of parts move anything."""
    table = daily_edge()
    whole = compare_with_nothing(table, BLOCK, seed=1, resamples=99)
    wider = np.insert(table, [0, 4], 0.1, axis=1)
    monkeypatch.setattr(bootstrap, "CHUNK_NUMBERS", 3000)
    comparison = compare_with_nothing(wider, BLOCK, seed=1, resamples=99)
    statistic = compute_statistic(table, 1, 99)
    assert compute_statistic(wider, 1, 99) == pytest.approx(statistic, rel=1e-12)
    assert (comparison.spa_p, comparison.spa_upper) == (whole.spa_p, whole.spa_upper)


def test_what_is_undefined_says_why():
    """Too few days, no block, or nothing that varies."""
    short, flat = np.eye(19), np.full((30, 3), 0.1)
    assert (
        choose_block_length(short).why
        == compare_with_nothing(short, BLOCK, 1).why["spa_p"]
        == "fewer than 20 days"
    )
    of_flat = compare_with_nothing(flat, BLOCK, 1)
    assert choose_block_length(flat).why == of_flat.why["spa_p"] == "no trial varies"
    comparison = compare_with_nothing(daily_noise(), make_undefined("no block"), 1)
    assert comparison.why["spa_upper"] == "no block"
    means = [compute_mean_p(part[:, :1], BLOCK, 1).why for part in (short, flat)]
    assert means == ["fewer than 20 days", "no trial varies"]
