"""The best compromises of three objectives, in one pass that holds no lock of Python.

`archive` defines it: the undominated, the least missed of a full archive, and the hypervolume of
the rest. All are sorted once; orders of fewer are thinned from it.
"""

import numpy as np

from engine.runtime.compiling.addresses import call_loop
from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.blocks import sweep_first
from optimizer.search.compiled.contributions import Cells
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
from optimizer.search.compiled.volume import sweep_volume
from optimizer.search.compiled.workspace import (
    DOMINATED,
    FIRST,
    IN_ROUNDS,
    SETTLE,
    SORT,
    THIN,
    TRUNCATE,
    VOLUME,
    Scratch,
    borrow_workspace,
    find_loops,
)


def keep_compromises(
    objectives: Floats,
    violations: Floats,
    keep: int,
    rounds: tuple[int, int],
    box: tuple[Floats, Floats],
) -> tuple[Places, float]:
    """Places [F] of the best compromises, rising, and the hypervolume of these.

    Args:
        objectives: [P, 3], of those kept before and of newcomers.
        violations: [P], 0 where feasible; others are left out.
        keep: How many are kept at most, at least 1.
        rounds: In which a front is truncated, and its reference in cells.
        box: Best and worst corner of the box of the hypervolume, [3] each; where the best one is
            NaN the hypervolume is 0.
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
