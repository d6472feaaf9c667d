"""Members that leave a full front of three objectives: those that contribute least."""

import numpy as np

from engine.runtime.compiling.addresses import call_loop, declare_loop, find_address
from engine.runtime.compiling.loops import compiled_inline
from optimizer.search.compiled.contributions import NODE, Cells, allocate_names, sweep
from optimizer.search.compiled.fronts import Unsigned
from optimizer.search.compiled.rounds import (
    MOST_NEAR,
    SmallCells,
    find_least,
    leave_in_rounds,
    measure_alone,
)
from optimizer.search.compiled.sorting import Floats, Places, rising_orders

ROUNDS = sweep, leave_in_rounds, find_least, measure_alone
"""Loops that `truncate` calls by address, in this order."""


def allocate_leaving(
    count: int,
) -> tuple[Cells, Unsigned, Places, Places, Cells, Cells, SmallCells, Cells, Cells]:
    """Scratch of `truncate` for so many members."""
    values, links = np.empty((2, NODE * (count + 2)), dtype=np.int64)
    members, best = np.empty((3, count), dtype=np.int64), np.empty(3, dtype=np.int64)
    alone = np.empty((3, count), dtype=np.int32), np.empty((2, MOST_NEAR), dtype=np.int64)
    volumes = np.empty(count, dtype=np.int64)
    nodes = values, links.view(np.uint64)
    return (*nodes, members, best, *allocate_names(count), *alone, volumes)


class Front:
    """Members of a front of three objectives; those that contribute least may leave.

    Args:
        objectives: [F, 3], F at least 1.
        reference: Of every objective, in cells.
    """

    def __init__(self, objectives: Floats, reference: int) -> None:
        count = len(objectives)
        self._count, self._reference = count, reference
        self._columns = np.array(objectives.T, order="C")
        self._orders = rising_orders(self._columns)
        self._scratch = allocate_leaving(count)
        self._members, self._volumes = self._scratch[2], self._scratch[-1]
        self._members[0] = np.arange(count)

    @property
    def rows(self) -> Places:
        """Rows of the members that are left [N], rising."""
        return self._members[0, : self._count]

    def contributions(self) -> Cells:
        """Volumes of the members that are left [N], `MOST` for the first best in an objective."""
        scratch = *self._scratch[:6], self._volumes
        sweep(self._columns, self._orders, self._count, self._reference, *scratch)
        return self._volumes[: self._count]

    def truncate(self, keep: int, n_rounds: int) -> None:
        """Let those leave that contribute least, of equals the later ones; see `truncate`."""
        truncate(
            np.array([find_address(loop) for loop in ROUNDS]), 0, self._columns, self._orders,
            self._count, keep, n_rounds, self._reference, *self._scratch,
        )  # fmt: skip
        self._count = keep


@declare_loop(
    "void(i8[::1], i8, f8[:, ::1], i8[:, ::1], i8, i8, i8, i8, i8[::1], u8[::1], i8[:, ::1], "
    "i8[::1], i8[::1], i8[::1], i4[:, ::1], i8[:, ::1], i8[::1])"
)
def truncate(
    loops: Places, first: int, columns: Floats, orders: Places, count: int, keep: int,
    n_rounds: int, reference: int, values: Cells, links: Unsigned, members: Places, best: Places,
    names: Cells, words: Cells, cells: SmallCells, near: Cells, volumes: Cells,
) -> None:  # fmt: skip
    """Let members leave in rounds.

    Args:
        loops: Addresses, among them of `ROUNDS`.
        first: Where these begin.
        columns: [3, F], of which the first N count; lost.
        orders: [3, F], members by x and, in the last row, by z, of which the first N count; lost.
        count: N, at least 1.
        keep: How many stay, at least 1.
        n_rounds: In how many rounds the others leave.
        reference: Of every objective, in cells.
        values: [`NODE` (F + 2)]; scratch, here and below.
        links: [`NODE` (F + 2)].
        members: [3, F], of which row 0 receives the first places of those that stay.
        best: [3].
        names: [S].
        words: [M].
        cells: [3, F].
        near: [2, `MOST_NEAR`].
        volumes: [F].
    """
    for m in range(count):
        members[0, m] = m
    step = -(-(count - keep) // n_rounds)
    while count > keep:
        call_loop(
            sweep, loops[first], columns, orders, count, reference, values, links, members, best,
            names, words, volumes,
        )  # fmt: skip
        n_gone = call_loop(
            leave_in_rounds, loops[first + 1], loops[first + 2], loops[first + 3], count,
            count - keep, step, reference, values, members, cells, near, volumes, best,
        )  # fmt: skip
        drop(volumes, count, best[0], n_gone, columns, orders, members)
        count -= n_gone


@compiled_inline
def drop(
    volumes: Cells, count: int, bound: int, n_leaving: int, columns: Floats, orders: Places,
    members: Places,
) -> None:  # fmt: skip
    """Take out the members that contribute least.

    Args:
        volumes: [F], contributions, of which the first N count.
        count: N.
        bound: Contribution of the last one to leave.
        n_leaving: How many leave; of those at the bound the later ones.
        columns: [3, F]; those that stay move to the front, in their order, here and below.
        orders: [3, F], of which the second row is left alone.
        members: [3, F], of which row 0 is kept and row 1 lost.
    """
    n_staying, n_equal = count - n_leaving, 0
    for m in range(count):
        n_staying -= volumes[m] > bound
    seat = 0
    for m in range(count):
        volume = volumes[m]
        stays = volume > bound or (volume == bound and n_equal < n_staying)
        n_equal += volume == bound
        members[1, m] = seat if stays else -1
        if stays:
            members[0, seat] = members[0, m]
            for j in range(3):
                columns[j, seat] = columns[j, m]
            seat += 1
    for row in range(0, 3, 2):
        last = 0
        for i in range(count):
            seat = members[1, orders[row, i]]
            orders[row, last] = seat
            last += seat >= 0
