"""Crowding distances in fronts, and what decides who stands before whom.

A member has one key for each objective, which rises with its front, then with its place by the
objective, then with its own number. Its neighbours in the front have the next keys.
"""

import triton
import triton.language as tl

from optimizer.search.device.kernels.fronts import LAST, row_of
from optimizer.search.device.kernels.places import key_of

WIDTH = tl.constexpr(20)
MEMBER = tl.constexpr((1 << 20) - 1)
WITHIN = tl.constexpr((1 << 40) - 1)
INFINITE = tl.constexpr(float("inf"))


@triton.jit
def member_keys(fronts, slots, p_first, at, size):
    """Fronts and keys of numbers [.], both negative where there is nobody feasible."""
    front = tl.load(fronts + at, at < size, -1)
    slot = tl.load(slots + at, at < size, 0)
    first = tl.load(p_first + slot, at < size, 0).to(tl.int64)
    key = (((front.to(tl.int64) << WIDTH) | first) << WIDTH) | at.to(tl.int64)
    return front, tl.where(front < 0, -1, key)


@triton.jit
def value_of(p_column, key, is_there, population, archive):
    """Objective of the member that a key ends with."""
    row = row_of((key & MEMBER).to(tl.int32), population, archive)
    return tl.load(p_column + row * 3, is_there, 0.0)


@triton.jit
def gap_of(p_column, low, before, after, high, is_inner, population, archive):
    """What an objective gives, from keys of the ends of a front and of both neighbours."""
    lowest = value_of(p_column, low, is_inner, population, archive)
    highest = value_of(p_column, high, is_inner, population, archive)
    extent = 3 * (highest - lowest)
    gap = value_of(p_column, after, is_inner, population, archive)
    gap -= value_of(p_column, before, is_inner, population, archive)
    return tl.where(is_inner, gap / tl.where(extent > 0, extent, INFINITE), INFINITE)


@triton.jit
def searched_distance(objectives, fronts, slots, firsts, at, size, population, archive, stride,
                      ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Crowding distances of numbers [ROWS]; everybody is asked who is a neighbour."""
    distance = tl.zeros([ROWS], tl.float64)
    for number in tl.static_range(3):
        front, own = member_keys(fronts, slots, firsts + number * stride, at, size)
        low = tl.full([ROWS, COLUMNS], LAST, tl.int64)
        after = tl.full([ROWS, COLUMNS], LAST, tl.int64)
        before = tl.full([ROWS, COLUMNS], -1, tl.int64)
        high = tl.full([ROWS, COLUMNS], -1, tl.int64)
        for begin in range(0, size, COLUMNS):
            other = begin + tl.arange(0, COLUMNS)
            others, keys = member_keys(fronts, slots, firsts + number * stride, other, size)
            is_near = (others[None, :] == front[:, None]) & (others[None, :] >= 0)
            keys, key = keys[None, :], own[:, None]
            from_here = tl.where(is_near, keys, LAST)
            up_to_here = tl.where(is_near, keys, -1)
            low = tl.minimum(low, from_here)
            high = tl.maximum(high, up_to_here)
            after = tl.minimum(after, tl.where(keys > key, from_here, LAST))
            before = tl.maximum(before, tl.where(keys < key, up_to_here, -1))
        next_key, last_key = tl.min(after, 1), tl.max(before, 1)
        distance += gap_of(
            objectives + number,
            tl.min(low, 1),
            last_key,
            next_key,
            tl.max(high, 1),
            (last_key >= 0) & (next_key < LAST),
            population,
            archive,
        )
    return distance


@triton.jit
def distance_of(objectives, fronts, slots, firsts, gaps, at, size, population, archive, stride,
                IS_KNOWN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Crowding distances of numbers [ROWS], from gaps [3, N] where they are known."""
    if IS_KNOWN:
        distance = tl.zeros([ROWS], tl.float64)
        for number in tl.static_range(3):
            distance += tl.load(gaps + number * stride + at, at < size, 0.0)
    else:
        distance = searched_distance(
            objectives, fronts, slots, firsts, at, size, population, archive, stride, ROWS, COLUMNS
        )
    return distance


@triton.jit
def crowding_kernel(objectives, fronts, slots, firsts, gaps, count, crowding, population, archive,
                    stride, IS_KNOWN: tl.constexpr, ROWS: tl.constexpr,
                    COLUMNS: tl.constexpr):  # fmt: skip
    """Crowding distances, 0 for who is not feasible; grid (blocks of numbers)."""
    size = tl.load(count)
    begin = tl.program_id(0) * ROWS
    if begin < size:
        at = begin + tl.arange(0, ROWS)
        distance = distance_of(
            objectives, fronts, slots, firsts, gaps, at, size, population, archive, stride,
            IS_KNOWN, ROWS, COLUMNS
        )  # fmt: skip
        front = tl.load(fronts + at, at < size, -1)
        tl.store(crowding + at, tl.where(front < 0, 0.0, distance), at < size)


@triton.jit
def standing_kernel(objectives, violations, fronts, slots, firsts, order, gaps, count, classes,
                    details, population, archive, stride, IS_KNOWN: tl.constexpr,
                    ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """What decides who stands before whom, by slot; grid (blocks of slots).

    classes: [N] receives the front; that of a copy comes after all fronts, and who is not feasible
    after those. details: [N] receives what rises with the violation, or falls with the crowding.
    """
    size = tl.load(count)
    begin = tl.program_id(0) * ROWS
    if begin < size:
        at = begin + tl.arange(0, ROWS)
        is_there = at < size
        distance = distance_of(
            objectives, fronts, slots, firsts, gaps, at, size, population, archive, stride,
            IS_KNOWN, ROWS, COLUMNS
        )  # fmt: skip
        front = tl.load(fronts + at, is_there, -1)
        is_feasible = is_there & (front >= 0)
        first = tl.load(firsts + at, is_feasible, 0)
        is_copy = tl.load(order + first, is_feasible, 0) != at
        group = tl.where(is_feasible, tl.where(is_copy, 1, 0), 2)
        violation = tl.load(violations + row_of(at, population, archive), is_there, 0.0)
        detail = tl.where(is_feasible, ~(distance.to(tl.int64, bitcast=True)), key_of(violation))
        tl.store(classes + at, (group.to(tl.int64) << WIDTH) | tl.maximum(front, 0), is_there)
        tl.store(details + at, detail, is_there)


@triton.jit
def member_keys_kernel(fronts, slots, firsts, count, keys, stride, BLOCK: tl.constexpr):
    """Keys [3, N] of everybody, with the objective before the front; behind all for the others."""
    size = tl.load(count)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for number in tl.static_range(3):
        front, key = member_keys(fronts, slots, firsts + number * stride, at, size)
        key |= number << 60
        tl.store(keys + number * stride + at, tl.where(front < 0, LAST, key), at < stride)


@triton.jit
def place_of(keys, key, total, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """How many of sorted keys [total] are smaller than keys [BLOCK]."""
    low = tl.zeros([BLOCK], tl.int32)
    high = low + total
    for _ in range(STEPS):
        middle = (low + high) // 2
        is_open = low < high
        is_smaller = tl.load(keys + middle, is_open, LAST) < key
        low = tl.where(is_open & is_smaller, middle + 1, low)
        high = tl.where(is_open & (is_smaller == 0), middle, high)
    return low


@triton.jit
def gaps_kernel(keys, objectives, gaps, population, archive, stride, STEPS: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """Gaps [3, N] of each objective from sorted keys [3 N]; grid (blocks of keys)."""
    total = 3 * stride
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + at, at < total, LAST)
    is_there = key < LAST
    first = place_of(keys, (key | WITHIN) - WITHIN, total, STEPS, BLOCK)
    last = place_of(keys, key | WITHIN, total, STEPS, BLOCK) - 1
    is_inner = is_there & (at > first) & (at < last)
    number = (key >> 60).to(tl.int32)
    gap = gap_of(
        objectives + number,
        tl.load(keys + first, is_inner, 0),
        tl.load(keys + at - 1, is_inner, 0),
        tl.load(keys + at + 1, is_inner, 0),
        tl.load(keys + last, is_inner, 0),
        is_inner,
        population,
        archive,
    )
    tl.store(gaps + number * stride + (key & MEMBER), gap, is_there)
