"""Orders are those of a stable sort, and fronts moocore's, by blocks and by the sweep."""

import moocore
import numpy as np
import pytest

from optimizer.search.compiled.fronts import rank_in_order
from optimizer.search.compiled.sorting import argsort_objectives, rising_orders
from optimizer.search.ranking import first_front, is_nondominated, rank_individuals
from tests.support.looping import each

ODD = np.array([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7e308, np.inf, -np.inf])

KINDS = ("random", "rounded", "whole", "copies", "sphere", "chain")


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


def draw_objectives(kind, count, n_objectives=3, seed=0):
    """Individuals: on a sphere none is dominated, in a chain each is a front."""
    rng = np.random.default_rng([KINDS.index(kind), count, n_objectives, seed])
    points = rng.random((count, n_objectives))
    return {
        "random": points,
        "rounded": np.round(points, 1),
        "whole": rng.integers(-4, 5, points.shape) * 0.5,
        "copies": points[rng.integers(0, count // 2 + 1, count)],
        "sphere": points / np.sqrt((points**2).sum(axis=1, keepdims=True)),
        "chain": np.repeat(points[:, :1], n_objectives, axis=1),
    }[kind]


def in_columns(objectives):
    """Objectives as the loops have them."""
    return np.array(objectives.T, order="C")


def rank_feasible(objectives):
    """Ranks of individuals who are all feasible."""
    return rank_individuals(objectives, np.zeros(len(objectives))).ranks.tolist()


def sweep_ranks(objectives):
    """The same by the sweep, which three objectives have where there are too many fronts."""
    columns = in_columns(objectives)
    return rank_in_order(columns, argsort_objectives(columns, 1)[0], len(objectives))[0].tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 63, 1000, 20_000])
@each("seed", range(12))
def test_rising_orders_are_those_of_a_stable_sort(seed, count):
    """Equal numbers, both zeros among them, stay in the order of their places, whatever else.

    Numbers that differ in their last bits only, of which a word has no room, are ordered.
    """
    rows = np.array([draw_values(seed, count), draw_values(seed + 1, count)])
    assert np.argsort(rows, axis=1, kind="stable").tolist() == rising_orders(rows).tolist()


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@each("seed", range(12))
def test_ranks_best_and_copies_are_as_defined(seed, kind, n_objectives):
    """Moocore's ranks; the first front has all of its equals, the best only the first of them."""
    count = 1 + 10 * seed
    objectives = draw_objectives(kind, count, n_objectives, seed)
    ranks = rank_feasible(objectives)
    if n_objectives in (2, 3):
        assert moocore.pareto_rank(objectives).tolist() == ranks == sweep_ranks(objectives)
        assert moocore.is_nondominated(objectives).tolist() == is_nondominated(objectives).tolist()
    assert [rank == 0 for rank in ranks] == first_front(objectives).tolist()
    violations = np.random.default_rng(seed).integers(0, 2, count).astype(np.float64)
    seen, expected = set(), []
    for row, violation in zip(objectives.tolist(), violations, strict=True):
        expected.append(violation == 0 and tuple(row) in seen)
        seen |= {tuple(row)} if violation == 0 else set()
    assert expected == rank_individuals(objectives, violations).is_copy.tolist()
