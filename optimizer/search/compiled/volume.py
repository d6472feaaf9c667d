"""Hypervolume of three objectives, its sums in the order in which moocore takes them.

Members come by rising third objective. Below a height the front is a staircase in x and y, x
falling while y rises, and each member that comes adds the area that it alone covers. Members are
named by their seat in the order of y, from 1 on, and the staircase is a set of bits, as in
`contributions`.

Source: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in up to four
dimensions", IEEE Transactions on Evolutionary Computation 22(3), 2018: HV3D+.
"""

import numpy as np

from engine.runtime.compiling.addresses import declare_loop
from optimizer.search.compiled.contributions import (
    Cells,
    add_name,
    allocate_names,
    drop_name,
    find_below,
)
from optimizer.search.compiled.sorting import Floats, Places, rising_orders

REFERENCE = 1.0
"""Of every objective."""


def compute_volume(columns: Floats) -> float:
    """Volume that a front dominates below `REFERENCE`.

    Args:
        columns: [3, F], each below `REFERENCE` and finite.
    """
    count = columns.shape[1]
    names, words = allocate_names(count)
    corners, north = np.empty((2, count + 2)), np.empty(count + 2, dtype=np.int64)
    columns = np.ascontiguousarray(columns)
    seats = np.empty(count, dtype=np.int64)
    return sweep_volume(columns, rising_orders(columns), count, seats, corners, north, names, words)


@declare_loop("f8(f8[:, ::1], i8[:, ::1], i8, i8[::1], f8[:, ::1], i8[::1], i8[::1], i8[::1])")
def sweep_volume(
    columns: Floats, orders: Places, n: int, seats: Places, corners: Floats, north: Places,
    names: Cells, words: Cells,
) -> float:  # fmt: skip
    """Measure a front; see `compute_volume`.

    Args:
        columns: [3, C], of which the first F count.
        orders: [3, C], members by each objective, the earlier of equals first.
        n: F.
        seats: [C] scratch, names.
        corners: [2, C + 2] scratch, x and y by name.
        north: [C + 2] scratch, the next of the staircase by name.
        names: [S] scratch, a set with a bit for each name.
        words: [M] scratch, a bit for each word of `names` that is not 0.
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
