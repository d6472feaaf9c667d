"""Survivors by three objectives, each choice in one pass that holds no lock of Python.

`keep_compromises` is `selection.find_compromises`; `choose_survivors` is
`selection.survive_by_hypervolume`, with `selection.rank_individuals` before it and
`selection.rank_survivors` after it. All are sorted once; orders of fewer are thinned from these.

Most offspring of a search that has come far are dominated by many elders: any 32 of these dominate
seven in ten of 4,096. An individual that an elder of a front dominates is in no front up to that,
so it is left out of the sort.
"""

import threading
from functools import cache
from typing import Any

import numpy as np

from engine.runtime.compiling.addresses import call_loop, declare_part, find_address
from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.contributions import (
    ROUNDS,
    Cells,
    SmallCells,
    allocate_leaving,
    sweep_volume,
    truncate,
)
from optimizer.search.compiled.fronts import (
    LEAST_PLACE_BITS,
    Bools,
    Floats,
    Levels,
    Places,
    Unsigned,
    Words,
    add_gaps,
    allocate_counts,
    allocate_seats,
    allocate_table,
    settle_runs,
    sort_words,
    sweep_blocks,
    sweep_first,
    thin_orders,
)

N_ASKED = 32
"""Elders that are asked."""


@declare_part("void(f8[:, ::1], f8[::1], i8, i8, f8[:, ::1], b1[::1])")
def mark_dominated(
    objectives: Floats, violations: Floats, first: int, n_elders: int, asked: Floats,
    is_dominated: Bools,
) -> None:  # fmt: skip
    """Mark newcomers that a compared elder dominates.

    Of objectives [P, 3] elders come first, `n_elders` of them or more than that; those from `first`
    on may be compared. The infeasible, of violations [P] other than 0, are neither compared nor
    marked. `asked` [3, `N_ASKED`] is scratch.
    """
    n_asked, n_elders = 0, min(n_elders, violations.size)
    for k in range(N_ASKED):
        asked[0, k] = np.inf
    for p in range(first, n_elders, (n_elders - first) // N_ASKED + 1):
        if violations[p] == 0.0:
            for j in range(3):
                asked[j, n_asked] = objectives[p, j]
            n_asked += 1
    for p in range(violations.size):
        x, y, z = objectives[p, 0], objectives[p, 1], objectives[p, 2]
        n_above = 0
        for k in range(N_ASKED if p >= n_elders else 0):
            # Equals are not dominated, and few others are equal in the first objective.
            n_above += (asked[0, k] < x) & (asked[1, k] <= y) & (asked[2, k] <= z)
        is_dominated[p] = n_above > 0


LOOPS = (
    sort_words, settle_runs, thin_orders, sweep_first, sweep_blocks, add_gaps, truncate,
    sweep_volume, mark_dominated, *ROUNDS,
)  # fmt: skip
SORT, SETTLE, THIN, FIRST, BLOCKS, GAPS, TRUNCATE, VOLUME, DOMINATED, IN_ROUNDS = range(10)
"""Loops that passes call by address, and where these stand in `find_loops`."""

Scratch = tuple[Any, ...]
"""Arrays, and at times a number before them, in the order of a loop's arguments."""

SPARE_SHARE = 8
"""One part in so many is allocated beyond what is asked for, because populations differ."""

MOST_KEPT = 2**17
"""Individuals; scratch of more is given back after each pass."""


class SearchWorkspace:
    """Scratch for C individuals of three objectives, in the order in which passes take it.

    Attributes:
        asked: As of `mark_dominated`.
        sorting: Bits of a place; [3, C] objectives, [3, C] orders, and these as words; [C] and
            [D, N] scratch of `sort_words`.
        first: As of `sweep_first`.
        table: As of `sweep_blocks`.
        front: [3, C] objectives of some of them, their orders [3, C], and these as words.
        leaving: As of `truncate`, after the reference.
        gaps: [4, C] and [C], as of `add_gaps`.
        volume: [2, C + 2] and [C + 2], as of `sweep_volume`.
        places: [6, C] places or numbers.
        starts: [2 C + 2], where each rank begins.
        is_copy: [C].
        crowding: [2, C].
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = np.empty((3, N_ASKED))
        n_bits = max(count.bit_length(), LEAST_PLACE_BITS)
        spare = np.empty(count, dtype=np.uint64)
        self.sorting: Scratch = (n_bits, *_allocate_orders(count), spare, allocate_counts(n_bits))
        self.first: Scratch = allocate_seats(count)
        self.table: Scratch = allocate_table(count)
        self.front: Scratch = _allocate_orders(count)
        self.leaving: Scratch = allocate_leaving(count)
        self.gaps: Scratch = np.empty((4, count)), np.empty(count, dtype=np.int64)
        self.volume: Scratch = np.empty((2, count + 2)), np.empty(count + 2, dtype=np.int64)
        self.places = np.empty((6, count), dtype=np.int64)
        self.starts = np.empty(2 * count + 2, dtype=np.int64)
        self.is_copy = np.empty(count, dtype=np.bool_)
        self.crowding = np.empty((2, count))


@cache
def find_loops() -> Places:
    """Addresses of `LOOPS`."""
    return np.array([find_address(loop) for loop in LOOPS], dtype=np.int64)


class _Kept(threading.local):
    workspace: SearchWorkspace | None = None


_KEPT = _Kept()


def borrow_workspace(count: int) -> SearchWorkspace:
    """This thread's workspace, with room for so many individuals, until its next use."""
    workspace = _KEPT.workspace
    if count > MOST_KEPT:
        return SearchWorkspace(count)
    if workspace is None or workspace.count < count:
        _KEPT.workspace = workspace = SearchWorkspace(count + count // SPARE_SHARE)
    return workspace


def _allocate_orders(count: int) -> tuple[Floats, Places, Words]:
    orders = np.empty((3, count), dtype=np.int64)
    return np.empty((3, count)), orders, orders.view(np.uint64)


def keep_compromises(
    objectives: Floats,
    violations: Floats,
    keep: int,
    rounds: tuple[int, int],
    box: tuple[Floats, Floats],
) -> tuple[Places, float]:
    """Places [F] of the best compromises, rising, and their hypervolume; see the definition.

    `rounds` are those in which a front is truncated, and its reference in cells.
    """
    work = borrow_workspace(len(violations))
    kept, size = np.empty(len(violations), dtype=np.int64), np.zeros(1)
    arguments: Scratch = (
        find_loops(), work.asked, *work.sorting, *work.first, *work.front[:2],
        *work.leaving, *work.volume, work.places, work.is_copy, kept, size,
    )  # fmt: skip
    n_kept = keep_best(objectives, violations, keep, *rounds, np.array(box), *arguments)
    return kept[:n_kept], float(size[0])


@compiled_unlocked
def keep_best(
    objectives: Floats, violations: Floats, keep: int, n_rounds: int, reference: int, box: Floats,
    loops: Places, asked: Floats, n_bits: int, columns: Floats, orders: Places, words: Words,
    spare: Words, counts: Places, positions: Places, levels: Floats, least: Floats,
    front_columns: Floats, front_orders: Places, values: Cells, links: Unsigned, members: Places,
    best: Places, names: Cells, name_words: Cells, cells: SmallCells, near: Cells, volumes: Cells,
    corners: Floats, north: Places, places: Places, is_copy: Bools, kept: Places, size: Floats,
) -> int:  # fmt: skip
    """Keep the best; see `keep_compromises`. The last two arguments receive its results.

    All from `asked` on are scratch of `SearchWorkspace`. Returns the number kept.
    """
    feasible, ranks, seats, rows = places[0], places[1], places[2], places[3]
    call_loop(mark_dominated, loops[DOMINATED], objectives, violations, 0, keep, asked, is_copy)
    n = 0
    for p in range(violations.size):
        if violations[p] == 0.0 and not is_copy[p]:
            for j in range(3):
                columns[j, n] = objectives[p, j]
            feasible[n] = p
            n += 1
    call_loop(sort_words, loops[SORT], columns, n, 3, n_bits, words, spare, counts)
    call_loop(settle_runs, loops[SETTLE], columns, n, 3, 3, n_bits, orders)
    call_loop(
        sweep_first, loops[FIRST], columns, orders, n, positions, levels, least, ranks, is_copy
    )
    n_kept = 0
    for i in range(n):
        seats[i] = -1
        if ranks[i] == 0 and not is_copy[i]:
            seats[i], rows[n_kept], members[0, n_kept] = n_kept, i, n_kept
            for j in range(3):
                front_columns[j, n_kept] = columns[j, i]
            n_kept += 1
    if n_kept > keep:
        call_loop(thin_orders, loops[THIN], orders, n, seats, front_columns, n_bits, front_orders)
        call_loop(settle_runs, loops[SETTLE], front_columns, n_kept, 3, 1, n_bits, front_orders)
        call_loop(
            truncate, loops[TRUNCATE], loops, IN_ROUNDS, front_columns, front_orders,
            n_kept, keep, n_rounds, reference, values, links, members, best, names, name_words,
            cells, near, volumes,
        )  # fmt: skip
        n_kept = keep
    for i in range(n):
        seats[i] = -1
    # In units of the box; what lies beyond it, or is no number there, does not count.
    n_inside = 0
    for i in range(n_kept):
        row = rows[members[0, i]]
        kept[i] = feasible[row]
        is_inside = box[0, 0] == box[0, 0]
        for j in range(3):
            scaled = (front_columns[j, i] - box[0, j]) / (box[1, j] - box[0, j])
            is_inside = is_inside and -np.inf < scaled < 1.0
            columns[j, n_inside] = scaled
        if is_inside:
            seats[row] = n_inside
            n_inside += 1
    if n_inside > 0:
        call_loop(thin_orders, loops[THIN], orders, n, seats, columns, n_bits, front_orders)
        call_loop(settle_runs, loops[SETTLE], columns, n_inside, 3, 1, n_bits, front_orders)
        size[0] = call_loop(
            sweep_volume, loops[VOLUME], columns, front_orders, n_inside, seats, corners, north,
            names, name_words,
        )  # fmt: skip
    return n_kept


def choose_survivors(
    objectives: Floats, violations: Floats, keep: int, elders: Places, rounds: tuple[int, int]
) -> tuple[Places, Places, Floats] | None:
    """Survivors of objectives [P, 3], best first, and their ranks and crowding distances, [S] each.

    `elders` [E] are ranks of the first so many, survivors of a pool in which no other came before
    them; none where these are not known. They change the time it takes, not the survivors. `rounds`
    as of `keep_compromises`. None where an individual has no place, or fronts are too many for the
    table.
    """
    work = borrow_workspace(len(violations))
    n_left = min(len(violations), keep)
    survivors, ranks = np.empty((2, n_left), dtype=np.int64)
    crowding = np.empty(n_left)
    arguments: Scratch = (
        find_loops(), work.asked, *work.sorting, *work.first, *work.table, *work.gaps, *work.front,
        *work.leaving, work.places, work.starts, work.is_copy, work.crowding, survivors, ranks,
        crowding,
    )  # fmt: skip
    is_done = survive(objectives, violations, keep, elders, *rounds, *arguments)
    return (survivors, ranks, crowding) if is_done else None


@compiled_unlocked
def survive(
    objectives: Floats, violations: Floats, keep: int, elders: Places, n_rounds: int,
    reference: int,
    loops: Places, asked: Floats, n_bits: int, columns: Floats, orders: Places, words: Words,
    spare: Words, counts: Places, positions: Places, seat_levels: Floats, seat_least: Floats,
    known: Levels, levels: Levels, least: Levels, fronts: Floats, met: Places,
    front_columns: Floats, front_orders: Places, front_words: Words,
    values: Cells, links: Unsigned, members: Places, best: Places, names: Cells, name_words: Cells,
    cells: SmallCells, near: Cells, volumes: Cells, places: Places, starts: Places, is_copy: Bools,
    crowding: Floats,
    survivors: Places, survivor_ranks: Places, survivor_crowding: Floats,
) -> bool:  # fmt: skip
    """Choose; see `choose_survivors`. The last three arguments receive its results.

    All from `asked` on up to these are scratch of `SearchWorkspace`.
    """
    feasible, ranks, all_ranks, moved, seats, rows = (
        places[0], places[1], places[2], places[3], places[4], places[5]
    )  # fmt: skip
    n_all, n = violations.size, 0
    for p in range(n_all):
        is_copy[p] = False
        for j in range(3):
            if violations[p] == 0.0 and not abs(objectives[p, j]) < np.inf:
                return False
        if not violations[p] >= 0.0:
            return False
    # Fronts up to the last one of the elders mostly hold enough, and are found without those that
    # members of the last one dominate; where they do not, all are ranked.
    last, n_elders = -1, elders.size
    for p in range(n_elders):
        last = max(last, elders[p])
    first = n_elders
    while first > 0 and elders[first - 1] == last:
        first -= 1
    is_sifted = last >= 0 and violations[n_elders - 1] == 0.0
    if is_sifted:
        call_loop(
            mark_dominated, loops[DOMINATED], objectives, violations, first, n_elders, asked,
            is_copy,
        )  # fmt: skip
    while True:
        n = 0
        for p in range(n_all):
            moved[p] = last + 1
            if violations[p] == 0.0 and not (is_sifted and is_copy[p]):
                for j in range(3):
                    columns[j, n] = objectives[p, j]
                feasible[n] = p
                n += 1
        call_loop(sort_words, loops[SORT], columns, n, 3, n_bits, words, spare, counts)
        call_loop(settle_runs, loops[SETTLE], columns, n, 3, 3, n_bits, orders)
        n_within = n
        if is_sifted and last == 0:
            n_within = call_loop(
                sweep_first, loops[FIRST], columns, orders, n, positions, seat_levels, seat_least,
                ranks, is_copy,
            )  # fmt: skip
        elif n > 0:
            has_room = call_loop(
                sweep_blocks, loops[BLOCKS], columns, orders, n, last + 1 if is_sifted else n,
                known, levels, least, ranks, is_copy,
            )  # fmt: skip
            if not has_room:
                return False
            for i in range(n):
                n_within -= ranks[i] > last or is_copy[i]
        if not is_sifted or n_within >= keep:
            break
        is_sifted = False
    n_fronts, n_copies = last + 2 if is_sifted else 0, 0
    for i in range(n):
        n_fronts = max(n_fronts, ranks[i] + 1)
        n_copies += is_copy[i]
        crowding[0, i] = 0.0
    call_loop(add_gaps, loops[GAPS], columns, orders, n, n_fronts, ranks, fronts, met, crowding[0])
    for i in range(n):
        p = feasible[i]
        # Copies of others' objectives follow all fronts.
        all_ranks[p], moved[p] = ranks[i], ranks[i] + (n_fronts if is_copy[i] else 0)
        crowding[1, p] = crowding[0, i]
    n_ranks = n_fronts if n_copies == 0 else 2 * n_fronts
    if n < n_all:
        n_others, shift = 0, n_ranks - n_fronts
        for p in range(n_all):
            if violations[p] != 0.0:
                front_columns[0, n_others], rows[n_others] = violations[p], p
                n_others += 1
        call_loop(
            sort_words, loops[SORT], front_columns, n_others, 1, n_bits, front_words, spare, counts
        )
        call_loop(settle_runs, loops[SETTLE], front_columns, n_others, 1, 1, n_bits, front_orders)
        for i in range(n_others):
            p = rows[front_orders[0, i]]
            is_worse = i > 0 and violations[p] != violations[rows[front_orders[0, i - 1]]]
            n_ranks += 1 if i == 0 or is_worse else 0
            moved[p], all_ranks[p], crowding[1, p] = n_ranks - 1, n_ranks - 1 - shift, 0.0
    # The front that is cut.
    for rank in range(n_ranks):
        starts[rank] = 0
    for p in range(n_all):
        starts[moved[p]] += 1
    cut, before = 0, 0
    while cut + 1 < n_ranks and before + starts[cut] < keep:
        before += starts[cut]
        cut += 1
    n_first = 0
    for i in range(n):
        p = feasible[i]
        seats[i] = -1
        if moved[p] == cut:
            seats[i], rows[n_first] = n_first, p
            for j in range(3):
                front_columns[j, n_first] = columns[j, i]
            n_first += 1
    if before + n_first > keep:
        call_loop(thin_orders, loops[THIN], orders, n, seats, front_columns, n_bits, front_orders)
        call_loop(settle_runs, loops[SETTLE], front_columns, n_first, 3, 1, n_bits, front_orders)
        call_loop(
            truncate, loops[TRUNCATE], loops, IN_ROUNDS, front_columns, front_orders,
            n_first, keep - before, n_rounds, reference, values, links, members, best, names,
            name_words, cells, near, volumes,
        )  # fmt: skip
        for i in range(n_first):
            moved[rows[i]] = n_ranks
        for i in range(keep - before):
            moved[rows[members[0, i]]] = cut
    # The rest by rank, then by crowding, then by place.
    n_left = 0
    for rank in range(n_ranks):
        starts[rank] = 0
    for p in range(n_all):
        if moved[p] <= cut:
            front_columns[0, n_left], rows[n_left] = -crowding[1, p], p
            starts[moved[p]] += 1
            n_left += 1
    call_loop(sort_words, loops[SORT], front_columns, n_left, 1, n_bits, front_words, spare, counts)
    call_loop(settle_runs, loops[SETTLE], front_columns, n_left, 1, 1, n_bits, front_orders)
    start = 0
    for rank in range(n_ranks):
        starts[rank], start = start, start + starts[rank]
    for i in range(n_left):
        p = rows[front_orders[0, i]]
        at = starts[moved[p]]
        starts[moved[p]] += 1
        if at < survivors.size:
            survivors[at] = p
    # Their crowding, measured again, because neighbours may be gone.
    for i in range(n):
        moved[feasible[i]], seats[i] = i, -1
    n_left = 0
    for s in range(survivors.size):
        p = survivors[s]
        survivor_ranks[s], survivor_crowding[s] = all_ranks[p], 0.0
        if violations[p] == 0.0:
            seats[moved[p]] = s
            for j in range(3):
                front_columns[j, s] = columns[j, moved[p]]
            n_left += 1
    call_loop(thin_orders, loops[THIN], orders, n, seats, front_columns, n_bits, front_orders)
    call_loop(settle_runs, loops[SETTLE], front_columns, n_left, 3, 3, n_bits, front_orders)
    call_loop(
        add_gaps, loops[GAPS], front_columns, front_orders, n_left, n_fronts, survivor_ranks,
        fronts, met, survivor_crowding,
    )  # fmt: skip
    return True
