"""Hypervolume of a front of three objectives, and what each member contributes to it.

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

Source: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in up to four
dimensions", IEEE Transactions on Evolutionary Computation 22(3), 2018; the grid and the set of bits
are house rules.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import declare_loop
from engine.runtime.compiling.loops import compiled_inline, compiled_part
from optimizer.search.compiled.fronts import ONE, TWO, ZERO, Floats, Places, Unsigned

Cells = npt.NDArray[np.int64]
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

    Args:
        columns: [3, C].
        orders: [3, C], members by each objective, the earlier of equals first.
        n: F.
        seats: [C] scratch, names.
        corners: [2, C + 2] scratch, x and y by name.
        north: [C + 2] scratch, the next of the staircase by name.
        names: [S] scratch, as of `find_below`.
        words: [M] scratch, as of `find_below`.
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
