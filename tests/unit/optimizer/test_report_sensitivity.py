"""Neighbours of an individual: where they lie, and what is said of the illegal ones."""

import numpy as np
import pytest

from optimizer.report.sensitivity import gene_values, move_each, move_pairs, robustness
from optimizer.search.generation import Evaluation
from strategy import Gene, GenomeLayout, LessThan

LAYOUT = GenomeLayout(
    (
        Gene("fast", "int", 2, 10, 4, "bars"),
        Gene("slow", "int", 5, 20, 12, "bars"),
        Gene("level", "float", 0.0, 1.0, 0.5),
        Gene("fixed", "float", 3.0, 3.0, 3.0),
    ),
    (LessThan("fast", "slow"),),
)
OWN = np.array([4.0, 12.0, 0.5, 3.0])


class Sum:
    """A problem whose one objective is the sum of the genes; above 30 nobody is feasible."""

    layout = LAYOUT
    n_objectives = 1
    failure_names = ("", "too_large")

    def __init__(self):
        self.calls = 0

    def evaluate(self, genomes):
        """Judge legal genomes only."""
        self.calls += 1
        assert LAYOUT.is_legal(genomes).all()
        sums = genomes.sum(axis=1)
        failures = (sums > 30).astype(np.int16)
        objectives = np.where(failures == 1, np.nan, sums)[:, None]
        return Evaluation(objectives, failures.astype(float), failures)


def test_values_cover_the_bounds_and_lie_close_by():
    """A lattice over the bounds, the own value, and one step beside it; whole where it must be."""
    values = gene_values(LAYOUT.gene("fast"), 4.0, 3)
    assert values.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 10.0]
    step = 1 / 128
    near = [0.49, 0.5 - step, 0.5, 0.5 + step, 0.51]
    assert gene_values(LAYOUT.gene("level"), 0.5, 3) == pytest.approx([0, *near, 1])
    assert gene_values(LAYOUT.gene("fixed"), 3.0, 5).tolist() == [3.0]


def test_every_gene_moves_alone_in_one_batch():
    """A line a gene, in one call; a broken constraint and an infeasible neighbour are gaps."""
    problem = Sum()
    (lines,) = move_each(problem, OWN[None], 9)
    assert problem.calls == 1
    assert [line.gene for line in lines] == [0, 1, 2, 3]
    slow = lines[1]
    found = dict(zip(slow.values.tolist(), slow.objectives[:, 0].tolist(), strict=True))
    assert found[12.0] == OWN.sum()
    assert found[11.0] == OWN.sum() - 1
    assert np.isnan(lines[0].objectives[lines[0].values >= 12]).all()
    assert len(lines[3].values) == 1


def test_pairs_cover_all_genes_that_can_move():
    """Three free genes make three planes, rows along y."""
    planes = move_pairs(Sum(), OWN, points=4)
    assert [plane.genes for plane in planes] == [(0, 1), (0, 2), (1, 2)]
    plane = planes[0]
    assert plane.objectives.shape == (len(plane.y), len(plane.x), 1)
    x, y = np.meshgrid(plane.x, plane.y)
    total = x + y + 3.5
    expected = np.where((x < y) & (total <= 30), total, np.nan)
    assert np.array_equal(plane.objectives[:, :, 0], expected, equal_nan=True)


def test_robustness_is_the_worst_near_neighbour():
    """One more bar is the worst of a sum; an infeasible neighbour leaves nothing."""
    (lines,) = move_each(Sum(), OWN[None], 2)
    assert robustness(LAYOUT, lines, 0, OWN) == OWN.sum() + 1
    edge = np.array([9.0, 17.0, 0.9, 3.0])
    (lines,) = move_each(Sum(), edge[None], 2)
    assert robustness(LAYOUT, lines, 0, edge) == np.inf
