"""Non-dominated ranks of many individuals with three objectives, again in one sweep.

Individuals come in lexicographic order, as in `fronts`, so that only the second and the third
objective are compared. They have places in the order of the second, cut into blocks of `BLOCK`,
and whoever dominates an individual has a place in its block or in one before it.

- Blocks before: a table knows the least third objective that each front has up to a block. It
  rises from front to front, so that the fronts with a dominating member are simply counted.
- The own block: all that came before are asked.

Both are loops of fixed length without a branch, many comparisons at a time, where a search in
staircases guesses wrong at every other step. The table grows with fronts times blocks; where it
would not fit, staircases do better anyway, because many fronts are short ones.
"""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled, compiled_unlocked
from optimizer.search.compiled.fronts import is_same
from optimizer.search.compiled.sorting import Floats, Places

Levels = npt.NDArray[np.int32]

BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
"""Places of a block."""

WIDTH_BITS = 4
WIDTH = 1 << WIDTH_BITS
"""Fronts that are compared at a time."""

MOST_ENTRIES = 1 << 22
"""Room of the table; 16 MiB."""

FURTHEST = np.int32(2**31 - 1)
ONE = np.int32(1)


@compiled
def number_levels(column: Floats, order: Places, levels: Levels) -> None:
    """Whole numbers that compare as an objective does.

    Args:
        column: [P].
        order: [P], by it.
        levels: [P] receives the numbers, equal where the objective is.
    """
    level = -ONE
    for i in range(order.size):
        if i == 0 or column[order[i]] != column[order[i - 1]]:
            level += ONE
        levels[order[i]] = level


@compiled
def last_of_equals(column: Floats, order: Places, places: Levels, lasts: Levels) -> None:
    """Where each individual stands in the order of an objective, and its last equal.

    Args:
        column: [P].
        order: [P], by it.
        places: [P] receives places in the order.
        lasts: [P] receives the place of the last individual that is equal.
    """
    last = order.size - 1
    for i in range(order.size - 1, -1, -1):
        if i + 1 < order.size and column[order[i]] != column[order[i + 1]]:
            last = i
        places[order[i]], lasts[order[i]] = i, last


@compiled
def rank_above_block(zs: Levels, ranks: Levels, place: int, z: int) -> int:
    """One more than the best rank of those in a block who dominate an individual; 0 if none does.

    Args:
        zs: [B, BLOCK], third objective of those who came, else `FURTHEST`.
        ranks: [B, BLOCK].
        place: Last place that counts.
        z: Third objective of the individual.
    """
    block, last = np.uint64(place >> BLOCK_BITS), np.int32(place & (BLOCK - 1))
    above = np.int32(0)
    for k in range(BLOCK):
        is_better = zs[block, k] <= z and np.int32(k) <= last
        above = max(above, ranks[block, k] + ONE if is_better else np.int32(0))
    return int(above)


@compiled
def rank_above_table(least: Levels, n_groups: int, lowest: int, block: int, z: int) -> int:
    """How many fronts have a member in the blocks up to one that dominates an individual.

    Args:
        least: [N, B, WIDTH], least third objective of each front up to each block.
        n_groups: Groups of `WIDTH` fronts that are in use.
        lowest: So many fronts are known to have one.
        block: The last block.
        z: Third objective of the individual.
    """
    low, high, at = lowest >> WIDTH_BITS, n_groups, np.uint64(block)
    while low < high:
        middle = (low + high) // 2
        if least[np.uint64(middle), at, WIDTH - 1] <= z:
            low = middle + 1
        else:
            high = middle
    if low == n_groups:
        return low * WIDTH
    group, n_worse = np.uint64(low), np.int32(0)
    for k in range(WIDTH):
        n_worse += np.int32(least[group, at, k] <= z)
    return low * WIDTH + int(n_worse)


@compiled
def clear(least: Levels, group: int) -> None:
    """Begin a group of fronts without a member."""
    for b in range(least.shape[1]):
        for k in range(WIDTH):
            least[group, b, k] = FURTHEST


@compiled
def lay_out(columns: Floats, orders: Places, course: Levels) -> None:
    """What the sweep needs of each individual, in the order in which it comes.

    Args:
        columns: [3, P].
        orders: [3, P].
        course: [P, 4] receives place, last place of an equal, level of the third objective, and
            1 for who has the objectives of the one before.
    """
    n = orders.shape[1]
    places, lasts, levels = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    last_of_equals(columns[1], orders[1], places, lasts)
    number_levels(columns[2], orders[2], levels)
    for i in range(n):
        p = orders[0, i]
        course[i, 0], course[i, 1], course[i, 2] = places[p], lasts[p], levels[p]
        course[i, 3] = i > 0 and is_same(columns, p, orders[0, i - 1])


@compiled_unlocked
def rank_in_blocks(columns: Floats, orders: Places, ranks: Places) -> bool:
    """Number of the front of each individual.

    Args:
        columns: [3, P], P at least 1.
        orders: [3, P], by each objective, the first one lexicographic.
        ranks: [P] receives the numbers.

    Returns:
        Whether they were found; not when there are too many fronts for the table.
    """
    n = ranks.size
    course = np.empty((n, 4), np.int32)
    lay_out(columns, orders, course)
    n_blocks = ((n - 1) >> BLOCK_BITS) + 1
    least = np.empty((max(1, MOST_ENTRIES // (n_blocks * WIDTH)), n_blocks, WIDTH), np.int32)
    zs, known = np.empty((n_blocks, BLOCK), np.int32), np.empty((n_blocks, BLOCK), np.int32)
    for b in range(n_blocks):
        for k in range(BLOCK):
            zs[b, k], known[b, k] = FURTHEST, 0
    n_groups, rank = 0, 0
    for i in range(n):
        place, last, z = course[i, 0], course[i, 1], course[i, 2]
        if not course[i, 3]:
            rank = rank_above_block(zs, known, last, z)
            before = (last >> BLOCK_BITS) - 1
            if before >= 0:
                rank = max(rank, rank_above_table(least, n_groups, rank, before, z))
            group, front = rank >> WIDTH_BITS, rank & (WIDTH - 1)
            own, seat = place >> BLOCK_BITS, place & (BLOCK - 1)
            if group == n_groups:
                if group == least.shape[0]:
                    return False
                clear(least, group)
                n_groups += 1
            zs[own, seat], known[own, seat] = z, rank
            while own < n_blocks and least[group, own, front] > z:
                least[group, own, front] = z
                own += 1
        ranks[orders[0, i]] = rank
    return True
