"""Rounds of thinning for many members, whose orders are sorted once and then filtered.

Names of arguments are those of `kernels.worth`.
"""

import triton
import triton.language as tl

from optimizer.search.device.kernels.places import key_of
from optimizer.search.device.kernels.worth import BEST, LAST, cell_of, sizes_of


@triton.jit
def begin_kernel(objectives, items, count, keep, stays, keys, worth, room,
                 BLOCK: tl.constexpr):  # fmt: skip
    """Everybody stays at first. keys: [3, room] by objective and seat. worth: without members."""
    n, _, leaving = sizes_of(count, keep, 0, 1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_there = at < n
    row = tl.load(items + at, is_there, 0).to(tl.int64)
    tl.store(stays + row, tl.full([BLOCK], 1, tl.int8), is_there)
    tl.store(worth + at, LAST, at < room)
    if leaving > 0:
        for objective in tl.static_range(3):
            key = key_of(tl.load(objectives + row * 3 + objective, is_there, 0.0))
            tl.store(keys + objective * room + at, key, is_there)


@triton.jit
def staying(order, items, stays, at, before):
    """Seats of an order in some places, and who of them has not left."""
    seat = tl.load(order + at, at < before, 0)
    row = tl.load(items + seat, at < before, 0).to(tl.int64)
    return seat, (at < before) & (tl.load(stays + row, at < before, 0) != 0)


@triton.jit(do_not_specialize=["turn"])
def count_kernel(orders, items, count, keep, turn, stays, counts, room, ROUNDS: tl.constexpr,
                 CHUNK: tl.constexpr, CHUNKS: tl.constexpr):  # fmt: skip
    """How many of `CHUNK` places of an order stay; grid (chunks, objectives)."""
    _, before, _ = sizes_of(count, keep, tl.maximum(turn - 1, 0), ROUNDS)
    _, _, leaving = sizes_of(count, keep, turn, ROUNDS)
    chunk, objective = tl.program_id(0), tl.program_id(1)
    if (leaving > 0) & (chunk * CHUNK < before):
        at = chunk * CHUNK + tl.arange(0, CHUNK)
        _seat, stay = staying(orders + objective * room, items, stays, at, before)
        tl.store(counts + objective * CHUNKS + chunk, tl.sum(stay.to(tl.int32), 0))


@triton.jit(do_not_specialize=["turn"])
def filter_kernel(orders, items, count, keep, turn, stays, counts, filtered, places, room,
                  ROUNDS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):  # fmt: skip
    """Orders [3, room] of those who stay; places [room] by seat in the last of them."""
    _, before, _ = sizes_of(count, keep, tl.maximum(turn - 1, 0), ROUNDS)
    _, _, leaving = sizes_of(count, keep, turn, ROUNDS)
    chunk, objective = tl.program_id(0), tl.program_id(1)
    if (leaving > 0) & (chunk * CHUNK < before):
        at = chunk * CHUNK + tl.arange(0, CHUNK)
        seat, stay = staying(orders + objective * room, items, stays, at, before)
        chunks = tl.arange(0, CHUNKS)
        earlier = tl.sum(tl.load(counts + objective * CHUNKS + chunks, chunks < chunk, 0), 0)
        place = earlier + tl.cumsum(stay.to(tl.int32), 0) - 1
        tl.store(filtered + objective * room + place, seat, stay)
        if objective == 2:
            tl.store(places + seat, place, stay)


@triton.jit
def value_of(objectives, items, seat, objective, is_there):
    """An objective of seats [.]."""
    row = tl.load(items + seat, is_there, 0).to(tl.int64)
    return tl.load(objectives + row * 3 + objective, is_there, 0.0)


@triton.jit
def cells_in(objectives, items, orders, room, seat, n, objective, is_there):
    """Cells of seats [.]; the extent is that of the ends of an order."""
    low = tl.load(orders + objective * room)
    high = tl.load(orders + objective * room + n - 1)
    return cell_of(
        value_of(objectives, items, seat, objective, is_there),
        value_of(objectives, items, low, objective, True),
        value_of(objectives, items, high, objective, True),
        is_there,
    )


@triton.jit(do_not_specialize=["turn"])
def place_kernel(objectives, items, count, keep, turn, orders, places, xs, ys, slabs, slots,
                 heights, worth, reference, room, ROUNDS: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """What `rank_kernel` writes, from orders."""
    n, left, leaving = sizes_of(count, keep, turn, ROUNDS)
    begin = tl.program_id(0) * BLOCK
    if (leaving > 0) & (begin < left):
        at = begin + tl.arange(0, BLOCK)
        is_there = at < left
        seat = tl.load(orders + at, is_there, 0)
        best = seat == tl.load(orders)
        best = best | (seat == tl.load(orders + room)) | (seat == tl.load(orders + 2 * room))
        slot = n - 1 - seat
        tl.store(worth + slot, tl.where(best, BEST, 0), is_there)
        tl.store(slots + at, tl.where(best, room, slot), is_there)
        tl.store(slabs + at, tl.load(places + seat, is_there, 0), is_there)
        x = cells_in(objectives, items, orders, room, seat, left, 0, is_there)
        tl.store(xs + at, x, is_there)
        y = cells_in(objectives, items, orders, room, seat, left, 1, is_there)
        tl.store(ys + at, y, is_there)
        seat = tl.load(orders + 2 * room + at, is_there, 0)
        z = cells_in(objectives, items, orders, room, seat, left, 2, is_there)
        tl.store(heights + at, z, is_there)
        if begin == 0:
            tl.store(xs + left, reference)
            tl.store(heights + left, reference)


@triton.jit(do_not_specialize=["turn"])
def mark_kernel(order, items, count, keep, turn, worth, stays, ROUNDS: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """End a round: those leave whose slots come first in an order [room] int64 by worth."""
    n, _, leaving = sizes_of(count, keep, turn, ROUNDS)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(order + at, at < leaving, 0)
    row = tl.load(items + n - 1 - slot, at < leaving, 0).to(tl.int64)
    tl.store(stays + row, tl.zeros([BLOCK], tl.int8), at < leaving)
    tl.store(worth + slot, LAST, at < leaving)
