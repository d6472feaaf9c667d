"""NSGA-III's steps, against DEAP's where DEAP draws no lots."""

from math import comb

import numpy as np
import pytest
from deap.tools import emo

from optimizer.search.generation import Floats
from optimizer.search.reference_points import associate_directions, directions, normalise_objectives
from tests.support.looping import each


def curved_front(seed: int, count: int = 80, n_objectives: int = 4) -> Floats:
    """Points on a part of a sphere, in objectives of very different size."""
    rng = np.random.default_rng(seed)
    points = np.abs(rng.normal(size=(count, n_objectives)))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    return points * np.array([1.0, 10.0, 0.1, 5.0])[:n_objectives] + 3.0


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_directions_are_those_of_das_and_dennis(parts):
    """As many as DEAP makes for so many parts, and the same set."""
    expected = emo.uniform_reference_points(4, parts)
    actual = directions(4, comb(parts + 3, 3))
    assert sorted(map(tuple, np.round(expected, 12).tolist())) == sorted(
        map(tuple, np.round(actual, 12).tolist())
    )


@each("seed", range(20))
def test_normalised_and_associated_as_in_deap(seed):
    """Same intercepts, same niche of everyone, same distance but for rounding."""
    points = curved_front(seed)
    points -= points.min(axis=0)  # DEAP takes intercepts for those of moved objectives
    best, worst = points.min(axis=0), points.max(axis=0)
    extremes = emo.find_extreme_points(points, best)
    intercepts = emo.find_intercepts(extremes, best, worst, worst)
    lines = directions(4, 80)
    niches, distances = emo.associate_to_niche(points, lines, best, intercepts)
    ours = normalise_objectives(points, np.ones(len(points), dtype=bool))
    nearest, squares = associate_directions(ours, lines)
    np.testing.assert_allclose(ours, (points - best) / (intercepts - best + 1e-16), rtol=1e-9)
    is_near = np.abs(np.sqrt(np.maximum(squares, 0)) - distances) < 1e-7
    assert is_near.all()
    assert (nearest == niches).mean() > 0.97  # equally near directions may change places
