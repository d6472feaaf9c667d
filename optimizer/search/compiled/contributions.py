"""Hypervolume of a front of three objectives, what each member contributes, and who leaves.

Members come by rising third objective. Below a height the front is a staircase in x and y. Members
are named by their seat in one order, from 1 on, and the staircase is a set of bits, one a name, so
that the neighbour of a new member is found without asking many.

*Contributions*: objectives become cells of a grid, and a contribution is the number of cells that a
member alone covers: a whole number, so that any order of sums gives the same one. The share of a
member is the area that it alone covers: a box up to its two neighbours, less what those cover that
it hides. A member that comes hides a run of the staircase, which bounds its share from then on, and
cuts the shares of its two neighbours, never anybody else's. Each member is put into the staircase
once, and once cut off what bounds a share.

*Volume*: each member that comes adds the area that it alone covers, in the order in which moocore
takes its sums.

*Leaving*: the least contributors leave a full front in rounds. A member that leaves only raises
what others contribute. So contributions of the round before are bounds from below, and only members
that contribute least by these have to be measured again, each by itself: it alone covers a box up
to the first that bounds it on each side, less the boxes of those near it. Volumes are counts of
cells, so either way finds the same number.

Sources: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in up to four
dimensions", IEEE Transactions on Evolutionary Computation 22(3), 2018; the grid and the set of bits
are house rules; Minoux, "Accelerated greedy algorithms for maximizing submodular set functions",
1978, for bounds in place of values; Williams, "Algorithm 232: heapsort", 1964.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import call_loop, declare_loop, declare_part, find_address
from engine.runtime.compiling.loops import compiled_inline, compiled_part
from optimizer.search.compiled.fronts import ONE, TWO, ZERO, Floats, Places, Unsigned, rising_orders

Cells = npt.NDArray[np.int64]
SmallCells = npt.NDArray[np.int32]
Name = np.uint64

CELLS = 2**20
"""Cells that the extent of an objective is cut into."""

MOST = np.iinfo(np.int64).max
"""Contribution of the best in an objective, above all volumes."""

NODE = 4
"""Numbers of a member, in either array of nodes."""

X, Y, SHARE, VOLUME = ZERO, ONE, TWO, np.uint64(3)
"""Where they stand in `values`: the cell, the area that the member alone covers at the height that
was reached, and the volume up to the reference if no other member came."""

EAST, NORTH, RING = ZERO, ONE, TWO
"""Where they stand in `links`: the next of the staircase to the east and to the north, x rising to
the east and y to the north; and from `RING` on, each way, the next in the ring of a member and of
what bounds its share."""

WORD_BITS = 5
LAST_BIT = (1 << WORD_BITS) - 1
"""A word of a set has 32 bits, so that a float64 holds it and its exponent names the highest."""

REFERENCE = 1.0
"""Of every objective."""

GONE = -1
"""Volume of a member that has left."""

MOST_NEAR = 64
"""Boxes that one member is measured beside; where it has more, all are swept again."""

BLOCK = 64
"""Members that are looked for at a time."""

SWEEP_COST, MEASURE_COST = 64, 1024
"""A sweep of F members takes as long as `SWEEP_COST` F / (F + `MEASURE_COST`) measured alone."""

FAR = np.int32(2**31 - 1)


def allocate_names(count: int) -> tuple[Cells, Cells]:
    """An empty set of names from 0 to one past a count; see `find_below`."""
    names = np.zeros(((count + 1) >> WORD_BITS) + 1, dtype=np.int64)
    return names, np.zeros((len(names) >> WORD_BITS) + 1, dtype=np.int64)


@compiled_part
def find_below(names: Cells, words: Cells, name: int) -> int:
    """The greatest name of a set that is less than one from 1 on; there is one.

    `names` [S] is the set with a bit for each name, `words` [M] has a bit for each word that is not
    0.
    """
    # A float64's exponent numbers its highest bit.
    word = name >> WORD_BITS
    left = names[word] & ((1 << (name & LAST_BIT)) - 1)
    if left == 0:
        group = word >> WORD_BITS
        left = words[group] & ((1 << (word & LAST_BIT)) - 1)
        while left == 0:
            group -= 1
            left = words[group]
        word = (group << WORD_BITS) + int(np.float64(left).view(np.int64) >> 52) - 1023
        left = names[word]
    return (word << WORD_BITS) + int(np.float64(left).view(np.int64) >> 52) - 1023


@compiled_part
def add_name(names: Cells, words: Cells, name: int) -> None:
    """Put a name into a set; see `find_below`."""
    word = name >> WORD_BITS
    names[word] |= 1 << (name & LAST_BIT)
    words[word >> WORD_BITS] |= 1 << (word & LAST_BIT)


@compiled_part
def drop_name(names: Cells, words: Cells, name: int) -> None:
    """Take a name that is in it out of a set; see `find_below`."""
    word = name >> WORD_BITS
    names[word] ^= 1 << (name & LAST_BIT)
    if names[word] == 0:
        words[word >> WORD_BITS] ^= 1 << (word & LAST_BIT)


@declare_loop(
    "void(f8[:, ::1], i8[:, ::1], i8, i8, i8[::1], u8[::1], i8[:, ::1], i8[::1], i8[::1], i8[::1], "
    "i8[::1])"
)
def sweep(
    columns: Floats, orders: Places, count: int, reference: int, values: Cells, links: Unsigned,
    members: Places, best: Places, names: Cells, words: Cells, volumes: Cells,
) -> None:  # fmt: skip
    """Find contributions of the first N of F, going through members by rising height.

    Args:
        columns: [3, F].
        orders: [3, F], members by x and, in the last row, by z.
        count: N.
        reference: Of every objective, in cells.
        values: [`NODE` (F + 2)] scratch; of the corners the first one lies in the north, the last
            one in the east.
        links: [`NODE` (F + 2)] scratch.
        members: [3, F], of which row 0 is kept.
        best: [3] scratch.
        names: [S] scratch, as of `find_below`.
        words: [M] scratch, as of `find_below`.
        volumes: [F] receive contributions.
    """
    enter_cells(columns, orders, count, reference, values, members, best)
    for k in range(names.size):
        names[k] = 0
    for k in range(words.size):
        words[k] = 0
    north, east = ZERO, np.uint64(NODE * (count + 1))
    for corner in (north, east):
        links[corner + EAST], links[corner + NORTH] = east, north
        links[corner + RING], links[corner + RING + ONE] = corner, corner
        values[corner + SHARE] = values[corner + VOLUME] = 0
    names[0] = words[0] = 1
    for i in range(count):
        name, depth = members[1, orders[2, i]], members[2, orders[2, i]]
        p = np.uint64(NODE * name)
        x, y = values[p + X], values[p + Y]
        values[p + VOLUME] = 0
        below = find_below(names, words, name)
        west = np.uint64(NODE * below)
        east = links[west + EAST]
        # Either of two with the same x may have come first.
        if values[east + X] == x and values[east + Y] <= y:
            west = east
        elif values[west + X] == x and values[west + Y] > y:
            west, east = links[west + NORTH], west
        top = values[west + Y]
        # Dominated on arrival: it takes from a member only if that alone hides it.
        if top <= y:
            if values[links[west + NORTH] + Y] > y:
                hide(values, links, p, west, depth)
            continue
        # Members that it dominates leave the staircase, and bound its share from now on.
        edge, share, last = x, 0, p
        while values[east + Y] >= y:
            values[east + VOLUME] -= values[east + SHARE] * depth
            drop_name(names, words, int(np.int64(east) // NODE))
            share += (values[east + X] - edge) * (top - y)
            links[last + RING + EAST], links[east + RING + NORTH] = east, last
            edge, top, last, east = values[east + X], values[east + Y], east, links[east + EAST]
        share += (values[east + X] - edge) * (top - y)
        add_name(names, words, name)
        links[last + RING + EAST], links[p + RING + NORTH] = p, last
        links[p + EAST], links[p + NORTH] = east, west
        values[p + SHARE], values[p + VOLUME] = share, share * depth
        # Both neighbours lose the part that they no longer dominate alone.
        for way in (EAST, NORTH):
            cut(values, links, p, west if way == EAST else east, way, depth)
    for m in range(count):
        volumes[m] = values[NODE * members[1, m] + 3]
    for j in range(3):
        volumes[best[j]] = MOST


@compiled_inline
def enter_cells(
    columns: Floats, orders: Places, count: int, reference: int, values: Cells, members: Places,
    best: Places,
) -> None:  # fmt: skip
    """Cut objectives into cells of the members' extent; arguments as of `sweep`.

    `values` receives cells by name, and corners before and after them; row 1 of `members` names,
    row 2 depths, from each height to the reference; `best` the first of the best in each objective.
    """
    for j in range(3):
        low, high, first = columns[j, 0], columns[j, 0], 0
        for m in range(count):
            value = columns[j, m]
            if value < low:
                low, first = value, m
            high = value if value > high else high
        best[j] = first
        # Halved first, so that no extent overflows.
        low *= 0.5
        extent = high * 0.5 - low
        extent = extent if extent > 0.0 else 1.0
        for i in range(count):
            m = orders[0, i]
            cell = np.int64((columns[j, m] * 0.5 - low) / extent * CELLS)
            if j < 2:
                values[NODE * (i + 1) + j] = cell
            else:
                members[1, m], members[2, m] = i + 1, reference - cell
    last = NODE * (count + 1)
    values[0] = values[last + 1] = -1
    values[1] = values[last] = reference


@compiled_inline
def cut(values: Cells, links: Unsigned, p: Name, q: Name, way: Name, depth: int) -> None:
    """Take from member q its loss to a new member p that becomes its neighbour.

    `links` are those of q still with its former neighbour; `way` is where p lies, `EAST` or
    `NORTH`, `depth` goes from the height of p up to the reference.
    """
    back = ONE - way
    edge, base, limit = values[links[q + way] + way], values[q + back], values[p + way]
    lost, bound = 0, links[q + RING + back]
    while values[bound + way] >= limit:
        lost += (edge - values[bound + way]) * (values[bound + back] - base)
        edge, bound = values[bound + way], links[bound + RING + back]
    top = values[(links[q + back] if bound == q else bound) + back]
    lost += (edge - limit) * (top - base)
    links[q + RING + back], links[bound + RING + way], links[q + way] = bound, q, p
    values[q + SHARE] -= lost
    values[q + VOLUME] -= lost * depth


@compiled_inline
def hide(values: Cells, links: Unsigned, p: Name, q: Name, depth: int) -> None:
    """Take from member q its loss to a new member p that of the staircase it alone hides.

    p becomes a bound of q unless one of these hides it too; `depth` as of `cut`.
    """
    x, y = values[p + X], values[p + Y]
    west, bound, top = q, links[q + RING + EAST], values[links[q + NORTH] + Y]
    while bound != q and values[bound + X] <= x:
        west, bound, top = bound, links[bound + RING + EAST], values[bound + Y]
    if top > y:
        lost, edge = 0, x
        while bound != q and values[bound + Y] >= y:
            lost += (values[bound + X] - edge) * (top - y)
            edge, top, bound = values[bound + X], values[bound + Y], links[bound + RING + EAST]
        last = links[q + EAST] if bound == q else bound
        lost += (values[last + X] - edge) * (top - y)
        links[p + RING + EAST], links[p + RING + NORTH] = bound, west
        links[west + RING + EAST] = links[bound + RING + NORTH] = p
        values[q + SHARE] -= lost
        values[q + VOLUME] -= lost * depth


@declare_loop("f8(f8[:, ::1], i8[:, ::1], i8, i8[::1], f8[:, ::1], i8[::1], i8[::1], i8[::1])")
def sweep_volume(
    columns: Floats, orders: Places, n: int, seats: Places, corners: Floats, north: Places,
    names: Cells, words: Cells,
) -> float:  # fmt: skip
    """Volume that a front, the first F of C, finite and below `REFERENCE`, dominates below it.

    `columns` are [3, C], `orders` [3, C] members by each objective, the earlier of equals first.
    Scratch: `seats` [C] of names, by name `corners` [2, C + 2], x and y, and `north` [C + 2], the
    next of the staircase; `names` and `words` as of `find_below`.
    """
    for k in range(names.size):
        names[k] = 0
    for k in range(words.size):
        words[k] = 0
    last = n + 1
    for i in range(n):
        m = orders[1, i]
        seats[m], corners[0, i + 1], corners[1, i + 1] = i + 1, columns[0, m], columns[1, m]
    corners[0, 0], corners[1, 0], north[0] = REFERENCE, -np.inf, last
    corners[0, last], corners[1, last] = -np.inf, REFERENCE
    names[0] = words[0] = 1
    area, volume, height = 0.0, 0.0, 0.0
    for i in range(n):
        m = orders[2, i]
        p = seats[m]
        x, y = corners[0, p], corners[1, p]
        south = find_below(names, words, p)
        first = north[south]
        if corners[0, south] <= x or (corners[1, first] == y and corners[0, first] <= x):
            continue
        if corners[1, south] == y:
            first, south = south, find_below(names, words, south)
        volume += area * (columns[2, m] - height)
        height = columns[2, m]
        # Members that it dominates leave the staircase; their steps are covered one by one.
        east, base, share = corners[0, south], y, 0.0
        while True:
            share += (east - x) * (corners[1, first] - base)
            if corners[0, first] < x:
                break
            east, base = corners[0, first], corners[1, first]
            drop_name(names, words, first)
            first = north[first]
            if east == x:
                break
        area += share
        add_name(names, words, p)
        north[south], north[p] = p, first
    return volume + area * (REFERENCE - height)


@declare_part(
    "i8(i8, i8, i8, i8, i8, i8, i8[::1], i8[:, ::1], i4[:, ::1], i8[:, ::1], i8[::1], i8[::1])"
)
def leave_in_rounds(
    finding: int, measuring: int, count: int, n_leaving: int, step: int, reference: int,
    values: Cells, members: Places, cells: SmallCells, near: Cells, volumes: Cells, bound: Cells,
) -> int:  # fmt: skip
    """Count the leaving members: all, or those of the rounds before one that needs another sweep.

    Those leave that contribute least, of equals the later ones: `n_leaving` in all rounds, `step`
    in one. `finding` and `measuring` are addresses of `find_least` and `measure_alone`. `values`,
    here and below as `sweep` left them, are lost; row 0 of `members` [3, F] is kept. Scratch is
    `near` [2, `MOST_NEAR`] and, by name less one, `cells` [3, F], of which the last row becomes
    `FAR` of those that left. `volumes` [F] are contributions, and become `GONE` of those that left
    in rounds before the last one. `bound` receives the greatest volume that leaves.
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
    """Let members of the first N of F leave in so many rounds, until `keep` stay; both at least 1.

    `loops` are addresses, from `first` on those of `ROUNDS`. `columns` [3, F] and `orders` [3, F]
    are as of `sweep`, and lost. Row 0 of `members` [3, F] receives the first places of those that
    stay. All other arrays are scratch of `sweep` and `leave_in_rounds`.
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
