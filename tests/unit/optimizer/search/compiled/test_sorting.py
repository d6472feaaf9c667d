"""Orders of words are those of a stable sort by comparison."""

import numpy as np
import pytest

from optimizer.search.compiled.sorting import argsort_objectives, rising_orders
from tests.support.looping import each

ODD = np.array([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7e308, np.inf, -np.inf])


def draw_values(seed, count):
    """Numbers with many equals, with few, or with none."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(-3, 4, count).astype(np.float64),
        rng.choice(ODD, count),
        rng.normal(size=count) * 10.0 ** rng.integers(-300, 300, count),
        np.full(count, 7.0),
        rng.random(count),
        1.0 + rng.integers(0, 9, count) * 2.0**-52,
    ][seed % 6]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 63, 1000, 20_000])
@each("seed", range(12))
def test_rising_orders_are_those_of_a_stable_sort(seed, count):
    """Equal numbers, both zeros among them, stay in the order of their places, whatever else.

    Numbers that differ in their last bits only, of which a word has no room, are ordered.
    """
    rows = np.array([draw_values(seed, count), draw_values(seed + 1, count)])
    assert np.argsort(rows, axis=1, kind="stable").tolist() == rising_orders(rows).tolist()


@pytest.mark.parametrize("count", [1, 2, 24, 25, 49, 300, 1000])
@each("seed", range(24))
def test_column_orders_are_sorts_on_top_of_each_other(seed, count):
    """The first column sorts lexicographically, each next one stably on top of the one before."""
    columns = np.array([draw_values(seed + 7 * j, count) for j in range(1 + seed % 4)])
    expected = np.lexsort(columns[::-1])
    assert expected.tolist() == argsort_objectives(columns, 1)[0].tolist()
    for column, order in zip(columns, argsort_objectives(columns), strict=True):
        expected = expected[np.argsort(column[expected], kind="stable")]
        assert expected.tolist() == order.tolist()
