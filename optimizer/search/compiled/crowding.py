"""Crowding distances of all fronts at once, without sorting by front.

Going through all in the order of one objective, each front is met in that order too: the
neighbours of a member are the members of its front that were met last and that are met next.
"""

import numpy as np

from engine.runtime.compiling.addresses import declare_loop
from optimizer.search.compiled.sorting import Floats, Places

LARGE = 2.0**1000
"""Objectives beyond this are scaled before they are subtracted, so that no distance overflows."""

SCALE = 2.0**-10

LOW, EXTENT, BEFORE, NEAR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
"""Rows of a table of fronts: the least value, the extent, and the last two values that were met."""


def compute_crowding_distances(columns: Floats, orders: Places, ranks: Places) -> Floats:
    """Crowding distances.

    Args:
        columns: [O, P], finite.
        orders: [O, P], by each objective.
        ranks: [P], number of the front.

    Returns:
        [P], a sum over objectives: infinite for either end of a front, else the gap between both
        neighbours over O times the extent of the front, 0 where the front has none.
    """
    n_fronts = int(ranks.max(initial=-1)) + 1
    distances = np.zeros(len(ranks))
    met = np.empty(n_fronts, dtype=np.int64)
    fronts = np.empty((4, n_fronts))
    add_gaps(columns, orders, len(ranks), n_fronts, ranks, fronts, met, distances)
    return distances


@declare_loop("void(f8[:, ::1], i8[:, ::1], i8, i8, i8[::1], f8[:, ::1], i8[::1], f8[::1])")
def add_gaps(
    columns: Floats, orders: Places, n: int, n_fronts: int, ranks: Places, fronts: Floats,
    met: Places, out: Floats,
) -> None:  # fmt: skip
    """Add what each objective gives to crowding distances; see `compute_crowding_distances`.

    Args:
        columns: [O, C], of which the first P count.
        orders: [O, C].
        n: P.
        n_fronts: F.
        ranks: [C].
        fronts: [4, C] scratch.
        met: [C] scratch, the member that was met last, -1 before the first.
        out: [C], added to.
    """
    n_objectives = orders.shape[0]
    for j in range(n_objectives):
        scale = 1.0
        if n and (columns[j, orders[j, 0]] < -LARGE or columns[j, orders[j, n - 1]] > LARGE):
            scale = SCALE
        for f in range(n_fronts):
            met[f] = -1
        # First the ends and extent of each front, then the gaps between neighbours.
        for i in range(n):
            p = np.uint64(orders[j, i])
            front, value = np.uint64(ranks[p]), columns[j, p] * scale
            if met[front] < 0:
                fronts[LOW, front] = value
                out[p] += np.inf
            fronts[EXTENT, front], met[front] = value, orders[j, i]
        for f in range(n_fronts):
            extent = n_objectives * (fronts[EXTENT, f] - fronts[LOW, f])
            fronts[EXTENT, f] = extent if extent > 0 else np.inf
            if met[f] >= 0:
                out[met[f]] += np.inf
            met[f] = -1
        for i in range(n):
            p = np.uint64(orders[j, i])
            front, value = np.uint64(ranks[p]), columns[j, p] * scale
            if met[front] >= 0:
                # The first of a front is infinite already.
                gap = (value - fronts[BEFORE, front]) / fronts[EXTENT, front]
                out[np.uint64(met[front])] += gap
                fronts[BEFORE, front] = fronts[NEAR, front]
            else:
                fronts[BEFORE, front] = value
            fronts[NEAR, front], met[front] = value, orders[j, i]
