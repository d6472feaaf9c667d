"""Who enters an archive, who goes on, and how they move."""

import triton
import triton.language as tl

from optimizer.search.device.kernels.crowding import INFINITE, WIDTH
from optimizer.search.device.kernels.fronts import feasible_columns, row_of

INFEASIBLE = tl.constexpr(2)
CODES = tl.constexpr(16)


@triton.jit
def rows_of_three(objectives, violations, row, is_there):
    """Objectives of rows [.], the first infinite for who is not there and feasible; who is."""
    a, b, c, is_there = feasible_columns(
        objectives, violations, row.to(tl.int64), is_there, 0, 1, 2
    )
    return tl.where(is_there, a, INFINITE), b, c, is_there


@triton.jit
def beaten(objectives, violations, first_row, begin, end, at, a, b, c, is_out,
           ARE_BEFORE: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Which of entries [.] are dominated by, or equal to an earlier one of, entries begin to end.

    Ends as soon as nobody is left. With ARE_BEFORE all of them are earlier.
    """
    first = tl.zeros([], tl.int32) + begin
    while (first < end) & (tl.min(is_out, 0) == 0):
        other = first + tl.arange(0, COLUMNS)
        d, e, f, _ = rows_of_three(objectives, violations, first_row + other, other < end)
        is_met = (
            (d[None, :] <= a[:, None]) & (e[None, :] <= b[:, None]) & (f[None, :] <= c[:, None])
        )
        if not ARE_BEFORE:
            is_better = (d[None, :] < a[:, None]) | (e[None, :] < b[:, None])
            is_better |= (f[None, :] < c[:, None]) | (other[None, :] < at[:, None])
            is_met &= is_better
        is_out |= tl.max(is_met.to(tl.int32), 1)
        first += COLUMNS
    return is_out


@triton.jit
def undominated_kernel(objectives, violations, archived, born, is_best, population, archive,
                ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Who of archive and newcomers nobody dominates, the first of equals; grid (blocks of both).

    is_best: [R] int8 receives 1 or 0 for each row from the archive's first on.
    """
    end = archive + tl.load(born)
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    is_new = at >= archive
    n_old = tl.load(archived)
    a, b, c, is_there = rows_of_three(
        objectives, violations, population + at, (at < n_old) | (is_new & (at < end))
    )
    # Members of an archive do not dominate each other.
    is_out = (is_there == 0).to(tl.int32)
    if tl.program_id(0) * ROWS + ROWS > archive:
        of_old = beaten(
            objectives, violations, population, 0, n_old, at, a, b, c,
            ((is_there & is_new) == 0).to(tl.int32), True, COLUMNS
        )  # fmt: skip
        is_out |= tl.where(is_new, of_old, 0)
    is_out = beaten(
        objectives, violations, population, archive, end, at, a, b, c, is_out, False, COLUMNS
    )
    tl.store(is_best + population + at, 1 - is_out, at < archive + population)


@triton.jit
def tally_kernel(lineage, is_best, stays, born, tried, admitted, first_row, n_codes, width,
                 CHUNK: tl.constexpr):  # fmt: skip
    """Newcomers, and those in the archive, by operator; one program."""
    n = tl.load(born)
    n_tried = tl.zeros([CODES], tl.int32)
    n_admitted = tl.zeros([CODES], tl.int32)
    for begin in range(0, n, CHUNK):
        at = begin + tl.arange(0, CHUNK)
        row = (first_row + at).to(tl.int64)
        code = tl.load(lineage + row * width + width - 1, at < n, 0).to(tl.int32)
        is_in = (tl.load(is_best + row, at < n, 0) != 0) & (tl.load(stays + row, at < n, 0) != 0)
        n_tried += tl.histogram(code, CODES, mask=at < n)
        n_admitted += tl.histogram(code, CODES, mask=is_in)
    lane = tl.arange(0, CODES)
    tl.store(tried + lane, n_tried, lane < n_codes)
    tl.store(admitted + lane, n_admitted, lane < n_codes)


@triton.jit
def cut_kernel(classes, fronts, order, count, items, n_items, keep, cut, population, archive,
               CHUNK: tl.constexpr):  # fmt: skip
    """Where the survivors end; one program.

    items, n_items: receive the rows of the front that must be thinned, by place, nobody where it
    fits or is not feasible; keep: how many of them stay. cut: receives the class of the last
    survivor, whether its front is thinned, and how many fronts there are.
    """
    n = tl.load(count)
    last = tl.load(classes + tl.load(order + population - 1))
    n_whole = tl.zeros([], tl.int32)
    n_last = tl.zeros([], tl.int32)
    top = tl.full([], -1, tl.int32)
    for begin in range(0, n, CHUNK):
        at = begin + tl.arange(0, CHUNK)
        own = tl.load(classes + at, at < n, 0x7FFFFFFFFFFFFFFF)
        n_whole += tl.sum((own < last).to(tl.int32), 0)
        n_last += tl.sum((own == last).to(tl.int32), 0)
        top = tl.maximum(top, tl.max(tl.load(fronts + at, at < n, -1), 0))
    is_thinned = ((last >> WIDTH) != INFEASIBLE) & (n_whole + n_last > population)
    total = tl.zeros([], tl.int32)
    if is_thinned:
        for begin in range(0, n, CHUNK):
            at = begin + tl.arange(0, CHUNK)
            is_last = (tl.load(classes + at, at < n, -1) == last).to(tl.int32)
            place = total + tl.cumsum(is_last, 0) - is_last
            row = row_of(at, population, archive).to(tl.int32)
            tl.store(items + place, row, is_last != 0)
            total += tl.sum(is_last, 0)
    tl.store(n_items, total)
    tl.store(keep, population - n_whole)
    tl.store(cut, last)
    tl.store(cut + 1, is_thinned.to(tl.int64))
    tl.store(cut + 2, (top + 1).to(tl.int64))


@triton.jit
def survive_kernel(classes, details, fronts, order, count, cut, stays, sources, slots, kept_fronts,
                   ranks, population, archive, CHUNK: tl.constexpr):  # fmt: skip
    """Who goes on, best first; one program.

    sources: [P] receives rows, slots: [P] slots, kept_fronts: [P] fronts, -1 for who is not
    feasible; ranks: [P] receives the same, those who are not feasible after all fronts, equal
    violations sharing a rank.
    """
    n = tl.load(count)
    last, is_thinned, n_fronts = tl.load(cut), tl.load(cut + 1), tl.load(cut + 2).to(tl.int32)
    total = tl.zeros([], tl.int32)
    n_steps = tl.zeros([], tl.int32)
    for begin in range(0, n, CHUNK):
        at = begin + tl.arange(0, CHUNK)
        is_there = at < n
        slot = tl.load(order + at, is_there, 0)
        row = row_of(slot, population, archive)
        own = tl.load(classes + slot, is_there, -1)
        is_staying = (own == last) & (tl.load(stays + row, is_there, 0) != 0)
        is_in = tl.where(is_thinned != 0, (own < last) | is_staying, at < population)
        is_kept = (is_there & is_in).to(tl.int32)
        place = total + tl.cumsum(is_kept, 0) - is_kept
        is_worse = (own >> WIDTH) == INFEASIBLE
        before = tl.load(order + at - 1, is_there & is_worse & (at > 0), 0)
        is_first = (tl.load(classes + before, is_there, 0) >> WIDTH) != INFEASIBLE
        is_other = tl.load(details + before, is_there, 0) != tl.load(details + slot, is_there, 0)
        is_step = (is_worse & (at > 0) & (is_first == 0) & is_other).to(tl.int32)
        front = tl.load(fronts + slot, is_there, -1)
        behind = n_fronts + n_steps + tl.cumsum(is_step, 0)
        tl.store(sources + place, row.to(tl.int32), is_kept != 0)
        tl.store(slots + place, slot, is_kept != 0)
        tl.store(kept_fronts + place, front, is_kept != 0)
        tl.store(ranks + place, tl.where(front < 0, behind, front), is_kept != 0)
        total += tl.sum(is_kept, 0)
        n_steps += tl.sum(is_step, 0)


@triton.jit
def take_kernel(sources, archived, genomes, objectives, violations, failures, lineage, to_genomes,
                to_objectives, to_violations, to_failures, to_lineage, population, total, n_genes,
                ROWS: tl.constexpr, GENES: tl.constexpr):  # fmt: skip
    """Copy rows [P + A] from where `sources` says, of the archive those that count."""
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    is_there = (at < total) & (at < population + tl.load(archived))
    row = tl.load(sources + at, is_there, 0).to(tl.int64)
    gene = tl.arange(0, GENES)[None, :]
    is_gene = is_there[:, None] & (gene < n_genes)
    own = tl.load(genomes + row[:, None] * n_genes + gene, is_gene)
    tl.store(to_genomes + at[:, None] * n_genes + gene, own, is_gene)
    for number in tl.static_range(3):
        objective = tl.load(objectives + row * 3 + number, is_there)
        tl.store(to_objectives + at * 3 + number, objective, is_there)
    for number in tl.static_range(4):
        line = tl.load(lineage + row * 4 + number, is_there)
        tl.store(to_lineage + at * 4 + number, line, is_there)
    tl.store(to_violations + at, tl.load(violations + row, is_there), is_there)
    tl.store(to_failures + at, tl.load(failures + row, is_there), is_there)
