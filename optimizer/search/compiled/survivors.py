"""Survivors among individuals with three objectives, in one pass that holds no lock of Python.

The definition is `survival.survive_by_hypervolume`, with `ranking.rank_individuals` before it and
`ranking.rank_survivors` after it. All are sorted once: the orders of a front that is cut, and
those of the survivors, are subsets of the first ones.
"""

import numpy as np

from engine.runtime.compiling.addresses import call_loop
from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.blocks import Levels, sweep_blocks, sweep_first
from optimizer.search.compiled.contributions import Cells
from optimizer.search.compiled.crowding import add_gaps
from optimizer.search.compiled.dominated import mark_dominated
from optimizer.search.compiled.fronts import Bools, Unsigned
from optimizer.search.compiled.leaving import truncate
from optimizer.search.compiled.rounds import SmallCells
from optimizer.search.compiled.sorting import (
    Floats,
    Places,
    Words,
    settle_runs,
    sort_words,
    thin_orders,
)
from optimizer.search.compiled.workspace import (
    BLOCKS,
    DOMINATED,
    FIRST,
    GAPS,
    IN_ROUNDS,
    SETTLE,
    SORT,
    THIN,
    TRUNCATE,
    Scratch,
    borrow_workspace,
    find_loops,
)


def choose_survivors(
    objectives: Floats, violations: Floats, keep: int, elders: Places, rounds: tuple[int, int]
) -> tuple[Places, Places, Floats] | None:
    """Survivors, best first, and their ranks and crowding distances.

    Args:
        objectives: [P, 3], as in `rank_individuals`.
        violations: [P], as in `rank_individuals`.
        keep: How many survive, at least 1.
        elders: [E], ranks of the first so many, survivors of a pool in which no other came before
            them; none where these are not known. They change the time it takes, not the survivors.
        rounds: In which a front is truncated, and its reference in cells.

    Returns:
        [S] each; None where an individual has no place, or fronts are too many for the table.
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
