"""Fronts of the sweep are moocore's, with ties and copies, for two and three objectives."""

import moocore
import numpy as np
import pytest

from optimizer.search.compiled.fronts import rank_in_order
from optimizer.search.compiled.sorting import argsort_objectives
from optimizer.search.ranking import first_front, is_nondominated, rank_individuals
from tests.support.looping import each


def draw_objectives(seed, n_objectives):
    """Random, rounded, whole, copied, or on a sphere where none is dominated."""
    rng = np.random.default_rng([seed, n_objectives])
    count = int(rng.integers(1, 120))
    points = rng.random((count, n_objectives))
    kinds = [
        points,
        np.round(points, 1),
        rng.integers(-2, 3, points.shape).astype(np.float64),
        points[rng.integers(0, count, count)],
        points / np.sqrt((points**2).sum(axis=1, keepdims=True)),
    ]
    return kinds[seed % 5]


def rank_feasible(objectives):
    """Ranks of individuals who are all feasible."""
    return rank_individuals(objectives, np.zeros(len(objectives))).ranks.tolist()


def sweep_ranks(objectives):
    """The same by the sweep, which three objectives have where there are too many fronts."""
    columns = np.array(objectives.T, order="C")
    return rank_in_order(columns, argsort_objectives(columns, 1)[0], len(objectives))[0].tolist()


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@each("seed", range(50))
def test_the_first_front_has_all_of_its_equals(seed, n_objectives):
    """All of rank 0 are in it, copies included, and no others."""
    objectives = draw_objectives(seed, n_objectives)
    expected = [rank == 0 for rank in rank_feasible(objectives)]
    assert expected == first_front(objectives).tolist()
    assert first_front(objectives[:0]).tolist() == []


@pytest.mark.parametrize("n_objectives", [2, 3])
@each("seed", range(100))
def test_ranks_and_best_are_those_of_moocore(seed, n_objectives):
    """Every individual has the front that moocore gives it; of equals the first counts as best."""
    objectives = draw_objectives(seed, n_objectives)
    expected = moocore.pareto_rank(objectives).tolist()
    assert expected == rank_feasible(objectives) == sweep_ranks(objectives)
    assert moocore.is_nondominated(objectives).tolist() == is_nondominated(objectives).tolist()


@pytest.mark.parametrize("n_objectives", [2, 3])
def test_many_fronts_with_long_staircases(n_objectives):
    """Staircases outgrow their room and fronts their number, and ranks stay moocore's."""
    rng = np.random.default_rng(3)
    base = rng.random((4000, n_objectives))
    base /= np.sqrt((base**2).sum(axis=1, keepdims=True))
    objectives = base + rng.integers(0, 40, (4000, 1)) * 0.01
    expected = moocore.pareto_rank(objectives)
    assert expected.max() > 15
    assert expected.tolist() == rank_feasible(objectives) == sweep_ranks(objectives)
    assert moocore.is_nondominated(objectives).tolist() == is_nondominated(objectives).tolist()


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
@each("seed", range(50))
def test_copies_are_all_but_the_first_of_equals(seed, n_objectives):
    """An individual that repeats a feasible one's objectives is a copy, and no other."""
    objectives = draw_objectives(seed, n_objectives)
    violations = np.random.default_rng(seed).integers(0, 2, len(objectives)).astype(np.float64)
    seen: set = set()
    expected = []
    for row, violation in zip(objectives.tolist(), violations, strict=True):
        expected.append(violation == 0 and tuple(row) in seen)
        if violation == 0:
            seen.add(tuple(row))
    assert expected == rank_individuals(objectives, violations).is_copy.tolist()
