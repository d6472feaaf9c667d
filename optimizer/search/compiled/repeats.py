"""Repeats among genomes: a table of places with open addressing, rows compared in full.

Nothing depends on the order in which the table is laid out; a hash is only where to look first.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.fronts import ONE, ZERO, Bools, Unsigned
from optimizer.search.compiled.sorting import Floats, Places

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class Seen:
    """Genomes by place, to ask which of them repeat others.

    Args:
        rows: [N, G], none with a negative zero where it is asked for; may change until then.
        n_known: The first so many are there already.
    """

    def __init__(self, rows: Floats, n_known: int) -> None:
        self._rows = rows.view(np.uint64)
        self._table = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int32)
        self.admit(np.arange(n_known))

    def admit(self, numbers: Places) -> Bools:
        """Flags of rows [P] that equal one admitted before; the others are admitted."""
        is_known = np.empty(len(numbers), dtype=np.bool_)
        admit(self._rows, numbers, self._table, is_known)
        return is_known


@compiled_unlocked
def admit(rows: Unsigned, numbers: Places, table: npt.NDArray[np.int32], is_known: Bools) -> None:
    """Admit rows that are new; see `Seen.admit`.

    Args:
        rows: [N, G], the bits of genomes.
        numbers: [P] of the rows that are asked for.
        table: [S] places that were admitted, else -1; S is a power of two, more than twice N.
        is_known: [P] receives which rows equal one that was admitted before.
    """
    n_genes, mask = np.uint64(rows.shape[1]), np.uint64(table.size - 1)
    for i in range(numbers.size):
        row = np.uint64(numbers[i])
        at = ZERO
        for k in range(n_genes):
            at = (at ^ rows[row, k]) * MULTIPLIER
        # Keys that differ in high bits only do so in high bits of a product.
        at = (at ^ (at >> HALF)) * MULTIPLIER >> HALF & mask
        is_known[i] = False
        while table[at] >= 0 and not is_known[i]:
            other, g = np.uint64(table[at]), ZERO
            while g < n_genes and rows[other, g] == rows[row, g]:
                g += ONE
            is_known[i] = g == n_genes
            at = (at + ONE) & mask
        if not is_known[i]:
            table[at] = np.int32(row)
