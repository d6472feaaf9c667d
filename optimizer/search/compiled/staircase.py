"""The volume that each member of a front of three objectives alone covers, in one sweep.

Members come by rising z. Below a height the front is a staircase in x and y, and the share of a
member of it is the area that it alone covers: a box up to its two neighbours, less what those
cover that it hides. A member that comes hides a run of the staircase, which bounds its share from
then on, and cuts the shares of its two neighbours, never anybody else's. Each member is put into
the staircase once, and once cut off what bounds a share.

Members are named by their seat in the order of x, from 1 on. The staircase is a set of bits, one a
name, so that the neighbour of a new member is found without asking many.

All numbers are whole, so that the order of sums does not matter.

Source: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in up to four
dimensions", IEEE Transactions on Evolutionary Computation 22(3), 2018, for the sweep; the set of
bits is a house rule.
"""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled
from optimizer.search.compiled.sorting import Places

Cells = npt.NDArray[np.int64]

EAST, NORTH = 0, 1
"""Ways along a staircase; x rises to the east, y to the north."""

BESIDE, CHAIN, SHARE, WORTH = 2, 4, 6, 7
"""Columns of a node, after its x and y: the next on the staircase to the east and to the north; the
next in the ring of itself and what bounds its share, or of whom it bounds; area and volume."""

WORD_BITS = 5
LAST_BIT = (1 << WORD_BITS) - 1
"""A word of a set has 32 bits, so that a float64 holds it."""


@compiled
def highest(word: int) -> int:
    """Number of the highest bit of a word that is not 0: the exponent of it as a float."""
    return int((np.float64(word).view(np.int64) >> 52) - 1023)


@compiled
def below(names: Cells, words: Cells, name: int) -> int:
    """The greatest name of a set that is less than a name; there is one.

    Args:
        names: [N], a bit for each name.
        words: [M], a bit for each word of `names` that is not 0.
        name: A name.
    """
    at = name >> WORD_BITS
    group = at >> WORD_BITS
    # Both words are read, because whether the first one will do cannot be guessed.
    left = names[at] & ((1 << (name & LAST_BIT)) - 1)
    before = words[group] & ((1 << (at & LAST_BIT)) - 1)
    while before == 0 and left == 0:
        group -= 1
        before = words[group]
    at = at if left else (group << WORD_BITS) + highest(before)
    return (at << WORD_BITS) + highest(left if left else names[at])


@compiled
def put(names: Cells, words: Cells, name: int) -> None:
    """Put a name into a set, as in `below`."""
    at = name >> WORD_BITS
    names[at] |= 1 << (name & LAST_BIT)
    words[at >> WORD_BITS] |= 1 << (at & LAST_BIT)


@compiled
def take(names: Cells, words: Cells, name: int) -> None:
    """Take a name that is in a set out of it, as in `below`."""
    at = name >> WORD_BITS
    names[at] ^= 1 << (name & LAST_BIT)
    words[at >> WORD_BITS] ^= int(names[at] == 0) << (at & LAST_BIT)


@compiled
def cut(nodes: Cells, p: int, q: int, way: int, depth: int) -> None:
    """Take from member q what it loses to a member p that becomes its neighbour.

    Args:
        nodes: [F + 2, 8]; of q still with its former neighbour.
        p: The new member.
        q: The neighbour.
        way: Where p lies, `EAST` or `NORTH`.
        depth: From the height of p up to the reference.
    """
    back = 1 - way
    edge, base, limit = nodes[nodes[q, BESIDE + way], way], nodes[q, back], nodes[p, way]
    lost, bound = 0, nodes[q, CHAIN + back]
    while nodes[bound, way] >= limit:
        lost += (edge - nodes[bound, way]) * (nodes[bound, back] - base)
        edge, bound = nodes[bound, way], nodes[bound, CHAIN + back]
    top = nodes[nodes[q, BESIDE + back] if bound == q else bound, back]
    lost += (edge - limit) * (top - base)
    nodes[q, CHAIN + back], nodes[bound, CHAIN + way], nodes[q, BESIDE + way] = bound, q, p
    nodes[q, SHARE] -= lost
    nodes[q, WORTH] -= lost * depth


@compiled
def hide(nodes: Cells, p: int, q: int, depth: int) -> None:
    """Take from member q what it loses to a member p that of the staircase it alone hides.

    Args:
        nodes: [F + 2, 8]; p becomes a bound of q unless one of these hides it too.
        p: The new member.
        q: Who hides it.
        depth: From the height of p up to the reference.
    """
    x, y = nodes[p, EAST], nodes[p, NORTH]
    west, bound, top = q, nodes[q, CHAIN + EAST], nodes[nodes[q, BESIDE + NORTH], NORTH]
    while bound != q and nodes[bound, EAST] <= x:
        west, bound, top = bound, nodes[bound, CHAIN + EAST], nodes[bound, NORTH]
    if top <= y:
        return
    lost, edge = 0, x
    while bound != q and nodes[bound, NORTH] >= y:
        lost += (nodes[bound, EAST] - edge) * (top - y)
        edge, top = nodes[bound, EAST], nodes[bound, NORTH]
        bound = nodes[bound, CHAIN + EAST]
    last = nodes[q, BESIDE + EAST] if bound == q else bound
    lost += (nodes[last, EAST] - edge) * (top - y)
    nodes[p, CHAIN + EAST], nodes[p, CHAIN + NORTH] = bound, west
    nodes[west, CHAIN + EAST] = nodes[bound, CHAIN + NORTH] = p
    nodes[q, SHARE] -= lost
    nodes[q, WORTH] -= lost * depth


@compiled
def arrive(nodes: Cells, names: Cells, words: Cells, p: int, depth: int) -> None:
    """Let a member come to the staircase.

    Args:
        nodes: [F + 2, 8].
        names: As in `below`, the names of the staircase.
        words: As in `below`.
        p: The member.
        depth: From its height up to the reference.
    """
    x, y = nodes[p, EAST], nodes[p, NORTH]
    west = below(names, words, p)
    east = nodes[west, BESIDE + EAST]
    # Of two with the same x either may have come first.
    if nodes[east, EAST] == x and nodes[east, NORTH] <= y:
        west = east
    elif nodes[west, EAST] == x and nodes[west, NORTH] > y:
        west, east = nodes[west, BESIDE + NORTH], west
    top = nodes[west, NORTH]
    if top <= y:
        if nodes[nodes[west, BESIDE + NORTH], NORTH] > y:
            hide(nodes, p, west, depth)
        return
    edge, share, last = x, 0, p
    while nodes[east, NORTH] >= y:
        nodes[east, WORTH] -= nodes[east, SHARE] * depth
        take(names, words, east)
        share += (nodes[east, EAST] - edge) * (top - y)
        nodes[last, CHAIN + EAST], nodes[east, CHAIN + NORTH] = east, last
        edge, top, last, east = nodes[east, EAST], nodes[east, NORTH], east, nodes[east, BESIDE]
    share += (nodes[east, EAST] - edge) * (top - y)
    put(names, words, p)
    nodes[last, CHAIN + EAST], nodes[p, CHAIN + NORTH] = p, last
    nodes[p, BESIDE + EAST], nodes[p, BESIDE + NORTH] = east, west
    nodes[p, SHARE], nodes[p, WORTH] = share, share * depth
    for way in range(2):
        cut(nodes, p, west if way == EAST else east, way, depth)


@compiled
def sweep(nodes: Cells, depths: Cells, order: Places, count: int) -> None:
    """Find what each member is worth, going through them by rising height.

    Args:
        nodes: [F + 2, 8], x and y known; the first is the corner in the north, the last that in
            the east; receives volumes, which of the corners mean nothing.
        depths: [F + 2], from each height up to the reference.
        order: [F] names by falling depth.
        count: F.
    """
    names = np.zeros(((count + 1) >> WORD_BITS) + 1, np.int64)
    words = np.zeros((names.size >> WORD_BITS) + 1, np.int64)
    for i in range(2):
        corner = i * (count + 1)
        for way in range(2):
            nodes[corner, BESIDE + way] = (1 - way) * (count + 1)
            nodes[corner, CHAIN + way] = corner
        nodes[corner, SHARE] = nodes[corner, WORTH] = 0
    names[0], words[0] = 1, 1
    for i in range(count):
        nodes[i + 1, WORTH] = 0
    for i in range(count):
        arrive(nodes, names, words, order[i], depths[order[i]])
