"""Keys that compare as numbers do, places by counting who comes before, and what is kept."""

import triton
import triton.language as tl


@triton.jit
def key_of(value):
    """Whole numbers [.] int64 that compare as float64 numbers do; none is NaN."""
    bits = (value + 0.0).to(tl.int64, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFFFFFFFFFF, bits)


@triton.jit
def keys_kernel(values, keys, size, BLOCK: tl.constexpr):
    """Keys [size] of numbers [size]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_there = at < size
    tl.store(keys + at, key_of(tl.load(values + at, is_there, 0.0)), is_there)


@triton.jit
def order_kernel(keys, order, count, out, size, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One program places `ROWS` entries of one of several rows of `size`."""
    n = tl.load(count).to(tl.int32)
    first = tl.program_id(0) * ROWS
    if first < n:
        shift = tl.program_id(1).to(tl.int64) * size
        at = first + tl.arange(0, ROWS)
        own = tl.load(order + shift + at, at < n, 0)
        key = tl.load(keys + shift + own, at < n, 0)
        before = tl.zeros([ROWS], tl.int32)
        for begin in range(0, n, COLUMNS):
            other = begin + tl.arange(0, COLUMNS)
            is_there = other < n
            others = tl.load(keys + shift + tl.load(order + shift + other, is_there, 0), is_there)
            is_before = (others[None, :] < key[:, None]) | (
                (others[None, :] == key[:, None]) & (other[None, :] < at[:, None])
            )
            before += tl.sum((is_before & is_there[None, :]).to(tl.int32), axis=1)
        tl.store(out + shift + before, own, at < n)


@triton.jit
def select_kernel(flags, items, count, out, found, CHUNK: tl.constexpr):
    """One program goes through everything, `CHUNK` entries at a time."""
    n = tl.load(count).to(tl.int32)
    total = tl.zeros([], tl.int32)
    for begin in range(0, n, CHUNK):
        at = begin + tl.arange(0, CHUNK)
        item = tl.load(items + at, at < n, 0)
        flag = (tl.load(flags + item, at < n, 0) != 0).to(tl.int32)
        place = total + tl.cumsum(flag, 0) - flag
        tl.store(out + place, item, flag != 0)
        total += tl.sum(flag, 0)
    tl.store(found, total)
