"""Worths of three objectives have the bits of moocore, and who leaves follows from them."""

import moocore
import numpy as np
import pytest

from optimizer.search.archive import MARGIN, thinned, worths
from optimizer.search.compiled.worth import contributions
from optimizer.search.ranking import undominated


def front_of(seed, count):
    """Points on a sphere, in a cube, on a coarse lattice, few distinct ones, or nearly equal."""
    rng = np.random.default_rng([seed, count])
    cube = rng.random((count, 3))
    kinds = [
        1.0 - cube / np.sqrt((cube**2).sum(axis=1, keepdims=True)),
        cube,
        np.round(cube, 1),
        cube[rng.integers(0, count, count)],
        0.5 + cube * 2.0**-51,
    ]
    return kinds[seed % 5]


def stated_worths(objectives):
    """The definition: moocore's contributions of scaled objectives, the best of each infinite."""
    halves = objectives * 0.5
    low, high = halves.min(axis=0), halves.max(axis=0)
    scaled = (halves - low) / np.where(high > low, high - low, 1.0)
    worth = moocore.hv_contributions(scaled, ref=1.0 + MARGIN)
    worth[scaled.argmin(axis=0)] = np.inf
    return worth


def stated_thinned(objectives, keep, rounds):
    """The definition of who stays: in rounds the least worth leave, of equals the later one."""
    places = np.arange(len(objectives))
    step = -(-(len(places) - keep) // rounds)
    while len(places) > keep:
        worth = stated_worths(objectives[places]).tolist()
        leaving = sorted(range(len(places)), key=lambda i: (worth[i], -i))
        places = np.delete(places, leaving[: min(step, len(places) - keep)])
    return places


@pytest.mark.parametrize("count", [1, 2, 3, 9, 40, 200])
@pytest.mark.parametrize("seed", range(50))
def test_contributions_have_the_bits_of_moocore(seed, count):
    """Ties, copies and members that others dominate included."""
    points = front_of(seed, count)
    expected = moocore.hv_contributions(points, ref=1.1)
    found = np.empty(count)
    contributions(np.array(points.T, order="C"), 1.1, found)
    assert expected.tolist() == found.tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 9, 40, 200])
@pytest.mark.parametrize("seed", range(50))
def test_worths_and_thinning_are_as_defined(seed, count):
    """After scaling, for any number to keep, in one round and in four."""
    objectives = front_of(seed, count)
    assert stated_worths(objectives).tolist() == worths(objectives).tolist()
    front = objectives[undominated(objectives)]
    for keep in {1, len(front) // 3 + 1, len(front) - 1, len(front), len(front) + 5} - {0}:
        for rounds in (1, 4):
            expected = stated_thinned(front, keep, rounds)
            assert expected.tolist() == thinned(front, keep, rounds).tolist()


def test_a_large_front_thins_as_defined():
    """Four rounds over some thousands."""
    front = front_of(0, 3000)
    front = front[undominated(front)]
    assert stated_thinned(front, 1100, 4).tolist() == thinned(front, 1100, 4).tolist()
