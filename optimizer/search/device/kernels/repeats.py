"""Which rows repeat others: a table with open addressing that many programs fill at the same time.

Every row has a name: population and archive 1 plus their row, a child 1 plus what is below, in
which a later turn has a higher name than an earlier one and a later place than an earlier one. An
entry of the table is 0 or the name of a row. A row looks at the entries from its hash on. It takes
the first empty one, unless it comes upon an equal row, compared in full, before; then the lower
name stays in the entry and the higher one is a repeat.

The answer is that of a loop over all rows in the order of their names, whatever comes first:
- Entries are never emptied and never go to another genome, so that what one program skipped, all
  programs skip, and equal rows meet in the one entry that their genome has.
- Whenever two names meet in an entry, the higher is told to be a repeat and the lower stays. So all
  names of a genome but the lowest are told, each once; and a row is a repeat just when an equal one
  has a lower name.
Genomes are read only; they were written by launches before.
"""

import triton
import triton.language as tl

from optimizer.search.device.told import Told

ARCHIVED = tl.constexpr(int(Told.ARCHIVED))

MULTIPLIER = tl.constexpr(0x9E3779B97F4A7C15)


@triton.jit
def hash_of(bits, gene):
    """Hashes [LANES] of rows [LANES, GENES] of int64."""
    mixed = bits.to(tl.uint64, bitcast=True) + (gene + 1).to(tl.uint64) * MULTIPLIER
    mixed = (mixed ^ (mixed >> 32)) * MULTIPLIER
    mixed = (mixed ^ (mixed >> 29)) * MULTIPLIER
    total = tl.sum(mixed ^ (mixed >> 32), axis=1) * MULTIPLIER
    return (total ^ (total >> 32)).to(tl.int64, bitcast=True)


@triton.jit
def row_of(p_known, p_young, name, is_there, gene, n_known, size, N_GENES: tl.constexpr):
    """Genomes [LANES, GENES] of names [LANES], as int64; 0 where there is none."""
    is_young = name > n_known
    own = tl.where(is_young, (name - 1 - n_known) % size, name - 1).to(tl.int64)
    at = own[:, None] * N_GENES + gene
    is_gene = is_there[:, None] & (gene < N_GENES)
    known = tl.load(p_known + at, is_gene & (is_young == 0)[:, None], 0)
    return tl.where(is_young[:, None], tl.load(p_young + at, is_gene & is_young[:, None], 0), known)


@triton.jit
def admit(p_known, p_young, p_table, p_repeats, p_counts, p_total, name, is_there, n_known, size,
          slots, N_GENES: tl.constexpr, GENES: tl.constexpr, CHUNK: tl.constexpr):  # fmt: skip
    """Put rows into the table and tell repeats among children of this turn.

    p_repeats: [size], p_counts: [size / CHUNK], p_total: [1], of this turn and 0 before.
    """
    gene = tl.arange(0, GENES)[None, :]
    row = row_of(p_known, p_young, name, is_there, gene, n_known, size, N_GENES)
    at = hash_of(row, gene) & (slots - 1)
    seeks = is_there.to(tl.int32)
    n_repeats = tl.zeros_like(seeks)
    while tl.max(seeks, 0) > 0:
        # Whoever seeks no more compares with what is never there, and changes nothing.
        found = tl.atomic_cas(p_table + at, seeks - 1, name, sem="relaxed")
        meets = (seeks > 0) & (found > 0)
        other = row_of(p_known, p_young, found, meets, gene, n_known, size, N_GENES)
        is_equal = meets & (tl.max((row != other).to(tl.int32), 1) == 0)
        kept = tl.atomic_min(p_table + at, name, mask=is_equal, sem="relaxed")
        repeat = tl.maximum(kept, name)
        is_told = is_equal & (repeat > n_known)
        place = tl.where(is_told, (repeat - 1 - n_known) % size, 0)
        tl.store(p_repeats + place, 1, is_told)
        tl.atomic_add(p_counts + place // CHUNK, 1, mask=is_told, sem="relaxed")
        n_repeats += is_told.to(tl.int32)
        seeks = (meets & (is_equal == 0)).to(tl.int32)
        at = (at + 1) & (slots - 1)
    if tl.sum(n_repeats, 0) > 0:
        tl.atomic_add(p_total, tl.sum(n_repeats, 0), sem="relaxed")


@triton.jit
def admit_kernel(p_told, p_known, p_young, p_table, p_repeats, p_counts, p_totals, n_known, size,
                 slots, N_GENES: tl.constexpr, GENES: tl.constexpr, CHUNK: tl.constexpr,
                 LANES: tl.constexpr):  # fmt: skip
    """Put population, archive and all children into the table; n_known is room, not a count."""
    row = tl.program_id(0) * LANES + tl.arange(0, LANES)
    is_old = row < size + tl.load(p_told + ARCHIVED).to(tl.int32)
    is_there = is_old | ((row >= n_known) & (row < n_known + size))
    if tl.max(is_there.to(tl.int32), 0) > 0:
        admit(p_known, p_young, p_table, p_repeats, p_counts, p_totals, row + 1, is_there, n_known,
              size, slots, N_GENES, GENES, CHUNK)  # fmt: skip


@triton.jit(do_not_specialize=["turn"])
def readmit_kernel(p_known, p_young, p_table, p_repeats, p_counts, p_totals, n_known, size, slots,
                   chunks, turn, N_GENES: tl.constexpr, GENES: tl.constexpr, CHUNK: tl.constexpr,
                   LANES: tl.constexpr):  # fmt: skip
    """Put what came in the places of the last turn's repeats into the table.

    p_repeats: [turns, size]. p_counts: [turns, chunks]. p_totals: [turns].
    """
    if tl.load(p_totals + turn - 1) > 0:
        place = tl.program_id(0) * LANES + tl.arange(0, LANES)
        is_there = tl.load(p_repeats + (turn - 1) * size + place, place < size, 0) > 0
        if tl.max(is_there.to(tl.int32), 0) > 0:
            name = 1 + n_known + turn * size + place
            admit(p_known, p_young, p_table, p_repeats + turn * size, p_counts + turn * chunks,
                  p_totals + turn, name, is_there, n_known, size, slots, N_GENES, GENES,
                  CHUNK)  # fmt: skip
