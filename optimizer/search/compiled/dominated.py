"""Offspring that a few elders dominate, which are left out of the sort.

Most offspring of a search that has come far are dominated by many elders: any 32 of these dominate
seven in ten of 4,096. An individual that an elder of a front dominates is in no front up to that.
"""

import numpy as np

from engine.runtime.compiling.addresses import declare_part
from optimizer.search.compiled.fronts import Bools
from optimizer.search.compiled.sorting import Floats

N_ASKED = 32
"""Elders that are asked."""


@declare_part("void(f8[:, ::1], f8[::1], i8, i8, f8[:, ::1], b1[::1])")
def mark_dominated(
    objectives: Floats, violations: Floats, first: int, n_elders: int, asked: Floats,
    is_dominated: Bools,
) -> None:  # fmt: skip
    """Mark newcomers that a compared elder dominates.

    Args:
        objectives: [P, 3], of elders first.
        violations: [P], 0 where feasible; others are neither asked nor marked.
        first: Of the elders that may be asked.
        n_elders: How many of P are elders, or more than that.
        asked: [3, `N_ASKED`] scratch.
        is_dominated: [C], of which the first P are received.
    """
    n_asked, n_elders = 0, min(n_elders, violations.size)
    for k in range(N_ASKED):
        asked[0, k] = np.inf
    for p in range(first, n_elders, (n_elders - first) // N_ASKED + 1):
        if violations[p] == 0.0:
            for j in range(3):
                asked[j, n_asked] = objectives[p, j]
            n_asked += 1
    for p in range(violations.size):
        x, y, z = objectives[p, 0], objectives[p, 1], objectives[p, 2]
        n_above = 0
        for k in range(N_ASKED if p >= n_elders else 0):
            # Equals are not dominated, and few others are equal in the first objective.
            n_above += (asked[0, k] < x) & (asked[1, k] <= y) & (asked[2, k] <= z)
        is_dominated[p] = n_above > 0
