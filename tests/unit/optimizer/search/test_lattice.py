"""Grids: their values, and their true front."""

import moocore
import numpy as np
import pytest

from optimizer.search import lattice as module
from optimizer.search.lattice import OFF_GRID, make_lattice
from strategy import STRATEGIES
from tests.support.searches import (
    Analytic,
    HalfForbidden,
    Zdt1,
    bits,
    explore,
    float_layout,
    int_layout,
)

SELLER = STRATEGIES["seller_exhaustion"].layout


def test_values_run_from_bound_to_bound():
    """The high bound belongs to the grid where a step meets it, but for rounding."""
    grid = make_lattice(SELLER, {"reward_r": 1.5, "tr_z_min": 0.3, "max_hold": 100})
    assert grid.values[SELLER.index("reward_r")].tolist() == [0.5, 2.0, 3.5, 5.0]
    assert len(grid.values[SELLER.index("tr_z_min")]) == 10
    assert grid.values[SELLER.index("tr_z_min")][-1] == 3.0
    assert grid.values[SELLER.index("max_hold")].tolist() == [4.0, 104.0, 204.0, 304.0]
    assert grid.values[SELLER.index("ema_fast")].tolist() == [96.0]
    assert len(grid) == 4 * 10 * 4


def test_every_legal_point_is_judged_once(monkeypatch):
    """In chunks of any size; points that break a constraint are counted and not judged."""
    monkeypatch.setattr(module, "CHUNK", 7)
    problem = Analytic(int_layout((1, 6), (1, 6), ordered=True))
    generations = list(explore(problem, make_lattice(problem.layout, {"gene_0": 1, "gene_1": 1})))
    asked = np.concatenate(problem.asked)
    assert len(asked) == len(np.unique(asked, axis=0)) == 15
    assert (asked[:, 0] < asked[:, 1]).all()
    assert [g.number for g in generations] == list(range(6))
    assert sum(g.rejected.get(OFF_GRID, 0) for g in generations) == 21


@pytest.mark.parametrize("chunk", [1, 10, 10_000])
def test_the_archive_is_the_true_front_whatever_the_chunk(monkeypatch, chunk):
    """The same front for any chunk, never truncated."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    problem = Zdt1(float_layout(2))
    grid = make_lattice(problem.layout, {"gene_0": 0.05, "gene_1": 0.1})
    *_, last = explore(problem, grid)
    truth = problem.compute_objectives(grid.points(0, len(grid)))
    truth = truth[moocore.is_nondominated(truth)]
    objectives = last.archive.objectives
    assert sorted(map(tuple, truth.tolist())) == sorted(map(tuple, objectives.tolist()))
    assert len(grid) == 21 * 11


def test_an_interrupted_grid_goes_on_with_the_same_bits(monkeypatch):
    """From any chunk on."""
    monkeypatch.setattr(module, "CHUNK", 16)
    problem = HalfForbidden(float_layout(2))
    grid = make_lattice(problem.layout, {"gene_0": 0.1, "gene_1": 0.1})
    whole = list(explore(problem, grid))
    for generation in whole:
        rest = list(explore(problem, grid, resume_from=generation))
        assert bits(rest) == bits(whole[generation.number + 1 :])
