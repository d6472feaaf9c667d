"""Children on a device: keys of tournaments, the first children, others for repeats, and an end.

Grids are for all individuals; where there is less to do, programs end at once. A block of
individuals and genes is [ROWS, GENES]. Names of arguments are those of `device.breeding`.
"""

import triton
import triton.language as tl

from optimizer.generation import OPERATORS
from optimizer.search.device.kernels.draws import address_of, block_of, drawn, whole
from optimizer.search.device.kernels.variation import (
    crossed,
    moved,
    mutated,
    repaired,
    sampled,
)
from optimizer.search.device.told import Chance, Told
from optimizer.search.randomness import PURPOSES

CROSSED = tl.constexpr(int(Told.CROSSED))
EXCHANGED = tl.constexpr(int(Told.EXCHANGED))
DIFFERING = tl.constexpr(int(Told.DIFFERING))
NUDGED = tl.constexpr(int(Told.NUDGED))
IMMIGRANTS = tl.constexpr(int(Told.IMMIGRANTS))
ARCHIVED = tl.constexpr(int(Told.ARCHIVED))
SERIAL = tl.constexpr(int(Told.SERIAL))

ELITE = tl.constexpr(int(Chance.ELITE))
CROSSING = tl.constexpr(int(Chance.CROSSING))
MUTATION = tl.constexpr(int(Chance.MUTATION))
NUDGE = tl.constexpr(int(Chance.NUDGE))

SELECT_STREAM = tl.constexpr(PURPOSES["select"])
CROSSOVER_STREAM = tl.constexpr(PURPOSES["crossover"])
MUTATE_STREAM = tl.constexpr(PURPOSES["mutate"])
REDRAW_STREAM = tl.constexpr(PURPOSES["redraw"])
IMMIGRATE_STREAM = tl.constexpr(PURPOSES["immigrate"])
ELITE_STREAM = tl.constexpr(PURPOSES["elite"])
DIFFERENCE_STREAM = tl.constexpr(PURPOSES["difference"])
EXCHANGE_STREAM = tl.constexpr(PURPOSES["exchange"])

CROSS = tl.constexpr(OPERATORS.index("cross"))
EXCHANGE = tl.constexpr(OPERATORS.index("exchange"))
DIFFERENCE = tl.constexpr(OPERATORS.index("difference"))
MUTATE = tl.constexpr(OPERATORS.index("mutate"))
IMMIGRATE = tl.constexpr(OPERATORS.index("immigrate"))


@triton.jit
def permutation_kernel(p_told, p_keys, p_scratch, size, n_scratch, BLOCK: tl.constexpr):
    """Keys [4, size] that four permutations are sorted by, and [n_scratch] zeros.

    A row of keys is above the rows before it, so that all of them may be sorted together.
    """
    block = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_there = block < size
    key, address = address_of(p_told, SELECT_STREAM)
    x0, x1, x2, x3 = block_of(key, address, block.to(tl.int64))
    at = block * 4
    tl.store(p_keys + at, whole(x0) | ((at // size).to(tl.int64) << 53), is_there)
    tl.store(p_keys + at + 1, whole(x1) | (((at + 1) // size).to(tl.int64) << 53), is_there)
    tl.store(p_keys + at + 2, whole(x2) | (((at + 2) // size).to(tl.int64) << 53), is_there)
    tl.store(p_keys + at + 3, whole(x3) | (((at + 3) // size).to(tl.int64) << 53), is_there)
    nothing = tl.zeros([BLOCK], tl.int32)
    for begin in range(tl.program_id(0) * BLOCK, n_scratch, tl.num_programs(0) * BLOCK):
        o_scratch = begin + tl.arange(0, BLOCK)
        tl.store(p_scratch + o_scratch, nothing, o_scratch < n_scratch)


@triton.jit
def parent_of(p_told, p_chances, p_ranks, p_crowding, p_order, seat, n_seats, is_there, size):
    """Rows of parents for seats [.] of `n_seats`: winners of tournaments, or of the archive."""
    one = (tl.load(p_order + 2 * seat, is_there, 0) % size).to(tl.int32)
    other = (tl.load(p_order + 2 * seat + 1, is_there, 0) % size).to(tl.int32)
    is_wider = tl.load(p_crowding + other) > tl.load(p_crowding + one)
    rank_one, rank_other = tl.load(p_ranks + one), tl.load(p_ranks + other)
    is_better = (rank_other < rank_one) | ((rank_other == rank_one) & is_wider)
    key, address = address_of(p_told, ELITE_STREAM)
    is_elite = drawn(key, address, seat) < tl.load(p_chances + ELITE)
    archived = tl.load(p_told + ARCHIVED).to(tl.float64)
    elder = size + (drawn(key, address, n_seats + seat) * archived).to(tl.int32)
    return tl.where(is_elite, elder, tl.where(is_better, other, one)).to(tl.int64)


@triton.jit
def crossing(p_told, p_chances, mothers, fathers, child, gene, low, high, is_int,
             N_GENES: tl.constexpr, SQUARINGS: tl.constexpr):  # fmt: skip
    """First children of pairs, the first of all children."""
    n = tl.load(p_told + CROSSED)
    key, address = address_of(p_told, CROSSOVER_STREAM)
    is_crossed = drawn(key, address, child) < tl.load(p_chances + CROSSING)
    at = n + child * N_GENES + gene
    which = drawn(key, address, at)
    far = drawn(key, address, at + n * N_GENES)
    swap = drawn(key, address, at + 2 * n * N_GENES)
    return crossed(mothers, fathers, is_crossed, which, far, swap, low, high, is_int, SQUARINGS)


@triton.jit
def differing(p_told, p_genomes, mothers, child, is_there, gene, low, high, is_int, size,
              N_GENES: tl.constexpr):  # fmt: skip
    """Mothers moved by differences; `child` counts from 0, others are not there."""
    n = tl.load(p_told + DIFFERING)
    key, address = address_of(p_told, DIFFERENCE_STREAM)
    everybody = (size + tl.load(p_told + ARCHIVED)).to(tl.float64)
    ahead = (drawn(key, address, child) * everybody).to(tl.int64)
    behind = (drawn(key, address, child + n) * everybody).to(tl.int64)
    is_gene = is_there & (gene < N_GENES)
    to = tl.load(p_genomes + ahead * N_GENES + gene, is_gene, 0.0)
    away = tl.load(p_genomes + behind * N_GENES + gene, is_gene, 0.0)
    far = drawn(key, address, child + 2 * n)
    kind = drawn(key, address, child + 3 * n)
    one = drawn(key, address, child + 4 * n)
    chance = drawn(key, address, 5 * n + child * N_GENES + gene)
    return moved(mothers, to, away, far, kind, one, chance, gene, low, high, is_int, N_GENES)


@triton.jit
def mutating(p_told, p_chances, genomes, child, n_mutants, gene, low, high, is_int,
             N_GENES: tl.constexpr, SQUARINGS: tl.constexpr):  # fmt: skip
    """Genomes after mutation: the first `n_mutants` as usual, then half finely, then coarsely."""
    n_fine = tl.load(p_told + NUDGED) // 2
    n_coarse = tl.load(p_told + NUDGED) - n_fine
    is_mutant = child < n_mutants
    is_fine = child < n_mutants + n_fine
    begun = tl.where(is_mutant, 0, tl.where(is_fine, n_mutants, n_mutants + n_fine))
    count = tl.where(is_mutant, n_mutants, tl.where(is_fine, n_fine, n_coarse))
    at = (2 * begun + child - begun) * N_GENES + gene
    key, address = address_of(p_told, MUTATE_STREAM)
    mutation, nudge = tl.load(p_chances + MUTATION), tl.load(p_chances + NUDGE)
    chance = tl.where(is_mutant, mutation, nudge)
    moves = (drawn(key, address, at) < chance) & (low < high)
    squarings = tl.where(is_mutant, SQUARINGS, tl.where(is_fine, 6, 2))
    far = drawn(key, address, at + count * N_GENES)
    most = tl.max(tl.max(squarings, 1), 0)
    return tl.where(moves, mutated(genomes, far, low, high, is_int, squarings, most), genomes)


@triton.jit
def store_children(p_young, p_parents, p_broken, genomes, is_broken, child, is_there, gene, code,
                   N_GENES: tl.constexpr):  # fmt: skip
    """Keep genomes, codes and whether they were repaired; `child` and the like are [ROWS, 1]."""
    tl.store(p_young + child * N_GENES + gene, genomes, is_there & (gene < N_GENES))
    tl.store(p_parents + child * 3 + 2, code, is_there)
    tl.store(p_broken + child, is_broken, is_there)


@triton.jit
def children_kernel(p_told, p_chances, p_low, p_high, p_is_int, p_genomes, p_lineage, p_ranks,
                    p_crowding, p_order, p_young, p_parents, p_broken, size,
                    N_GENES: tl.constexpr, GENES: tl.constexpr, ORDERED: tl.constexpr,
                    CROSS_SQUARINGS: tl.constexpr, MUTATE_SQUARINGS: tl.constexpr,
                    ROWS: tl.constexpr):  # fmt: skip
    """One program makes `ROWS` children from winners to legal genomes, repeats among them."""
    first = tl.program_id(0).to(tl.int64) * ROWS
    last = first + ROWS
    child = first + tl.arange(0, ROWS)[:, None]
    gene = tl.arange(0, GENES)[None, :]
    low = tl.load(p_low + gene, gene < N_GENES, 0.0)
    high = tl.load(p_high + gene, gene < N_GENES, 0.0)
    is_int = tl.load(p_is_int + gene, gene < N_GENES, 0) != 0
    # Where each operator's children end.
    cross = tl.load(p_told + CROSSED)
    exchange = cross + tl.load(p_told + EXCHANGED)
    difference = exchange + tl.load(p_told + DIFFERING)
    bred = difference + tl.load(p_told + NUDGED)
    is_bred = child < bred
    is_gene = is_bred & (gene < N_GENES)
    mother = parent_of(p_told, p_chances, p_ranks, p_crowding, p_order, 2 * child, 2 * bred,
                       is_bred, size)  # fmt: skip
    father = parent_of(p_told, p_chances, p_ranks, p_crowding, p_order, 2 * child + 1, 2 * bred,
                       is_bred, size)  # fmt: skip
    mother = tl.where(is_bred, mother, 0)
    father = tl.where(is_bred, father, 0)
    young = tl.load(p_genomes + mother * N_GENES + gene, is_gene, 0.0)
    other = tl.load(p_genomes + father * N_GENES + gene, is_gene, 0.0)
    if first < cross:
        children = crossing(p_told, p_chances, young, other, child, gene, low, high, is_int,
                            N_GENES, CROSS_SQUARINGS)  # fmt: skip
        young = tl.where(child < cross, children, young)
    if (first < exchange) & (last > cross):
        key, address = address_of(p_told, EXCHANGE_STREAM)
        is_fathers = drawn(key, address, (child - cross) * N_GENES + gene) < 0.5
        is_exchange = (child >= cross) & (child < exchange)
        young = tl.where(is_exchange & is_fathers, other, young)
    if (first < difference) & (last > exchange):
        is_difference = (child >= exchange) & (child < difference)
        place = tl.where(is_difference, child - exchange, 0)
        children = differing(p_told, p_genomes, young, place, is_difference, gene, low, high,
                             is_int, size, N_GENES)  # fmt: skip
        young = tl.where(is_difference, children, young)
    if first < bred:
        young = mutating(p_told, p_chances, young, child, difference, gene, low, high, is_int,
                         N_GENES, MUTATE_SQUARINGS)  # fmt: skip
    if last > bred:
        key, address = address_of(p_told, IMMIGRATE_STREAM)
        place = tl.where(is_bred, 0, child - bred)
        immigrants = sampled(drawn(key, address, place * N_GENES + gene), low, high, is_int)
        young = tl.where(is_bred, young, immigrants)
    code = tl.where(child < difference, DIFFERENCE, tl.where(is_bred, MUTATE, IMMIGRATE))
    code = tl.where(child < cross, CROSS, tl.where(child < exchange, EXCHANGE, code))
    legal, is_broken = repaired(young, gene, low, high, is_int, p_high, ORDERED)
    is_there = child < size
    store_children(p_young, p_parents, p_broken, legal, is_broken, child, is_there, gene,
                   code.to(tl.int64), N_GENES)  # fmt: skip
    nobody = tl.full([ROWS, 1], -1, tl.int64)
    serial = tl.load(p_lineage + mother * 4, is_bred, 0)
    tl.store(p_parents + child * 3, tl.where(is_bred, serial, nobody), is_there)
    serial = tl.load(p_lineage + father * 4, is_bred, 0)
    tl.store(p_parents + child * 3 + 1, tl.where(child < difference, serial, nobody), is_there)


@triton.jit
def rank_of(p_repeats, p_counts, place, first, size, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    """How many repeats stand before places [ROWS, 1] of one chunk, of which `first` is the first.

    p_repeats: [size] and p_counts: [size / CHUNK] of the turn in which they repeated.
    """
    chunk = first // CHUNK
    number = tl.arange(0, CHUNKS)
    before = tl.sum(tl.load(p_counts + number, number < chunk, 0), 0)
    # No running sum: of so few numbers Triton 3.6 gives some lanes another one than others.
    other = chunk * CHUNK + tl.arange(0, CHUNK)[None, :]
    flags = tl.load(p_repeats + other, other < size, 0)
    return before + tl.sum(tl.where(other < place, flags, 0), 1, keep_dims=True)


@triton.jit(do_not_specialize=["turn"])
def redraw_kernel(p_told, p_chances, p_low, p_high, p_is_int, p_young, p_parents, p_broken,
                  p_repeats, p_counts, p_totals, size, chunks, turn, turns_before,
                  IS_MUTATION: tl.constexpr, N_GENES: tl.constexpr, GENES: tl.constexpr,
                  ORDERED: tl.constexpr, SQUARINGS: tl.constexpr, ROWS: tl.constexpr,
                  CHUNK: tl.constexpr, CHUNKS: tl.constexpr):  # fmt: skip
    """Something else for the repeats of the turn before, mutated or from anywhere.

    turns_before: the first turn whose repeats were redrawn in this way. ROWS divides CHUNK.
    """
    n = tl.load(p_totals + turn - 1).to(tl.int64)
    if n > 0:
        first = tl.program_id(0).to(tl.int64) * ROWS
        place = first + tl.arange(0, ROWS)[:, None]
        p_flags = p_repeats + (turn - 1) * size
        is_there = tl.load(p_flags + place, place < size, 0) > 0
        if tl.max(tl.max(is_there.to(tl.int32), 1), 0) > 0:
            gene = tl.arange(0, GENES)[None, :]
            low = tl.load(p_low + gene, gene < N_GENES, 0.0)
            high = tl.load(p_high + gene, gene < N_GENES, 0.0)
            is_int = tl.load(p_is_int + gene, gene < N_GENES, 0) != 0
            used = n - n
            for earlier in range(turns_before, turn - 1):
                used += tl.load(p_totals + earlier)
            rank = rank_of(p_flags, p_counts + (turn - 1) * chunks, place, first, size, CHUNK,
                           CHUNKS)  # fmt: skip
            if IS_MUTATION:
                key, address = address_of(p_told, REDRAW_STREAM)
                at = (2 * used + rank) * N_GENES + gene
                old = tl.load(p_young + place * N_GENES + gene, is_there & (gene < N_GENES), 0.0)
                moves = drawn(key, address, at) < tl.load(p_chances + MUTATION)
                far = drawn(key, address, at + n * N_GENES)
                changed = mutated(old, far, low, high, is_int, SQUARINGS, SQUARINGS)
                young = tl.where(moves & (low < high), changed, old)
                code = tl.full([ROWS, 1], MUTATE, tl.int64)
            else:
                key, address = address_of(p_told, IMMIGRATE_STREAM)
                used += tl.load(p_told + IMMIGRANTS)
                at = (used + rank) * N_GENES + gene
                young = sampled(drawn(key, address, at), low, high, is_int)
                code = tl.full([ROWS, 1], IMMIGRATE, tl.int64)
            legal, is_broken = repaired(young, gene, low, high, is_int, p_high, ORDERED)
            store_children(p_young, p_parents, p_broken, legal, is_broken, place, is_there, gene,
                           code, N_GENES)  # fmt: skip


@triton.jit
def finish_kernel(p_told, p_young, p_parents, p_broken, p_repeats, p_counts, p_totals, p_genomes,
                  p_lineage, p_born, p_repaired, size, first_row, N_GENES: tl.constexpr,
                  GENES: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr,
                  CHUNKS: tl.constexpr):  # fmt: skip
    """Write who stays among the newcomers; repeats, counts and total are those of the last turn."""
    first = tl.program_id(0).to(tl.int64) * ROWS
    place = first + tl.arange(0, ROWS)[:, None]
    gene = tl.arange(0, GENES)[None, :]
    stays = (place < size) & (tl.load(p_repeats + place, place < size, 1) == 0)
    seat = place - rank_of(p_repeats, p_counts, place, first, size, CHUNK, CHUNKS)
    row = first_row + seat
    is_gene = stays & (gene < N_GENES)
    genomes = tl.load(p_young + place * N_GENES + gene, is_gene, 0.0)
    tl.store(p_genomes + row * N_GENES + gene, genomes, is_gene)
    code = tl.load(p_parents + place * 3 + 2, stays, 0)
    nobody = tl.full([ROWS, 1], -1, tl.int64)
    is_stranger = code == IMMIGRATE
    mother = tl.where(is_stranger, nobody, tl.load(p_parents + place * 3, stays, 0))
    father = tl.where(is_stranger, nobody, tl.load(p_parents + place * 3 + 1, stays, 0))
    tl.store(p_lineage + row * 4, tl.load(p_told + SERIAL) + seat, stays)
    tl.store(p_lineage + row * 4 + 1, mother, stays)
    tl.store(p_lineage + row * 4 + 2, father, stays)
    tl.store(p_lineage + row * 4 + 3, code, stays)
    n_broken = tl.sum(tl.sum(tl.load(p_broken + place, stays, 0), 1), 0)
    if n_broken > 0:
        tl.atomic_add(p_repaired, n_broken, sem="relaxed")
    if tl.program_id(0) == 0:
        tl.store(p_born, size - tl.load(p_totals))
