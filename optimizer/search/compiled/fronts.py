"""Non-dominated ranks of two and three objectives in one sweep.

Individuals come in lexicographic order, so that none is dominated by a later one. Of
each front only the staircase is kept: those of its members that no other of it dominates in the
last two objectives. If no member of a front dominates an individual then none of a later front
does, which is why the first such front is found by halving.

Places are unsigned here, so that no access looks whether one is counted from the end.

Source: Zhang, Tian, Cheng and Jin, "An efficient approach to nondominated sorting for evolutionary
multiobjective optimization", 2015, for the search over fronts; the staircases are those of Kung,
Luccio and Preparata, "On finding the maxima of a set of vectors", 1975.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.sorting import Floats, Places

Bools = npt.NDArray[np.bool_]
Unsigned = npt.NDArray[np.uint64]

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
FIRST_SIZE = np.uint64(8)
"""Steps that a staircase has space for at first; the space doubles when it is full."""

START, LENGTH, SIZE = ZERO, ONE, TWO
"""Rows of the table of fronts: where a staircase begins, its steps, and its space."""


def rank_in_order(columns: Floats, order: Places, most: int) -> tuple[Places, Bools]:
    """Number of the front of each individual, and flags of repetitions of an earlier one.

    Args:
        columns: [O, P], O is 2 or 3.
        order: [P], lexicographic, the earlier of equals first.
        most: Fronts from this number on count as one, at least 1.

    Returns:
        [P] numbers, at most `most`; and [P], whether an earlier individual has the same objectives.
    """
    count = len(order)
    ranks, is_copy = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.bool_)
    # A staircase of s steps has had spaces of 8, 16, ... up to less than 2 s + 8 steps.
    steps = np.empty((2, 20 * count))
    fronts = np.empty((3, min(most, count)), dtype=np.uint64)
    sweep_fronts(columns, order, most, steps, fronts, ranks, is_copy)
    return ranks, is_copy


@compiled_unlocked
def sweep_fronts(
    columns: Floats, order: Places, most: int, steps: Floats, fronts: Unsigned,
    ranks: Places, is_copy: Bools,
) -> None:  # fmt: skip
    """Rank individuals; see `rank_in_order`.

    Args:
        columns: [O, P].
        order: [P].
        most: Fronts that are distinct.
        steps: [2, 20 P] scratch: the last objective but one, rising within a staircase, and the
            last one, falling.
        fronts: [3, N] scratch, rows `START`, `LENGTH` and `SIZE`; N is the lesser of `most` and P.
        ranks: [P] receives numbers.
        is_copy: [P] receives whether an earlier individual has the same objectives.
    """
    last_but_one, last = np.uint64(columns.shape[0] - 2), np.uint64(columns.shape[0] - 1)
    used, n_fronts, rank, before = ZERO, ZERO, ZERO, ZERO
    for i in range(order.size):
        p = np.uint64(order[i])
        y, z = columns[last_but_one, p], columns[last, p]
        is_same = i > 0 and columns[ZERO, p] == columns[ZERO, before]
        is_same = is_same and y == columns[last_but_one, before] and z == columns[last, before]
        is_copy[p], before = is_same, p
        if is_same:
            ranks[p] = rank
            continue
        rank, high, at = ZERO, n_fronts, used
        while rank < high:
            middle = (rank + high) >> ONE
            start = fronts[START, middle]
            above, end = start, start + fronts[LENGTH, middle]
            # Halved until `above` is the first step beyond y.
            while above < end:
                half = (above + end) >> ONE
                if steps[ZERO, half] <= y:
                    above = half + ONE
                else:
                    end = half
            if above > start and steps[ONE, above - ONE] <= z:
                rank = middle + ONE
            else:
                high, at = middle, above
        ranks[p] = rank
        if rank == np.uint64(most):
            continue
        if rank == n_fronts:
            fronts[START, rank], fronts[LENGTH, rank], fronts[SIZE, rank] = used, ZERO, FIRST_SIZE
            at, used, n_fronts = used, used + FIRST_SIZE, n_fronts + ONE
        elif fronts[LENGTH, rank] == fronts[SIZE, rank]:
            start = fronts[START, rank]
            for k in range(fronts[LENGTH, rank]):
                steps[ZERO, used + k] = steps[ZERO, start + k]
                steps[ONE, used + k] = steps[ONE, start + k]
            fronts[START, rank], fronts[SIZE, rank] = used, TWO * fronts[SIZE, rank]
            at, used = at + used - start, used + fronts[SIZE, rank]
        start = fronts[START, rank]
        end = start + fronts[LENGTH, rank]
        # The new step takes the place of its dominated ones.
        if at > start and steps[ZERO, at - ONE] == y:
            at -= ONE
        kept = at
        while kept < end and steps[ONE, kept] >= z:
            kept += ONE
        fronts[LENGTH, rank] = end - start + ONE + at - kept
        if kept == at:
            while kept < end:
                steps[ZERO, end], steps[ONE, end] = steps[ZERO, end - ONE], steps[ONE, end - ONE]
                end -= ONE
        else:
            to = at + ONE
            while to < kept < end:
                steps[ZERO, to], steps[ONE, to] = steps[ZERO, kept], steps[ONE, kept]
                to, kept = to + ONE, kept + ONE
        steps[ZERO, at], steps[ONE, at] = y, z
