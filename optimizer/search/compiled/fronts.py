"""Non-dominated ranks of two and three objectives in one sweep.

Individuals come in lexicographic order, so that nobody is dominated by one who comes later. Of
each front only the staircase is kept: those of its members that no other of it dominates in the
second and third objective. If a front holds nobody who dominates an individual then no later front
does, which is why the first such front is found by halving.

Source: Zhang, Tian, Cheng and Jin, "An efficient approach to nondominated sorting for evolutionary
multiobjective optimization", 2015, for the search over fronts; the staircases are those of Kung,
Luccio and Preparata, "On finding the maxima of a set of vectors", 1975.
"""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled
from optimizer.search.compiled.sorting import Floats, Places

Bools = npt.NDArray[np.bool_]

FIRST_ROOM = 8
"""Room that a staircase begins with; it doubles when it is full."""


@compiled
def stair_above(ys: Floats, start: int, length: int, y: float) -> int:
    """First position of a staircase whose y is above `y`, counted from 0 of the arena."""
    low, high = start, start + length
    while low < high:
        middle = (low + high) // 2
        if ys[middle] <= y:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def put_stair(ys: Floats, zs: Floats, start: int, length: int, at: int, y: float, z: float) -> int:
    """Put a step into a staircase and take out those that it dominates.

    Args:
        ys: Arena; rising within a staircase.
        zs: Arena; falling within a staircase.
        start: Where the staircase begins; there is room for one more step.
        length: Its steps.
        at: From `stair_above` for y.
        y: Of the new step, which no other dominates.
        z: Of the new step.

    Returns:
        The new length.
    """
    first = at - 1 if at > start and ys[at - 1] == y else at
    end = start + length
    last = first
    while last < end and zs[last] >= z:
        last += 1
    if last == first:
        for i in range(end, first, -1):
            ys[i] = ys[i - 1]
            zs[i] = zs[i - 1]
    elif last > first + 1:
        gone = last - first - 1
        for i in range(last, end):
            ys[i - gone] = ys[i]
            zs[i - gone] = zs[i]
    ys[first] = y
    zs[first] = z
    return length + 1 - (last - first)


@compiled
def is_same(columns: Floats, a: int, b: int) -> bool:
    """Whether two individuals have equal objectives [O, P]."""
    n_different = 0
    for j in range(columns.shape[0]):
        n_different += columns[j, a] != columns[j, b]
    return n_different == 0


@compiled
def find_copies(columns: Floats, order: Places, is_copy: Bools) -> None:
    """Who has the objectives of somebody before.

    Args:
        columns: [O, P].
        order: [P], lexicographic, earlier places first among equals.
        is_copy: [P] receives the answer.
    """
    for i in range(order.size):
        is_copy[order[i]] = i > 0 and is_same(columns, order[i], order[i - 1])


@compiled
def rank_in_order(columns: Floats, order: Places, ranks: Places) -> None:
    """Number of the front of each individual.

    Args:
        columns: [O, P], O is 2 or 3.
        order: [P], lexicographic.
        ranks: [P] receives the numbers.
    """
    n, n_objectives = order.size, columns.shape[0]
    # A staircase of s steps has had rooms of 8, 16, ... up to less than 2 s + 8 places.
    ys, zs = np.empty(20 * n), np.empty(20 * n)
    starts, lengths, rooms = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    used, n_fronts, rank = 0, 0, 0
    for i in range(n):
        p = order[i]
        if i and is_same(columns, p, order[i - 1]):
            ranks[p] = rank
            continue
        y, z = columns[n_objectives - 2, p], columns[n_objectives - 1, p]
        low, high, at = 0, n_fronts, used
        while low < high:
            middle = (low + high) // 2
            found = stair_above(ys, starts[middle], lengths[middle], y)
            if found > starts[middle] and zs[found - 1] <= z:
                low = middle + 1
            else:
                high, at = middle, found
        rank = low
        ranks[p] = rank
        if rank == n_fronts:
            starts[rank], lengths[rank], rooms[rank], at = used, 0, FIRST_ROOM, used
            used += FIRST_ROOM
            n_fronts += 1
        elif lengths[rank] == rooms[rank]:
            start = starts[rank]
            for k in range(lengths[rank]):
                ys[used + k], zs[used + k] = ys[start + k], zs[start + k]
            at += used - start
            starts[rank], rooms[rank] = used, 2 * rooms[rank]
            used += rooms[rank]
        lengths[rank] = put_stair(ys, zs, starts[rank], lengths[rank], at, y, z)


@compiled
def find_undominated(columns: Floats, order: Places, is_best: Bools) -> None:
    """Who is dominated by none and equal to none before.

    Args:
        columns: [O, P], O is 2 or 3.
        order: [P], lexicographic, earlier places first among equals.
        is_best: [P] receives the answer.
    """
    n_objectives = columns.shape[0]
    ys, zs = np.empty(order.size), np.empty(order.size)
    # Typed, because a loop is compiled anew for each literal that it is called with.
    start, length = int(np.int64(0)), int(np.int64(0))
    for i in range(order.size):
        p = order[i]
        y, z = columns[n_objectives - 2, p], columns[n_objectives - 1, p]
        at = stair_above(ys, start, length, y)
        is_best[p] = at == 0 or zs[at - 1] > z
        if is_best[p]:
            length = put_stair(ys, zs, start, length, at, y, z)


@compiled
def spread_to_copies(columns: Floats, order: Places, is_best: Bools) -> None:
    """Say of each copy what is said of the first of its equals.

    Args:
        columns: [O, P].
        order: [P], lexicographic, earlier places first among equals.
        is_best: [P], changed.
    """
    for i in range(1, order.size):
        if is_same(columns, order[i], order[i - 1]):
            is_best[order[i]] = is_best[order[i - 1]]
