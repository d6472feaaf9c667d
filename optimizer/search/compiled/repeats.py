"""Repeats among genomes: a table of places with open addressing, rows compared in full.

Nothing depends on the order in which the table is laid out; a hash is only where to look first.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import call_loop, declare_loop, find_address
from engine.runtime.compiling.loops import compiled_unlocked
from optimizer.search.compiled.fronts import ONE, ZERO, Bools, Unsigned
from optimizer.search.compiled.sorting import Floats, Places
from optimizer.search.compiled.variation import mutate, repair, sample
from optimizer.search.generation import OPERATORS, UNKNOWN

Table = npt.NDArray[np.int32]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)

AS_DRAWN, SAMPLED, MUTATED = range(3)
"""How newcomers are made before they are admitted, which is how many numbers a gene takes."""


MUTATE, IMMIGRATE = OPERATORS.index("mutate"), OPERATORS.index("immigrate")


class Seen:
    """Genomes by place, to find repetitions.

    Args:
        rows: [N, G], none with a negative zero where it is asked for; may change until then.
        n_known: The first so many are there already.
    """

    def __init__(self, rows: Floats, n_known: int) -> None:
        self.rows, self.bits = rows, rows.view(np.uint64)
        self.table: Table = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int32)
        self.admit(np.arange(n_known))

    def admit(self, numbers: Places) -> Bools:
        """Flags of rows [P] that equal one admitted before; the others are admitted."""
        is_known = np.empty(len(numbers), dtype=np.bool_)
        admit(self.bits, numbers, len(numbers), self.table, is_known)
        return is_known


@dataclass(frozen=True)
class Newcomers:
    """Newcomers behind the genomes that are known, and how they are made.

    Args:
        seen: Table of all rows [N + P, G], in which the first N are admitted.
        first: N.
        genes: [7, G], as of `GenomeLayout.table`.
        ordered: As of `repair`.
        mutation: Chance and squarings, as of `mutate`.
        lineage: [P, 4], of which the origin of those that replace others is received.
        is_broken: [P] receives whose genes broke a constraint.
    """

    seen: Seen
    first: int
    genes: Floats
    ordered: Places
    mutation: tuple[float, int]
    lineage: Places
    is_broken: Bools

    def admit(
        self, rows: Places, way: int, n_rounds: int, numbers: Floats
    ) -> tuple[int, int, Places]:
        """Make, repair and admit newcomers; those that repeat others again, in rounds.

        Args:
            rows: [R], which; receives those that are left in front.
            way: `AS_DRAWN`, `SAMPLED` or `MUTATED`.
            n_rounds: At most.
            numbers: [M]; rounds end where they are too few for another.

        Returns:
            Rounds that are left, numbers that were taken, and rows that repeat others.
        """
        state, is_known = np.array([len(rows), n_rounds, 0]), np.empty(len(rows), dtype=np.bool_)
        admit_newcomers(
            self.seen.rows, self.seen.bits, rows, way, numbers, find_loops(), self.genes,
            self.ordered, *self.mutation, self.first, self.seen.table, is_known, self.lineage,
            self.is_broken, state,
        )  # fmt: skip
        count, left, taken = state.tolist()
        return left, taken, rows[:count]


@cache
def find_loops() -> Places:
    """Addresses of what `admit_newcomers` calls."""
    return np.array([find_address(loop) for loop in (sample, mutate, repair, admit)])


@compiled_unlocked
def admit_newcomers(
    genomes: Floats, bits: Unsigned, rows: Places, way: int, numbers: Floats, loops: Places,
    genes: Floats, ordered: Places, chance: float, n_squarings: int, first: int, table: Table,
    is_known: Bools, lineage: Places, is_broken: Bools, state: Places,
) -> None:  # fmt: skip
    """Make, repair and admit newcomers; see `Newcomers.admit`.

    Args:
        genomes: [N + P, G].
        bits: The same as bits.
        rows: [R].
        way: How they are made.
        numbers: [M].
        loops: Addresses, as of `find_loops`.
        genes: [7, G].
        ordered: As of `repair`.
        chance: As of `mutate`.
        n_squarings: As of `mutate`.
        first: N.
        table: As of `admit`.
        is_known: [R] scratch.
        lineage: [P, 4].
        is_broken: [P].
        state: Rows and rounds that are left, and numbers that were taken.
    """
    while state[0] > 0 and state[1] > 0:
        count, start = state[0], state[2]
        end = start + way * count * genes.shape[1]
        if end > numbers.size:
            break
        if way == SAMPLED:
            call_loop(sample, loops[0], genomes, rows, count, numbers, start, genes)
        if way == MUTATED:
            call_loop(
                mutate, loops[1], genomes, rows, count, numbers, start, genes, chance, n_squarings
            )
        for i in range(count if way != AS_DRAWN else 0):
            row = rows[i] - first
            lineage[row, 3] = MUTATE if way == MUTATED else IMMIGRATE
            if way == SAMPLED:
                lineage[row, 1] = lineage[row, 2] = UNKNOWN
        call_loop(repair, loops[2], genomes, rows, count, genes, ordered, first, is_broken)
        call_loop(admit, loops[3], bits, rows, count, table, is_known)
        n_left = 0
        for i in range(count):
            rows[n_left] = rows[i]
            n_left += is_known[i]
        state[0], state[1], state[2] = n_left, state[1] - 1, end


@declare_loop("void(u8[:, ::1], i8[::1], i8, i4[::1], b1[::1])")
def admit(rows: Unsigned, numbers: Places, count: int, table: Table, is_known: Bools) -> None:
    """Admit rows that are new; see `Seen.admit`.

    Args:
        rows: [N, G], the bits of genomes.
        numbers: [C], of the rows that are asked for the first P.
        count: P.
        table: [S] places that were admitted, else -1; S is a power of two, more than twice N.
        is_known: [C] receives which rows equal one that was admitted before.
    """
    n_genes, mask = np.uint64(rows.shape[1]), np.uint64(table.size - 1)
    for i in range(count):
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
