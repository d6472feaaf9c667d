"""Members that leave a full front of three objectives: the least contributors, in rounds.

A member that leaves only raises what others contribute. So contributions of the round before are
bounds from below, and only members that contribute least by these have to be measured again, each
by itself: it alone covers a box up to the first that bounds it on each side, less the boxes of
those near it. Volumes are counts of cells, so either way finds the same number.

Source: Minoux, "Accelerated greedy algorithms for maximizing submodular set functions", 1978, for
bounds in place of values; Williams, "Algorithm 232: heapsort", 1964.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import call_loop, declare_loop, declare_part, find_address
from engine.runtime.compiling.loops import compiled_inline
from optimizer.search.compiled.contributions import CELLS, MOST, NODE, Cells, allocate_names, sweep
from optimizer.search.compiled.fronts import Floats, Places, Unsigned, rising_orders

SmallCells = npt.NDArray[np.int32]

GONE = -1
"""Volume of a member that has left."""

MOST_NEAR = 64
"""Boxes that one member is measured beside; where it has more, all are swept again."""

BLOCK = 64
"""Members that are looked for at a time."""

SWEEP_COST, MEASURE_COST = 64, 1024
"""A sweep of F members takes as long as `SWEEP_COST` F / (F + `MEASURE_COST`) measured alone."""

FAR = np.int32(2**31 - 1)


@declare_part(
    "i8(i8, i8, i8, i8, i8, i8, i8[::1], i8[:, ::1], i4[:, ::1], i8[:, ::1], i8[::1], i8[::1])"
)
def leave_in_rounds(
    finding: int, measuring: int, count: int, n_leaving: int, step: int, reference: int,
    values: Cells, members: Places, cells: SmallCells, near: Cells, volumes: Cells, bound: Cells,
) -> int:  # fmt: skip
    """Find the leaving members: the least contributors, of equals the later ones.

    Args:
        finding: Address of `find_least`.
        measuring: Address of `measure_alone`.
        count: N.
        n_leaving: How many leave in all rounds.
        step: How many leave in a round.
        reference: Of every objective, in cells.
        values: [`NODE` (F + 2)], as `contributions.sweep` left them, here and below; lost.
        members: [3, F], of which row 0 is kept.
        cells: [3, F] scratch, by name less one; the last row becomes `FAR` of those that left.
        near: [2, `MOST_NEAR`] scratch.
        volumes: [F], contributions; `GONE` of those that left in rounds before the last one.
        bound: [1 or more], of which the first receives the greatest volume that leaves.

    Returns:
        How many leave: all, or those of the rounds before one that needs another sweep.
    """
    if n_leaving <= step or step * (count + MEASURE_COST) > SWEEP_COST * count:
        for m in range(count):
            values[m] = volumes[m]
        bound[0] = call_loop(find_least, finding, values, count, min(step, n_leaving))
        return min(step, n_leaving)
    # A heap of the remaining members, and behind it the leaving ones.
    names, heap, measured = members[1], members[2], values
    for m in range(count):
        name, depth = members[1, m], members[2, m]
        cells[0, name - 1] = np.int32(values[NODE * name])
        cells[1, name - 1] = np.int32(values[NODE * name + 1])
        cells[2, name - 1], heap[m] = np.int32(reference - depth), m
    for m in range(count):
        measured[m] = 0
    root, n_heap, n_gone, number, last = count // 2, count, 0, 0, count - step
    bound[0] = GONE
    while True:
        if n_heap == last:
            is_extreme = False
            for i in range(last, count - n_gone):
                m = heap[i]
                is_extreme = is_extreme or volumes[m] == MOST
                for j in range(3):
                    is_extreme = is_extreme or cells[j, names[m] - 1] == CELLS
                volumes[m], cells[2, names[m] - 1] = GONE, FAR
            n_gone, number = count - last, number + 1
            last -= min(step, n_leaving - n_gone)
            # The extent of the front may have changed.
            if is_extreme or n_gone == n_leaving:
                return n_gone
        if root > 0:
            root -= 1
        elif measured[heap[0]] < number and volumes[heap[0]] < MOST:
            m = heap[0]
            volume: int = call_loop(
                measure_alone, measuring, cells, count, names[m] - 1, reference, near
            )
            if volume < 0:
                return n_gone
            volumes[m], measured[m] = volume, number
        else:
            n_heap -= 1
            heap[0], heap[n_heap] = heap[n_heap], heap[0]
        sift(heap, n_heap, root, volumes)


@declare_part("i8(i8[::1], i8, i8)")
def find_least(left: Cells, count: int, place: int) -> int:
    """The volume at a place, from 1 on, of the first `count` in order; they change places.

    Source: Hoare, "Algorithm 65: find", 1961.
    """
    low, high, wanted = 0, count - 1, place - 1
    while low < high:
        pivot, i, j = left[(low + high) >> 1], low, high
        while i <= j:
            while left[i] < pivot:
                i += 1
            while left[j] > pivot:
                j -= 1
            if i <= j:
                left[i], left[j] = left[j], left[i]
                i, j = i + 1, j - 1
        # Between both ends all are the pivot.
        low = i if wanted >= i else low
        high = j if wanted <= j else high
        if j < wanted < i:
            break
    least: int = left[wanted]
    return least


@compiled_inline
def sift(heap: Places, count: int, root: int, volumes: Cells) -> None:
    """Let the member at `root` sink in the first `count` of a heap.

    The least contribution is at its root, of equals the latest.
    """
    sinking, at, child = heap[root], root, 2 * root + 1
    while child < count:
        first, m = heap[child], heap[min(child + 1, count - 1)]
        is_other = volumes[m] < volumes[first] or (volumes[m] == volumes[first] and m > first)
        m = m if is_other else first
        if volumes[m] > volumes[sinking] or (volumes[m] == volumes[sinking] and m < sinking):
            break
        heap[at], at = m, child + is_other
        child = 2 * at + 1
    heap[at] = sinking


@declare_part("i8(i4[:, ::1], i8, i8, i8, i8[:, ::1])")
def measure_alone(cells: SmallCells, count: int, member: int, reference: int, near: Cells) -> int:
    """Cells that one member of N alone covers; -1 where more than `MOST_NEAR` boxes are near it.

    `cells` [3, F] are by rising x, z is `FAR` where one has left; `near` [2, `MOST_NEAR`] is
    scratch, y and z of boxes near it, by rising y.
    """
    x, y, z = cells[0, member], cells[1, member], cells[2, member]
    north = top = np.int32(reference)
    for k in range(member):
        m = np.uint64(k)
        side, level = cells[1, m], cells[2, m]
        bound, ceiling = side if level <= z else FAR, level if side <= y else FAR
        north = bound if bound < north else north
        top = ceiling if ceiling < top else top
    # By rising x, and at each x the area that no box before it covers.
    volume, edge, n_near, start = 0, np.int64(x), 0, 0
    area = max(0, np.int64(north) - y) * max(0, np.int64(top) - z)
    while start < count and area > 0:
        stop, n_here = min(start + BLOCK, count), 0
        for k in range(start, stop):
            m = np.uint64(k)
            n_here += (cells[1, m] < north) & (cells[2, m] < top)
        for k in range(start, stop if n_here > 0 else start):
            m = np.uint64(k)
            if cells[1, m] >= north or cells[2, m] >= top or k == member or area == 0:
                continue
            if n_near == MOST_NEAR:
                return -1
            reached, begin = max(np.int64(cells[0, m]), edge), max(cells[1, m], y)
            volume, edge, at = volume + area * (reached - edge), reached, n_near
            while at > 0 and near[0, at - 1] > begin:
                near[0, at], near[1, at] = near[0, at - 1], near[1, at - 1]
                at -= 1
            near[0, at], near[1, at] = begin, max(cells[2, m], z)
            n_near += 1
            area, begun, height = 0, np.int64(y), np.int64(top)
            for i in range(n_near):
                area += (near[0, i] - begun) * (height - z)
                begun, height = near[0, i], min(height, near[1, i])
            area += (north - begun) * (height - z)
        start = stop
    alone: int = volume + area * (reference - edge)
    return alone


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
    """Members of a front [F, 3], F at least 1; the least contributors may leave.

    The reference of every objective is in cells.
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
    """Let members of the first N of F leave in rounds.

    Args:
        loops: Addresses, among them of `ROUNDS`.
        first: Where these begin.
        columns: [3, F]; lost.
        orders: [3, F], members by x and, in the last row, by z; lost.
        count: N, at least 1.
        keep: How many stay, at least 1.
        n_rounds: In how many rounds the others leave.
        reference: Of every objective, in cells.
        values: [`NODE` (F + 2)]; scratch of `sweep`, as all below but `cells` and `near`.
        links: [`NODE` (F + 2)].
        members: [3, F], of which row 0 receives the first places of those that stay.
        best: [3].
        names: [S].
        words: [M].
        cells: [3, F] scratch of `leave_in_rounds`.
        near: [2, `MOST_NEAR`] scratch of it.
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
    """Take out the members that contribute least: up to a bound, of those at it the later ones.

    Members that stay move to the front of `columns`, and of the rows of `orders` by x and z, in
    their order; of `members` row 0 is kept and row 1 lost.
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
