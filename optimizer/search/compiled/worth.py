"""What each member of a front of three objectives is worth, and who leaves a front that is full.

Members are swept by rising z. Below a height the front is a staircase in x and y; a member's share
is the area that it alone covers, and its worth grows by share times height until the share
changes. A member knows its two neighbours on the staircase, to the east (larger x) and to the
north (larger y), and of those members that it hides the ones that still bound its share.

The order of sums is that of moocore 0.3 (`hv_contributions`), so that its bits are these.

Source: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in up to four
dimensions", IEEE Transactions on Evolutionary Computation 22(3), 2018, algorithm HVC3D.
"""

import numpy as np
import numpy.typing as npt

from engine.backends.compiled import compiled
from optimizer.search.compiled.fronts import stair_above
from optimizer.search.compiled.sorting import Floats, Places, column_order, rising_order

Bools = npt.NDArray[np.bool_]

EAST, NORTH = 0, 1
FURTHEST = np.finfo(np.float64).max

HIDDEN, PLAIN, DOUBLE = -1, 0, 1
"""Dominated by another member, by none, or by none but with an equal."""


@compiled
def find_neighbours(
    points: Floats, heights: Floats, order: Places, beside: Places, kinds: Places
) -> None:
    """Each member's neighbours on the staircase when its height is reached.

    Args:
        points: [2, F + 2], x and y; the last two are the corners in the north and in the east.
        heights: [F], z.
        order: [F], by rising z, then y, then x.
        beside: [2, F + 2] receives the neighbours to the east and to the north.
        kinds: [F] receives `HIDDEN`, `PLAIN` or `DOUBLE`; of equals all but the first are hidden.
    """
    count = order.size
    ys, who = np.empty(count + 2), np.empty(count + 2, np.int64)
    ys[0], who[0] = points[1, count + 1], count + 1
    ys[1], who[1] = points[1, count], count
    # Typed, because a loop is compiled anew for each literal that it is called with.
    start, length = int(np.int64(0)), int(np.int64(2))
    for i in range(count):
        p = order[i]
        at = stair_above(ys, start, length, points[1, p])
        q = who[at - 1]
        if points[0, q] <= points[0, p]:
            kinds[p] = HIDDEN
            if points[0, q] == points[0, p] and ys[at - 1] == points[1, p]:
                kinds[q] = DOUBLE if heights[q] == heights[p] else kinds[q]
            continue
        kinds[p] = PLAIN
        first = at - 1 if ys[at - 1] == points[1, p] else at
        last = first
        while points[0, who[last]] >= points[0, p]:
            last += 1
        if last == first:
            for k in range(length, first, -1):
                ys[k], who[k] = ys[k - 1], who[k - 1]
        else:
            gone = last - first - 1
            for k in range(last, length):
                ys[k - gone], who[k - gone] = ys[k], who[k]
        length += 1 - (last - first)
        ys[first], who[first] = points[1, p], p
        beside[EAST, p], beside[NORTH, p] = who[first - 1], who[first + 1]


@compiled
def covered(
    points: Floats, beside: Places, x: float, y: float, begin: int, bound: int, way: int
) -> float:
    """Area between a corner and the members that bound it.

    Args:
        points: [2, F + 2].
        beside: [2, F + 2].
        x: Of the corner.
        y: Of the corner.
        begin: Member that bounds it across the way.
        bound: First member that bounds it along the way.
        way: `EAST` or `NORTH`, along which the bounds are followed.
    """
    across = 1 - way
    corner_along, corner_across = (x, y) if way == EAST else (y, x)
    area: float = (points[across, begin] - corner_across) * (points[way, bound] - corner_along)
    while corner_across < points[across, bound]:
        begin, bound = bound, beside[way, bound]
        area += (points[across, begin] - corner_across) * (points[way, bound] - points[way, begin])
    return area


@compiled
def raise_to(height: float, q: int, shares: Floats, heights: Floats, worth: Floats) -> None:
    """Add what member q's share is worth up to a height."""
    worth[q] += shares[q] * (height - heights[q])
    heights[q] = height


@compiled
def hide_bounds(points: Floats, beside: Places, bounds: Places, p: int, way: int) -> None:
    """Have a neighbour bounded by a new member p, and name p its neighbour where it is nearer.

    Args:
        points: [2, F + 2].
        beside: [2, F + 2].
        bounds: [2, F + 2], first hidden member that bounds a share, seen from either side.
        p: The new member.
        way: `EAST` or `NORTH`: which neighbour.
    """
    other = 1 - way
    q = beside[way, p]
    if points[other, bounds[other, q]] >= points[other, p]:
        bounds[other, q] = p
        bounds[way, q] = beside[way, q]
    else:
        bound = bounds[way, q]
        while points[other, bound] >= points[other, p]:
            bound = beside[way, bound]
        bounds[way, q] = bound
        beside[other, bound] = p


@compiled
def name_neighbour(points: Floats, beside: Places, p: int, way: int) -> None:
    """Name p the neighbour of its neighbour, unless that one has a nearer one."""
    other = 1 - way
    q = beside[way, p]
    now = beside[other, q]
    if points[other, now] > points[other, p] or (
        points[other, now] == points[other, p] and points[way, now] > points[way, p]
    ):
        beside[other, q] = p


@compiled
def arrive(
    p: int, z: float, points: Floats, beside: Places, bounds: Places,
    shares: Floats, heights: Floats, worth: Floats,
) -> None:  # fmt: skip
    """Have all who lose a part of their share to member p be worth what they are up to its height.

    Args:
        p: The member that comes, its neighbours known.
        z: Its height.
        points: [2, F + 2].
        beside: [2, F + 2].
        bounds: [2, F + 2], of which those of p are set.
        shares: [F + 2].
        heights: [F + 2], up to which `worth` counts.
        worth: [F + 2].
    """
    bounds[NORTH, p] = beside[NORTH, beside[EAST, p]]
    bounds[EAST, p] = beside[EAST, beside[NORTH, p]]
    q = bounds[NORTH, p]
    raise_to(z, beside[EAST, q], shares, heights, worth)
    while points[0, p] < points[0, q]:
        raise_to(z, q, shares, heights, worth)
        q = beside[NORTH, q]
    raise_to(z, q, shares, heights, worth)


@compiled
def sweep(
    zs: Floats, points: Floats, order: Places, kinds: Places, beside: Places, reference: float
) -> Floats:
    """Go through the members by rising height.

    Args:
        zs: [F].
        points: [2, F + 2].
        order: [F].
        kinds: [F].
        beside: [2, F + 2], neighbours of each when it comes; changed.
        reference: Where the last height ends.

    Returns:
        [F + 2], what each is worth; those of the corners mean nothing.
    """
    count = order.size
    shares, heights, worth = np.zeros(count + 2), np.zeros(count + 2), np.zeros(count + 2)
    bounds = np.empty((2, count + 2), np.int64)
    north, east = count, count + 1
    for way in (EAST, NORTH):
        bounds[way, north], bounds[way, east] = north, east
        beside[way, north], beside[way, east] = east, north
    for i in range(count):
        p = order[i]
        if kinds[p] == HIDDEN:
            continue
        heights[p] = zs[p]
        arrive(p, zs[p], points, beside, bounds, shares, heights, worth)
        x, y = points[0, p], points[1, p]
        shares[p] = covered(points, beside, x, y, beside[EAST, p], bounds[NORTH, p], NORTH)
        q = beside[EAST, p]
        lost = covered(points, beside, points[0, q], y, bounds[NORTH, p], bounds[EAST, q], EAST)
        shares[q] -= lost
        q = beside[NORTH, p]
        lost = covered(points, beside, x, points[1, q], bounds[EAST, p], bounds[NORTH, q], NORTH)
        shares[q] -= lost
        for way in (EAST, NORTH):
            hide_bounds(points, beside, bounds, p, way)
        for way in (EAST, NORTH):
            name_neighbour(points, beside, p, way)
    q = beside[NORTH, east]
    while q != north:
        raise_to(reference, q, shares, heights, worth)
        q = beside[NORTH, q]
    return worth


@compiled
def contributions(columns: Floats, reference: float, worth: Floats) -> None:
    """What each member alone dominates of the box below the reference point.

    Args:
        columns: [3, F], all below `reference`.
        reference: Of every objective.
        worth: [F] receives the volumes; 0 for who is dominated or has an equal.
    """
    count = worth.size
    order, kinds = np.empty(count, np.int64), np.empty(count, np.int64)
    column_order(columns, columns.shape[0] - 1, order)
    points = np.empty((2, count + 2))
    for p in range(count):
        points[0, p], points[1, p] = columns[0, p], columns[1, p]
    points[0, count], points[1, count] = -FURTHEST, reference
    points[0, count + 1], points[1, count + 1] = reference, -FURTHEST
    beside = np.empty((2, count + 2), np.int64)
    find_neighbours(points, columns[2], order, beside, kinds)
    found = sweep(columns[2], points, order, kinds, beside, reference)
    for p in range(count):
        worth[p] = found[p] if kinds[p] == PLAIN else 0.0


@compiled
def scale(columns: Floats, scaled: Floats) -> None:
    """Objectives [O, F] in units of their own extent, halved first so that none overflows."""
    for j in range(columns.shape[0]):
        low, high = columns[j, 0] * 0.5, columns[j, 0] * 0.5
        for i in range(columns.shape[1]):
            half = columns[j, i] * 0.5
            low, high = min(low, half), max(high, half)
        extent = high - low if high > low else 1.0
        for i in range(columns.shape[1]):
            scaled[j, i] = (columns[j, i] * 0.5 - low) / extent


@compiled
def worths_of_three(columns: Floats, reference: float, worth: Floats) -> None:
    """Contributions [F] of objectives [3, F] after scaling, infinite for the best of each."""
    scaled = np.empty_like(columns)
    scale(columns, scaled)
    contributions(scaled, reference, worth)
    for j in range(columns.shape[0]):
        best = 0
        for i in range(columns.shape[1]):
            if scaled[j, i] < scaled[j, best]:
                best = i
        worth[best] = np.inf


@compiled
def thin_three(columns: Floats, keep: int, rounds: int, reference: float) -> Places:
    """Which members to keep; the definition is `archive.thinned`.

    Args:
        columns: [3, F].
        keep: How many, at least 1.
        rounds: In how many rounds the others leave.
        reference: Of the scaled objectives.

    Returns:
        [min(F, keep)] places, rising.
    """
    places, left = np.arange(columns.shape[1]), columns
    step = -(-(places.size - keep) // rounds)
    while places.size > keep:
        count = places.size
        worth, order = np.empty(count), np.empty(count, np.int64)
        worths_of_three(left, reference, worth)
        # Of equals the later one leaves, so that they are sorted from the last on.
        for i in range(count // 2):
            worth[i], worth[count - 1 - i] = worth[count - 1 - i], worth[i]
        rising_order(worth, order)
        n_leaving = min(step, count - keep)
        for i in range(n_leaving):
            places[count - 1 - order[i]] = -1
        staying, remaining = np.empty(count - n_leaving, np.int64), left
        left = np.empty((3, count - n_leaving))
        n_staying = 0
        for i in range(count):
            if places[i] >= 0:
                staying[n_staying] = places[i]
                for j in range(3):
                    left[j, n_staying] = remaining[j, i]
                n_staying += 1
        places = staying
    return places
