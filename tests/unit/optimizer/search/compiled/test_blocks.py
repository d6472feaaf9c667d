"""Fronts of many individuals by blocks are moocore's, and refused where the table is too small."""

import moocore
import numpy as np
import pytest

from optimizer.search.compiled import blocks
from optimizer.search.compiled.blocks import (
    BLOCK,
    WIDTH,
    allocate_table,
    first_in_blocks,
    rank_in_blocks,
    sweep_blocks,
)
from optimizer.search.compiled.sorting import argsort_objectives
from optimizer.search.ranking import rank_individuals

KINDS = ("random", "sphere", "ties", "copies", "chain")


def draw_objectives(kind, count):
    """Individuals with three objectives."""
    rng = np.random.default_rng([KINDS.index(kind), count])
    points = rng.random((count, 3))
    if kind == "sphere":
        points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    elif kind == "ties":
        points = rng.integers(-4, 5, points.shape) * 0.5
    elif kind == "copies":
        points = points[rng.integers(0, count // 2 + 1, count)]
    elif kind == "chain":
        points[:] = points[:, :1]
    return points


def rank_feasible(objectives):
    """Ranks of individuals who are all feasible."""
    return rank_individuals(objectives, np.zeros(len(objectives))).ranks.tolist()


def rank_by_blocks(objectives):
    """Ranks and copies; None where there are too many fronts."""
    columns = np.array(objectives.T, order="C")
    return rank_in_blocks(columns, argsort_objectives(columns))


@pytest.mark.parametrize("count", [1, 2, BLOCK, BLOCK + 1, 2500])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_those_of_moocore(kind, count):
    """Ties, copies, a single front and one individual a front, in one block and in several."""
    objectives = draw_objectives(kind, count)
    ranks, is_copy = rank_by_blocks(objectives)
    assert moocore.pareto_rank(objectives).tolist() == ranks.tolist()
    _, first, inverse = np.unique(objectives, axis=0, return_index=True, return_inverse=True)
    assert (first[inverse.ravel()] != np.arange(count)).tolist() == is_copy.tolist()
    columns = np.array(objectives.T, order="C")
    is_behind, is_repeat = first_in_blocks(columns, argsort_objectives(columns, 2))
    assert (ranks > 0).tolist() == is_behind.tolist()
    assert is_copy.tolist() == is_repeat.tolist()


@pytest.mark.parametrize("most", [1, WIDTH, WIDTH + 1])
@pytest.mark.parametrize("kind", KINDS)
def test_fronts_that_are_not_told_apart_count_as_one(kind, most):
    """Ranks before them are what they are; copies are flagged behind them too."""
    columns = np.array(draw_objectives(kind, 2500).T, order="C")
    orders = argsort_objectives(columns)
    ranks, is_copy = rank_in_blocks(columns, orders)
    rough, is_repeat = np.empty_like(ranks), np.empty_like(is_copy)
    assert sweep_blocks(columns, orders, 2500, most, *allocate_table(2500), rough, is_repeat)
    assert np.minimum(ranks, most).tolist() == rough.tolist()
    assert is_copy.tolist() == is_repeat.tolist()


def test_too_many_fronts_for_the_table_are_said():
    """A chain with more fronts than there is room for is left to others, who rank it rightly."""
    count = 1 << 15
    n_blocks = count // BLOCK
    room = blocks.MOST_ENTRIES // (n_blocks * WIDTH) * WIDTH
    assert room < count
    chain = np.repeat(np.arange(count, 0.0, -1.0)[:, None], 3, axis=1)
    assert rank_by_blocks(chain) is None
    assert rank_feasible(chain) == list(range(count - 1, -1, -1))
    assert rank_by_blocks(chain[: room // 2]) is not None
