"""What each member of a front of three objectives is worth, and who leaves a front that is full.

Worths are exact. Objectives become cells of a grid, and a worth is the number of cells that a
member alone covers, so that any order of sums, on any device, gives the same number.

Source: house rule; the sweep is that of `staircase`.
"""

import numpy as np

from engine.compiling.loops import compiled
from optimizer.search.compiled.sorting import Floats, Places, rising_order
from optimizer.search.compiled.staircase import EAST, NORTH, WORTH, Cells, sweep

CELLS = 2**20
"""Cells that the extent of an objective is cut into."""

MOST = np.iinfo(np.int64).max
"""What the best in an objective is worth, above all volumes."""

DIGIT_BITS = 8


@compiled
def find_worths(
    columns: Floats, places: Places, order: Places, count: int, reference: int, worth: Cells
) -> None:
    """What each member is worth.

    Args:
        columns: [3, N], of which the first F count, by rising x.
        places: [N], number of each; who counts as the first of equals.
        order: [N], names by rising z.
        count: F.
        reference: Of every objective, in cells.
        worth: [N + 2] receives volumes by name, `MOST` for the first of the best in an objective.
    """
    nodes, depths = np.empty((count + 2, 8), np.int64), np.empty(count + 2, np.int64)
    best = np.zeros(3, np.int64)
    for j in range(3):
        low, high = columns[j, 0], columns[j, 0]
        for i in range(1, count):
            value = columns[j, i]
            if value < low or (value == low and places[i] < places[best[j]]):
                low, best[j] = value, i
            if value > high:
                high = value
        # Halved first, so that no extent overflows.
        low *= 0.5
        extent = high * 0.5 - low
        extent = extent if extent > 0.0 else 1.0
        for i in range(count):
            cell = np.int64((columns[j, i] * 0.5 - low) / extent * CELLS)
            if j < 2:
                nodes[i + 1, j] = cell
            else:
                depths[i + 1] = reference - cell
    nodes[0, EAST] = nodes[count + 1, NORTH] = -1
    nodes[0, NORTH] = nodes[count + 1, EAST] = reference
    sweep(nodes, depths, order, count)
    for i in range(count):
        worth[i + 1] = nodes[i + 1, WORTH]
    for j in range(3):
        worth[best[j] + 1] = MOST


@compiled
def line_up(columns: Floats, lined: Floats, places: Places, order: Places) -> None:
    """Bring members into the order of x.

    Args:
        columns: [3, F].
        lined: [3, F] receives them in that order.
        places: [F] receives the column of each.
        order: [F] receives names, from 1 on, by rising z.
    """
    rising_order(columns[0], places)
    for i in range(places.size):
        for j in range(3):
            lined[j, i] = columns[j, places[i]]
    rising_order(lined[2], order)
    for i in range(places.size):
        order[i] += 1


@compiled
def worths_of_three(columns: Floats, reference: int, worth: Cells) -> None:
    """Worths [F] of objectives [3, F], as `find_worths` says."""
    count = worth.size
    lined, places, order = np.empty_like(columns), np.empty_like(worth), np.empty_like(worth)
    found = np.empty(count + 2, np.int64)
    line_up(columns, lined, places, order)
    find_worths(lined, places, order, count, reference, found)
    for i in range(count):
        worth[places[i]] = found[i + 1]


@compiled
def least(values: Cells, count: int, rank: int) -> int:
    """The number that has a rank among others, digit by digit from the first.

    Args:
        values: [N], none negative, of which the first `count` count; lost.
        count: How many.
        rank: 0 for the least.
    """
    shift = 64 - DIGIT_BITS
    last = (1 << DIGIT_BITS) - 1
    while shift >= 0 and count > 1:
        counts = np.zeros(last + 1, np.int64)
        for i in range(count):
            counts[(values[i] >> shift) & last] += 1
        digit = 0
        while rank >= counts[digit]:
            rank -= counts[digit]
            digit += 1
        n_left = 0
        for i in range(count):
            value = values[i]
            values[n_left] = value
            n_left += (value >> shift) & last == digit
        count, shift = n_left, shift - DIGIT_BITS
    return int(values[0])


@compiled
def mark_leaving(worth: Cells, places: Places, count: int, n_leaving: int, seats: Places) -> None:
    """Say who leaves: the least worth, and of equals those with the highest places.

    Args:
        worth: [N + 2], by name.
        places: [N].
        count: Members.
        n_leaving: How many leave, at least 1.
        seats: [N + 2] receives by name the name of who stays among them, 0 for who leaves.
    """
    spare = worth[1 : count + 1].copy()
    bound = least(spare, count, n_leaving - 1)
    # Typed, because a loop is compiled anew for each literal that it is called with.
    n_equal, n_less = np.int64(0), np.int64(0)
    for i in range(count):
        spare[n_equal] = places[i]
        n_equal += worth[i + 1] == bound
        n_less += worth[i + 1] < bound
    first = least(spare, int(n_equal), int(n_equal - (n_leaving - n_less)))
    n_staying = 0
    for i in range(count):
        stays = worth[i + 1] > bound or (worth[i + 1] == bound and places[i] < first)
        n_staying += stays
        seats[i + 1] = n_staying if stays else 0


@compiled
def thin_three(columns: Floats, keep: int, rounds: int, reference: int) -> Places:
    """Which members to keep; the definition is `archive.thinned`.

    Args:
        columns: [3, F].
        keep: How many, at least 1.
        rounds: In how many rounds the others leave.
        reference: Of every objective, in cells.

    Returns:
        [min(F, keep)] places, rising.
    """
    count = columns.shape[1]
    if count <= keep:
        return np.arange(count)
    lined, order, places = np.empty_like(columns), np.arange(count), np.arange(count)
    worth, seats = np.empty(count + 2, np.int64), np.empty(count + 2, np.int64)
    line_up(columns, lined, places, order)
    step = -(-(count - keep) // rounds)
    while count > keep:
        find_worths(lined, places, order, count, reference, worth)
        mark_leaving(worth, places, count, min(step, count - keep), seats)
        n_staying, n_ordered = 0, 0
        for i in range(count):
            for j in range(3):
                lined[j, n_staying] = lined[j, i]
            places[n_staying] = places[i]
            n_staying += seats[i + 1] > 0
            name = seats[order[i]]
            order[n_ordered] = name
            n_ordered += name > 0
        count = n_staying
    stays = np.zeros(columns.shape[1], np.int64)
    for i in range(count):
        stays[places[i]] = 1
    n_staying = 0
    for i in range(stays.size):
        places[n_staying] = i
        n_staying += stays[i]
    return places[:keep].copy()
