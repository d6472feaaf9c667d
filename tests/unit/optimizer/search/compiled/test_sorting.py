"""Orders found digit by digit are those of a stable sort by comparison."""

import numpy as np
import pytest

from optimizer.search.compiled.sorting import column_order, rising_order
from tests.support.looping import each

ODD = np.array([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7e308, np.inf, -np.inf])


def values_of(seed, count):
    """Numbers with many equals, with few, or with none."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(-3, 4, count).astype(np.float64),
        rng.choice(ODD, count),
        rng.normal(size=count) * 10.0 ** rng.integers(-300, 300, count),
        np.full(count, 7.0),
        rng.random(count),
    ][seed % 5]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 63, 1000])
@each("seed", range(10))
def test_rising_order_is_that_of_a_stable_sort(seed, count):
    """Equal numbers, both zeros among them, stay in the order of their places."""
    values = values_of(seed, count)
    order = np.empty(count, np.int64)
    rising_order(values, order)
    assert np.argsort(values, kind="stable").tolist() == order.tolist()


@pytest.mark.parametrize("count", [1, 2, 24, 25, 49, 300, 1000])
@each("seed", range(20))
def test_column_orders_are_sorts_on_top_of_each_other(seed, count):
    """The first column sorts lexicographically, each next one stably on top of the one before."""
    columns = np.array([values_of(seed + 7 * j, count) for j in range(1 + seed % 4)])
    expected = np.lexsort(columns[::-1])
    for first, column in enumerate(columns):
        expected = expected[np.argsort(column[expected], kind="stable")]
        order = np.empty(count, np.int64)
        column_order(columns, first, order)
        assert expected.tolist() == order.tolist()
