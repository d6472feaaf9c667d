"""``@near``: an objective of a member and its neighbours; their worst quarter decides.

A neighbour lies one reach away along one gene, 5 % of its span; along a gene without order each of
its other options is one. A member that is good only at one
point of the search space, without good neighbours, is not called good.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.checks import Flags
from optimizer.search.generation import Indices
from strategy.genes import Floats, GenomeLayout

NEAR = "near"
"""Suffix of an objective: ``strength@near``."""

REACH_FRAC = 0.05


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Members with their neighbours along each axis."""

    genomes: Floats  # [U, G], all that are needed, each once
    indices: Indices  # [P, m] of a member and its neighbours among `genomes`
    is_counted: Flags  # [P, m], False where a neighbour repeats another one or the member

    def worst_quarter(self, values: Floats, maximised: Sequence[bool]) -> Floats:
        """Value [P, N] that the worst quarter of each neighbourhood reaches; NaN if infeasible.

        It is the ceil(m / 4)-th worst of m that count. Values [U, N] are those of objectives in
        their natural sense, NaN where infeasible, which is worst.
        """
        signs, counted = np.where(maximised, 1.0, -1.0), self.is_counted
        rank = (counted.sum(axis=1) + 3) // 4 - 1
        reached = np.empty((len(self.indices), values.shape[1]))
        for number, column in enumerate((signs * values).T):
            known = np.where(np.isnan(column), -np.inf, column)[self.indices]
            ranked = np.sort(np.where(counted, known, np.inf), axis=1)
            lowest = np.take_along_axis(ranked, rank[:, None], axis=1)[:, 0]
            reached[:, number] = np.where(np.isfinite(lowest), signs[number] * lowest, np.nan)
        return reached


def compute_reach(layout: GenomeLayout) -> Floats:
    """How far a neighbour lies in each gene of the grid [G].

    It is 5 % of the gene's span, for whole genes 1 at least, for one without order 1.
    """
    grid = layout.grid
    spans = grid.high - grid.low
    reach = REACH_FRAC * spans
    whole = np.where(grid.is_category, 1.0, np.maximum(np.rint(reach), 1.0))
    return np.where(spans > 0, np.where(grid.is_int, whole, reach), 0.0)


def axis_moves(layout: GenomeLayout) -> Floats:
    """Moves to all neighbours, [n, G]; see `GenomeLayout.axis_moves`."""
    return layout.axis_moves(compute_reach(layout))


def neighbourhoods(layout: GenomeLayout, genomes: Floats) -> Neighbourhoods:
    """The neighbourhoods of legal genomes [P, G], clipped and repaired."""
    steps = np.concatenate([np.zeros((1, len(layout))), axis_moves(layout)])
    moved, _ = layout.repair(
        layout.move(genomes[:, None], steps).reshape(len(genomes) * len(steps), len(layout))
    )
    distinct, indices = np.unique(moved, axis=0, return_inverse=True)
    indices = indices.reshape(len(genomes), len(steps))
    order = np.argsort(indices, axis=1, kind="stable")
    ranked = np.take_along_axis(indices, order, axis=1)
    is_first = np.ones_like(ranked, np.bool_)
    is_first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    is_counted = np.empty_like(is_first)
    np.put_along_axis(is_counted, order, is_first, axis=1)
    return Neighbourhoods(distinct, indices, is_counted)
