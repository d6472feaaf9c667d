"""Resampled days say whether the best of given trials is better than nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence import bootstrap
from optimizer.evidence.bootstrap import (
    BootstrapTests,
    choose_block_length,
    compare_with_nothing,
    compute_long_run_deviations,
    draw_days,
    resample,
)
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.philox import draw_words, scale_to_index, scale_to_unit
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


def test_a_resample_of_the_law():
    """Resample 1 of twelve days, seed 1."""
    assert resample(1, 1, 12, 4.0).tolist() == [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]


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


def apply_tests(table, seed, resamples, block=10.0):
    """The tests of the columns that vary, and their numbers among all."""
    spread = compute_long_run_deviations(table, block)
    kept = np.flatnonzero(spread > 0)
    drawn = draw_days(seed, resamples, len(table), block)
    tests = BootstrapTests(table[:, kept], spread[kept], drawn)
    return tests, tuple(kept[list(tests.better)].tolist())


def test_tests_of_the_table_without_an_edge():
    """The law's numbers: nothing is found."""
    comparison = compare_with_nothing(daily_noise(), BLOCK, seed=1, resamples=499)
    tests, better = apply_tests(daily_noise(), 1, 499)
    assert tests.reality_check[0].value == pytest.approx(0.009348736300520336, rel=REL)
    assert tests.superior[0].value == pytest.approx(1.784956969787604, rel=REL)
    ps = (comparison.rc_p, comparison.spa_lower, comparison.spa_p, comparison.spa_upper)
    assert [count_resamples(p) for p in ps] == [464, 375, 410, 410]
    assert (comparison.better, better) == (0, ())
    assert (comparison.resamples, comparison.block) == (499, BLOCK.value)
    deviation = compute_long_run_deviations(daily_noise(), 10.0)[0]
    assert deviation == pytest.approx(0.0052020910269099715, rel=REL)


def test_tests_of_the_table_with_an_edge():
    """The law's numbers: column 7 is found, and named."""
    comparison = compare_with_nothing(daily_edge(), BLOCK, seed=1, resamples=499)
    tests, better = apply_tests(daily_edge(), 1, 499)
    assert tests.reality_check[0].value == pytest.approx(0.024600867466497287, rel=REL)
    assert tests.superior[0].value == pytest.approx(4.165205032287021, rel=REL)
    assert [count_resamples(p) for p in (comparison.rc_p, comparison.spa_p)] == [2, 1]
    assert (comparison.better, better) == (1, (7,))


def test_columns_are_named_in_steps():
    """Those far above are named first, and the next ones once these are gone."""
    rng = np.random.Generator(np.random.PCG64(4))
    table = rng.normal(0, 1, (400, 20))
    table[:, [2, 5, 11]] += [1.0, 0.5, 0.4]
    _, better = apply_tests(table, 9, 199, block=5.0)
    assert better == (2, 5, 11)


def test_columns_that_do_not_vary_take_no_part(monkeypatch):
    """Nor do they move the place of those that are named; nor does the size of parts."""
    table = daily_edge()
    whole = compare_with_nothing(table, BLOCK, seed=1, resamples=99)
    wider = np.insert(table, [0, 4], 0.1, axis=1)
    monkeypatch.setattr(bootstrap, "CHUNK_NUMBERS", 3000)
    comparison = compare_with_nothing(wider, BLOCK, seed=1, resamples=99)
    tests, better = apply_tests(wider, 1, 99)
    assert (comparison.better, better) == (1, (9,))
    spa = apply_tests(table, 1, 99)[0].superior[0].value
    assert tests.superior[0].value == pytest.approx(spa, rel=1e-12)
    assert (comparison.rc_p, comparison.spa_p, comparison.spa_upper) == (
        whole.rc_p,
        whole.spa_p,
        whole.spa_upper,
    )


def test_what_is_undefined_says_why():
    """Too few days, no block, or nothing that varies."""
    short, flat = np.eye(19), np.full((30, 3), 0.1)
    assert (
        choose_block_length(short).why
        == compare_with_nothing(short, BLOCK, 1).why["spa_p"]
        == "fewer than 20 days"
    )
    of_flat = compare_with_nothing(flat, BLOCK, 1)
    assert choose_block_length(flat).why == of_flat.why["rc_p"] == "no trial varies"
    comparison = compare_with_nothing(daily_noise(), make_undefined("no block"), 1)
    assert (comparison.why["spa_upper"], comparison.better) == ("no block", 0)
