"""Which genomes were there before: a table of places with open addressing, rows compared in full.

Nothing depends on the order in which the table is laid out; a hash only says where to look first.
"""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled
from optimizer.search.compiled.sorting import Keys, Places

Bools = npt.NDArray[np.bool_]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


@compiled
def admit(rows: Keys, seen: Keys, count: int, table: Places, is_known: Bools) -> int:
    """Add rows to those seen, and say which were there before.

    Args:
        rows: [P, G], the bits of genomes.
        seen: [N, G], room for rows seen, filled up to `count`.
        count: How many were seen.
        table: [S] places in `seen` or -1; S is a power of two, more than twice N.
        is_known: [P] receives which rows were seen before, in this call or an earlier one.

    Returns:
        How many were seen now.
    """
    n_genes, mask = rows.shape[1], np.uint64(table.size - 1)
    for i in range(rows.shape[0]):
        hashed = np.uint64(0)
        for g in range(n_genes):
            hashed = (hashed ^ rows[i, g]) * MULTIPLIER
            hashed ^= hashed >> HALF
        at = hashed & mask
        is_found = False
        while table[at] >= 0 and not is_found:
            n_equal = 0
            while n_equal < n_genes and seen[table[at], n_equal] == rows[i, n_equal]:
                n_equal += 1
            is_found = n_equal == n_genes
            at = (at + np.uint64(1)) & mask
        is_known[i] = is_found
        if not is_found:
            table[at] = count
            for g in range(n_genes):
                seen[count, g] = rows[i, g]
            count += 1
    return count
