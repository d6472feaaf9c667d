"""The archive: who is in it, who leaves when it is full, and how its hypervolume is measured."""

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.search.archive import (
    compute_box,
    contributions,
    extend_archive,
    hypervolume,
    truncate_front,
)
from optimizer.search.generation import Population, empty_population
from tests.support.looping import each


def make_population(objectives, violations=None):
    """Individuals numbered by their only gene."""
    objectives = np.array(objectives, dtype=float)
    count = len(objectives)
    violations = np.zeros(count) if violations is None else np.array(violations)
    genomes = np.arange(count, dtype=float)[:, None]
    return Population(genomes, objectives, violations, (violations > 0).astype(np.int16))


def staircase(count, n_objectives=2):
    """A front without gaps: points on a simplex."""
    rng = np.random.default_rng(count)
    points = rng.exponential(size=(count, n_objectives))
    return points / points.sum(axis=1, keepdims=True)


def test_a_newcomer_drives_out_whom_it_dominates_and_not_its_equal():
    """Those who were there first stand first, and stay where a newcomer only equals them."""
    before, _ = extend_archive(empty_population(1, 2), make_population([[0, 3], [2, 1]]), 10)
    after, admitted = extend_archive(before, make_population([[0, 3], [1, 1], [3, 0]]), 10)
    assert after.objectives.tolist() == [[0, 3], [1, 1], [3, 0]]
    assert admitted.tolist() == [1, 2]
    assert after.genomes[0, 0] == before.genomes[0, 0]


@given(st.integers(0, 2**16), st.integers(1, 40), st.integers(1, 4))
def test_an_archive_holds_all_that_nobody_dominates(seed, count, n_objectives):
    """Fed in any pieces, it is the set of undominated objectives of all individuals ever seen."""
    rng = np.random.default_rng(seed)
    objectives = rng.integers(0, 5, size=(count, n_objectives)).astype(float)
    archive = empty_population(1, n_objectives)
    for part in np.array_split(objectives, 3):
        archive, _ = extend_archive(archive, make_population(part), 1000)
    expected = {
        tuple(row)
        for row in objectives.tolist()
        if not ((objectives <= row).all(axis=1) & (objectives < row).any(axis=1)).any()
    }
    assert sorted(expected) == sorted(map(tuple, archive.objectives.tolist()))


@pytest.mark.parametrize("n_objectives", [2, 3, 4, 5])
def test_a_full_archive_keeps_the_best_of_each_objective(n_objectives):
    """Ends of the front stay, and who stays keeps the order that he had."""
    front = staircase(60, n_objectives)
    places = truncate_front(front, 2 * n_objectives)
    assert set(front.argmin(axis=0).tolist()) <= set(places.tolist())
    assert (np.diff(truncate_front(front, 17)) > 0).all()
    assert len(truncate_front(front, 17)) == 17
    assert truncate_front(front, 99).tolist() == list(range(60))


def test_of_copies_the_later_one_leaves():
    """Two that contribute the same: the older stays; the best in each objective always does."""
    front = np.array([[0.0, 4.0], [1.0, 2.0], [2.0, 1.0], [4.0, 0.0], [1.0, 2.0]])
    assert contributions(front)[4] == contributions(front)[1] == 0.0
    assert np.isinf(contributions(front)).tolist() == [True, False, False, True, False]
    assert 4 not in truncate_front(front, 4)


@each("seed", range(60))
def test_hypervolume_of_three_objectives_is_that_of_moocore(seed):
    """Every bit, of fronts and of any points, with ties, copies and members outside the box."""
    rng = np.random.default_rng(seed)
    cube = rng.random((int(rng.integers(1, 400)), 3))
    kinds = [
        cube / np.sqrt((cube**2).sum(axis=1, keepdims=True)),
        cube,
        np.round(cube, 1),
        cube[rng.integers(0, len(cube), len(cube))],
        np.column_stack([cube[:, 0], 1.0 - cube[:, 0], np.round(cube[:, 2], 1)]),
        rng.integers(-3, 5, cube.shape) * 0.25,
    ]
    points = kinds[seed % len(kinds)]
    inside = points[(points < 1.0).all(axis=1)]
    expected = moocore.hypervolume(inside, ref=1.0) if len(inside) else 0.0
    assert expected == hypervolume(points, np.zeros(3), np.ones(3))


def test_hypervolume_counts_in_units_of_the_box():
    """The corner of a box dominates all of it, its middle a quarter, what is beyond nothing."""
    low, high = np.array([0.0, 10.0]), np.array([2.0, 30.0])
    assert hypervolume(np.array([[0.0, 10.0]]), low, high) == 1.0
    assert hypervolume(np.array([[1.0, 20.0]]), low, high) == 0.25
    assert hypervolume(np.array([[2.0, 10.0], [0.0, 31.0]]), low, high) == 0.0
    assert hypervolume(np.array([[-2.0, 10.0]]), low, high) == 2.0
    assert hypervolume(np.array([[0.5], [1.0]]), low[:1], high[:1]) == 0.75


def test_box_reaches_beyond_the_worst():
    """Ends of the first front lie inside it, also where an objective never varies."""
    low, high = compute_box(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert low.tolist() == [1.0, 5.0]
    assert high.tolist() == [3.2, 5.1]
