"""Lexicographic orders and non-dominated fronts of three objectives.

A pool has slots: first the population, then newcomers, whose rows come after those of an archive.
In lexicographic order nobody is dominated by one who comes later, and whoever comes before and is
not equal dominates when the second and the third objective are no larger.
"""

import triton
import triton.language as tl

from optimizer.search.device.kernels.places import key_of

LAST = tl.constexpr(0x7FFFFFFFFFFFFFFF)
BLOCK = tl.constexpr(1024)
FURTHEST = tl.constexpr(0x7FFFFFFF)


@triton.jit
def row_of(slot, population, archive):
    """Rows [.] int64 of slots [.] of a pool."""
    return (slot + tl.where(slot >= population, archive, 0)).to(tl.int64)


@triton.jit
def feasible_columns(objectives, violations, row, is_there, first, second, third):
    """Three columns of rows [.], and which of them are there and feasible."""
    p_row = objectives + row * 3
    return (
        tl.load(p_row + first, is_there, 0.0),
        tl.load(p_row + second, is_there, 0.0),
        tl.load(p_row + third, is_there, 0.0),
        is_there & (tl.load(violations + row, is_there, 1.0) == 0),
    )


@triton.jit
def orders_kernel(objectives, violations, born, firsts, order, seconds, thirds, groups, starts,
                  fronts, counts, population, archive, ROWS: tl.constexpr,
                  COLUMNS: tl.constexpr):  # fmt: skip
    """How many of the feasible come before each; grid (blocks of slots, objectives).

    firsts: [3, N] receives the count of those truly before, by each objective on top of the one
    before it. By place in the lexicographic order: order [N], the slot; seconds and thirds [N],
    objectives; groups [N], place of the first equal; starts [N], 0. fronts: [N] receives -1 for who
    is not feasible. counts: how many are feasible and how many there are.
    """
    number = tl.program_id(1)
    second = tl.where(number == 1, 0, 1)
    third = tl.where(number == 2, 0, 2)
    size = population + tl.load(born)
    begin = tl.program_id(0) * ROWS
    if begin < size:
        at = begin + tl.arange(0, ROWS)
        a, b, c, is_own = feasible_columns(
            objectives, violations, row_of(at, population, archive), at < size,
            number, second, third
        )  # fmt: skip
        before = tl.zeros([ROWS, COLUMNS], tl.int32)
        equal = tl.zeros([ROWS, COLUMNS], tl.int32)
        total = tl.zeros([], tl.int32)
        for start in range(0, size, COLUMNS):
            other = start + tl.arange(0, COLUMNS)
            d, e, f, is_there = feasible_columns(
                objectives, violations, row_of(other, population, archive), other < size,
                number, second, third
            )  # fmt: skip
            total += tl.sum(is_there.to(tl.int32), 0)
            is_level = (d[None, :] == a[:, None]) & is_there[None, :]
            is_even = is_level & (e[None, :] == b[:, None])
            is_before = (d[None, :] < a[:, None]) & is_there[None, :]
            is_before |= is_level & (e[None, :] < b[:, None])
            is_before |= is_even & (f[None, :] < c[:, None])
            is_same = is_even & (f[None, :] == c[:, None]) & (other[None, :] < at[:, None])
            before += is_before.to(tl.int32)
            equal += is_same.to(tl.int32)
        first = tl.sum(before, 1)
        tl.store(firsts + number * 2 * population + at, first, is_own)
        if number == 0:
            place = first + tl.sum(equal, 1)
            tl.store(order + place, at, is_own)
            tl.store(seconds + place, b, is_own)
            tl.store(thirds + place, c, is_own)
            tl.store(groups + place, first, is_own)
            tl.store(starts + place, 0, is_own)
            tl.store(fronts + at, -1, (at < size) & (is_own == 0))
            if begin == 0:
                tl.store(counts, total)
                tl.store(counts + 1, size)


@triton.jit
def slot_keys_kernel(objectives, violations, born, keys, fronts, counts, population, archive,
                     BLOCK: tl.constexpr):  # fmt: skip
    """Keys [3, N] of each objective by slot, behind all others for who is not feasible."""
    size = population + tl.load(born)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, is_own = feasible_columns(
        objectives, violations, row_of(at, population, archive), at < size, 0, 1, 2
    )
    is_slot = at < 2 * population
    tl.store(keys + at, tl.where(is_own, key_of(a), LAST), is_slot)
    tl.store(keys + 2 * population + at, tl.where(is_own, key_of(b), LAST), is_slot)
    tl.store(keys + 4 * population + at, tl.where(is_own, key_of(c), LAST), is_slot)
    tl.store(fronts + at, -1, is_slot)
    if tl.program_id(0) == 0:
        tl.store(counts + 1, size)


@triton.jit
def bits_kernel(seconds, thirds, groups, count, bits, TARGETS: tl.constexpr):
    """Who dominates whom within each block of places; grid (blocks, words, parts of targets).

    bits: [B, 32, BLOCK], bit t of word w is set where the member 32 w + t of the block dominates.
    """
    n = tl.load(count)
    base = tl.program_id(0) * BLOCK
    begin = base + tl.program_id(2) * TARGETS
    if begin < n:
        word = tl.program_id(1)
        target = begin + tl.arange(0, TARGETS)
        lane = tl.arange(0, 32)
        source = base + word * 32 + lane
        y = tl.load(seconds + target, target < n, 0.0)[:, None]
        z = tl.load(thirds + target, target < n, 0.0)[:, None]
        group = tl.load(groups + target, target < n, 0)[:, None]
        is_better = (source[None, :] < target[:, None]) & (source[None, :] < n)
        is_better &= tl.load(seconds + source, source < n, 0.0)[None, :] <= y
        is_better &= tl.load(thirds + source, source < n, 0.0)[None, :] <= z
        is_better &= tl.load(groups + source, source < n, 0)[None, :] != group
        bits_of = tl.sum(is_better.to(tl.uint32) << lane[None, :], 1).to(tl.int32, bitcast=True)
        p_out = bits + (tl.program_id(0).to(tl.int64) * 32 + word) * BLOCK
        tl.store(p_out + (target - base), bits_of)


@triton.jit
def packed(flags):
    """32 words of 32 bits each, of flags [BLOCK].

    Transposed, because a compiler then leaves the words of a tile with one thread.
    """
    word = tl.arange(0, 32)
    return tl.sum(tl.trans(tl.reshape(flags.to(tl.uint32), (32, 32))) << word[:, None], 0)


@triton.jit(do_not_specialize=["block"])
def peel_kernel(bits, order, count, starts, fronts, block):
    """Fronts of a block, from the lowest that each member may have; one program.

    starts: [N] by place, becomes the front. fronts: [N] receives the same by slot.
    """
    n = tl.load(count)
    base = block * BLOCK
    if base < n:
        lane = tl.arange(0, BLOCK)
        word = tl.arange(0, 32)
        shape = word[:, None] * BLOCK + lane[None, :]
        above = tl.load(bits + block.to(tl.int64) * 32 * BLOCK + shape)
        above = above.to(tl.uint32, bitcast=True)
        is_left = base + lane < n
        start = tl.load(starts + base + lane, is_left, 0)
        front = tl.zeros([BLOCK], tl.int32)
        number = tl.full([], -1, tl.int32)
        lowest = tl.full([], 0, tl.int32)
        while lowest < FURTHEST:
            mask = packed(is_left)
            is_ready = is_left & (tl.max(above & mask[:, None], 0) == 0)
            lowest = tl.min(tl.where(is_ready, start, FURTHEST), 0)
            number = tl.maximum(number + 1, lowest)
            is_next = is_ready & (start <= number)
            front = tl.where(is_next, number, front)
            is_left = is_left & (is_next == 0)
        is_there = base + lane < n
        tl.store(starts + base + lane, front, is_there)
        tl.store(fronts + tl.load(order + base + lane, is_there, 0), front, is_there)


@triton.jit(do_not_specialize=["block"])
def push_kernel(seconds, thirds, groups, count, starts, block, TARGETS: tl.constexpr,
                SOURCES: tl.constexpr):  # fmt: skip
    """Everybody after a block stands behind those of it who dominate them."""
    n = tl.load(count)
    base = block * BLOCK
    begin = base + BLOCK + tl.program_id(0) * TARGETS
    if begin < n:
        target = begin + tl.arange(0, TARGETS)
        y = tl.load(seconds + target, target < n, 0.0)[:, None]
        z = tl.load(thirds + target, target < n, 0.0)[:, None]
        group = tl.load(groups + target, target < n, 0)[:, None]
        lowest = tl.zeros([TARGETS, SOURCES], tl.int32)
        for first in range(0, BLOCK, SOURCES):
            source = base + first + tl.arange(0, SOURCES)
            is_better = tl.load(seconds + source)[None, :] <= y
            is_better &= tl.load(thirds + source)[None, :] <= z
            is_better &= tl.load(groups + source)[None, :] != group
            behind = tl.load(starts + source)[None, :] + 1
            lowest = tl.maximum(lowest, tl.where(is_better, behind, 0))
        start = tl.load(starts + target, target < n, 0)
        tl.store(starts + target, tl.maximum(start, tl.max(lowest, 1)), target < n)
