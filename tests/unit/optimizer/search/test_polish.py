"""Polishing: which neighbours a front has, and that none of them makes it worse."""

import numpy as np

from optimizer.search.archive import hypervolume
from optimizer.search.evolution import STEPS, neighbours
from optimizer.search.generation import OPERATORS
from tests.support.searches import Zdt1, evolve, float_layout, int_layout, polished_front, settings


def test_neighbours_differ_in_one_gene_by_one_step():
    """Whole genes by 1, others by a part of their span, each direction once."""
    layout = int_layout((1, 9), (5, 5), (1, 4))
    near, origins = neighbours(layout, np.array([[4.0, 5.0, 1.0]]))
    assert sorted(map(tuple, near.tolist())) == [(3, 5, 1), (4, 5, 2), (5, 5, 1)]
    assert origins.tolist() == [0, 0, 0]
    near, _ = neighbours(float_layout(1), np.array([[0.5]]))
    assert near.ravel().tolist() == [0.5 + 1 / STEPS, 0.5 - 1 / STEPS]


def test_polish_only_adds():
    """What the polished front dominates contains what the front did."""
    problem = Zdt1(float_layout(4))
    *_, last = evolve(problem, settings(20, 15))
    archive, count = polished_front(problem, last, at_most=500, keep=1000)
    box = np.zeros(2), np.array([1.1, 10.0])
    before, after = (hypervolume(a.objectives, *box) for a in (last.archive, archive))
    assert after > before
    assert 0 < count <= 500
    made = archive.lineage[archive.lineage[:, 3] == OPERATORS.index("polish")]
    assert len(made)
    assert (made[:, 0] >= 320).all()
    assert set(made[:, 1].tolist()) <= set(last.archive.lineage[:, 0].tolist())
