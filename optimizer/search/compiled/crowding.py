"""Crowding distances of all fronts at once, and the order of standing, without sorting by front.

Going through everybody in the order of one objective, each front is met in that order too: the
neighbours of a member are the members of its front that were met last and that are met next.
"""

import numpy as np

from engine.compiling.loops import compiled
from optimizer.search.compiled.sorting import Floats, Places, sort_by_keys


@compiled
def add_gaps(values: Floats, order: Places, ranks: Places, n_objectives: int, out: Floats) -> None:
    """Add what one objective gives to crowding distances.

    Args:
        values: [P] of the objective; no difference of two overflows.
        order: [P], those of smaller values first.
        ranks: [P], number of the front.
        n_objectives: O.
        out: [P], added to: infinite for either end of a front, else the gap between both
            neighbours over O times the extent of the front, 0 where the front has none.
    """
    n_fronts = 0
    for i in range(ranks.size):
        n_fronts = max(n_fronts, ranks[i] + 1)
    low, high = np.empty(n_fronts), np.empty(n_fronts)
    last, before = np.empty(n_fronts, np.int64), np.empty(n_fronts, np.int64)
    for f in range(n_fronts):
        last[f], before[f] = -1, -1
    for i in range(order.size):
        p = order[i]
        f = ranks[p]
        if last[f] < 0:
            low[f] = values[p]
        high[f] = values[p]
        last[f] = p
    for f in range(n_fronts):
        extent = n_objectives * (high[f] - low[f])
        high[f] = extent if extent > 0 else np.inf
        if last[f] >= 0:
            out[last[f]] += np.inf
        last[f] = -1
    for i in range(order.size):
        p = order[i]
        f = ranks[p]
        if last[f] < 0:
            out[p] += np.inf
        elif before[f] >= 0:
            out[last[f]] += (values[p] - values[before[f]]) / high[f]
        before[f] = last[f]
        last[f] = p


@compiled
def standing_order(ranks: Places, crowding: Floats, order: Places) -> None:
    """Who stands before whom: by rank, then by crowding, widest first, then by place.

    Args:
        ranks: [P], 0 or more.
        crowding: [P], 0 or more.
        order: [P] receives places.
    """
    n = ranks.size
    if not n:
        return
    keys, by_crowding = np.empty(n, np.uint64), np.empty(n, np.int64)
    n_ranks = 0
    for i in range(n):
        keys[i] = ~np.float64(crowding[i] + 0.0).view(np.uint64)
        by_crowding[i] = i
        n_ranks = max(n_ranks, ranks[i] + 1)
    sort_by_keys(keys, by_crowding)
    counts = np.zeros(n_ranks + 1, np.int64)
    for i in range(n):
        counts[ranks[i] + 1] += 1
    for f in range(n_ranks):
        counts[f + 1] += counts[f]
    for i in range(n):
        p = by_crowding[i]
        order[counts[ranks[p]]] = p
        counts[ranks[p]] += 1
