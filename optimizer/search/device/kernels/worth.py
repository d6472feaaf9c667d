"""What members of a front are worth, and who leaves it; the definition is `archive.thinned`.

A member has a seat, its place among the items of a launch, and a slot, seats from the last on, so
that of two that are worth the same the one in the lower slot leaves.

The box below the reference is cut at every z into slabs, and each slab at every x into strips. Of
the members that cover a strip the one with the least y alone covers what lies up to the second
least. A lane has a slab and walks along x; it keeps the least, the second least, the slot of the
least and the area that this one has gathered, and adds area times height to a worth when another
takes its place. Whoever lies above all slabs of a program, or beyond all that its lanes keep,
changes nothing and is passed over, a group of members at a time. The walk is cut into segments: a
first pass finds what each would keep by itself, a second begins with what all before it kept.

All numbers are whole, so that the order in which programs add does not matter.
"""

import triton
import triton.language as tl

LAST = tl.constexpr(0x7FFFFFFFFFFFFFFF)
"""Of a slot without a member, so that it never leaves."""

BEST = tl.constexpr(0x7FFFFFFFFFFFFFFE)
"""What the best in an objective is worth, above all volumes."""

CELLS = tl.constexpr(1 << 20)
FAR = tl.constexpr(0x7FFFFFFF)
NONE = tl.constexpr(-1)


@triton.jit
def sizes_of(count, keep, turn, ROUNDS: tl.constexpr):
    """Members at first, when a round begins, and how many leave in it; none when there are few."""
    n = tl.load(count).to(tl.int32)
    kept = tl.load(keep).to(tl.int32)
    step = (tl.maximum(n - kept, 0) + ROUNDS - 1) // ROUNDS
    left = n - turn * step
    return n, left, tl.minimum(step, left - kept)


@triton.jit
def cell_of(value, low, high, is_there):
    """Whole cells [.] of objectives [.] in units of the front's extent."""
    half = low * 0.5
    extent = high * 0.5 - half
    scaled = (value * 0.5 - half) / tl.where(extent > 0, extent, 1.0)
    return (tl.where(is_there, scaled, 0.0) * CELLS).to(tl.int32)


@triton.jit
def is_before(value, seat, other, other_seat):
    """Who of others [., N] comes before members [M, .] in an objective, the earlier of equals."""
    return (other < value) | ((other == value) & (other_seat < seat))


@triton.jit
def member_of(objectives, items, stays, at, n, IS_FIRST: tl.constexpr):
    """Row and objectives of seats [.], and which of them have a member that has not left."""
    is_there = at < n
    row = tl.load(items + at, is_there, 0).to(tl.int64)
    if not IS_FIRST:
        is_there = is_there & (tl.load(stays + row, is_there, 0) != 0)
    p_row = objectives + row * 3
    return (
        row,
        tl.load(p_row, is_there, 0.0),
        tl.load(p_row + 1, is_there, 0.0),
        tl.load(p_row + 2, is_there, 0.0),
        is_there,
    )


@triton.jit(do_not_specialize=["turn"])
def rank_kernel(objectives, items, count, keep, turn, stays, xs, ys, slabs, slots, heights, worth,
                reference, room, ROUNDS: tl.constexpr, IS_FIRST: tl.constexpr, ROWS: tl.constexpr,
                COLUMNS: tl.constexpr):  # fmt: skip
    """Begin a round of few: one program finds the places of `ROWS` members by counting.

    By place in the order of x: xs and ys [room + 1], cells, the last x the reference; slabs [room],
    places in the order of z; slots [room]. heights [room + 1], z by place in its order. worth
    [room + 1] by slot becomes 0; what the best get goes to the last slot. In the first round stays
    becomes 1 for everybody.
    """
    n, left, leaving = sizes_of(count, keep, turn, ROUNDS)
    begin = tl.program_id(0) * ROWS
    at = begin + tl.arange(0, ROWS)
    if begin < n:
        row, x, y, z, is_own = member_of(objectives, items, stays, at, n, IS_FIRST)
        if IS_FIRST:
            tl.store(stays + row, tl.full([ROWS], 1, tl.int8), is_own)
        if leaving > 0:
            x_place = tl.zeros([ROWS], tl.int32)
            y_place = tl.zeros([ROWS], tl.int32)
            z_place = tl.zeros([ROWS], tl.int32)
            x_low = tl.full([COLUMNS], float("inf"), tl.float64)
            y_low = tl.full([COLUMNS], float("inf"), tl.float64)
            z_low = tl.full([COLUMNS], float("inf"), tl.float64)
            x_high = tl.full([COLUMNS], float("-inf"), tl.float64)
            y_high = tl.full([COLUMNS], float("-inf"), tl.float64)
            z_high = tl.full([COLUMNS], float("-inf"), tl.float64)
            for start in range(0, n, COLUMNS):
                other = start + tl.arange(0, COLUMNS)
                _, a, b, c, is_there = member_of(objectives, items, stays, other, n, IS_FIRST)
                x_low = tl.where(is_there, tl.minimum(x_low, a), x_low)
                y_low = tl.where(is_there, tl.minimum(y_low, b), y_low)
                z_low = tl.where(is_there, tl.minimum(z_low, c), z_low)
                x_high = tl.where(is_there, tl.maximum(x_high, a), x_high)
                y_high = tl.where(is_there, tl.maximum(y_high, b), y_high)
                z_high = tl.where(is_there, tl.maximum(z_high, c), z_high)
                seat, seats, there = at[:, None], other[None, :], is_there[None, :]
                x_before = is_before(x[:, None], seat, a[None, :], seats) & there
                y_before = is_before(y[:, None], seat, b[None, :], seats) & there
                z_before = is_before(z[:, None], seat, c[None, :], seats) & there
                x_place += tl.sum(x_before.to(tl.int32), 1)
                y_place += tl.sum(y_before.to(tl.int32), 1)
                z_place += tl.sum(z_before.to(tl.int32), 1)
            slot = n - 1 - at
            is_best = (x_place == 0) | (y_place == 0) | (z_place == 0)
            tl.store(worth + slot, tl.where(is_own, tl.where(is_best, BEST, 0), LAST), at < n)
            tl.store(slots + x_place, tl.where(is_best, room, slot), is_own)
            tl.store(slabs + x_place, z_place, is_own)
            x_cell = cell_of(x, tl.min(x_low, 0), tl.max(x_high, 0), is_own)
            y_cell = cell_of(y, tl.min(y_low, 0), tl.max(y_high, 0), is_own)
            z_cell = cell_of(z, tl.min(z_low, 0), tl.max(z_high, 0), is_own)
            tl.store(xs + x_place, x_cell, is_own)
            tl.store(ys + x_place, y_cell, is_own)
            tl.store(heights + z_place, z_cell, is_own)
            if begin == 0:
                tl.store(xs + left, reference)
                tl.store(heights + left, reference)


@triton.jit(do_not_specialize=["turn"])
def walk_kernel(count, keep, turn, xs, ys, slabs, slots, heights, state, worth, reference, room,
                ROUNDS: tl.constexpr, IS_FIRST: tl.constexpr, SEGMENTS: tl.constexpr,
                GROUP: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Walk along x; grid (blocks of slabs, `SEGMENTS`).

    state: [3, SEGMENTS, room] int32, least y, second least y and slot of the least, of each segment
    by itself: written by the first pass, read by the second, which adds to worth.
    """
    _, n, leaving = sizes_of(count, keep, turn, ROUNDS)
    base = tl.program_id(0) * LANES
    segment = tl.program_id(1)
    length = (n + SEGMENTS - 1) // SEGMENTS
    begin = segment * length
    if (leaving > 0) & (base < n) & (begin < n):
        end = tl.minimum(begin + length, n)
        slab = base + tl.arange(0, LANES)
        top = tl.minimum(base + LANES, n) - 1
        height = tl.load(heights + slab + 1, slab < n, 0) - tl.load(heights + slab, slab < n, 0)
        least = tl.full([LANES], 0, tl.int32) + reference
        second = least
        owner = tl.full([LANES], NONE, tl.int32)
        area = tl.zeros([LANES], tl.int64)
        if not IS_FIRST:
            before = tl.arange(0, SEGMENTS)[:, None]
            p_state = state + before * room + slab[None, :]
            is_there = (before < segment) & (slab < n)[None, :]
            first = tl.load(p_state, is_there, reference)
            next_ = tl.load(p_state + SEGMENTS * room, is_there, reference)
            whose = tl.load(p_state + 2 * SEGMENTS * room, is_there, NONE)
            least = tl.min(first, 0)
            is_least = first == least[None, :]
            owner = tl.max(tl.where(is_least, whose, NONE), 0)
            second = tl.min(tl.where(is_least, next_, first), 0)
            second = tl.where(tl.sum(is_least.to(tl.int32), 0) > 1, least, second)
        last = tl.load(xs + begin)
        for start in range(begin, end, GROUP):
            at = start + tl.arange(0, GROUP)
            y = tl.load(ys + at, at < end, FAR)
            is_in = tl.load(slabs + at, at < end, FAR) <= top
            member = tl.min(tl.where(is_in & (y < tl.max(second, 0)), at, FAR), 0)
            while member < FAR:
                new = tl.load(ys + member)
                slot = tl.load(slots + member)
                new = tl.where(tl.load(slabs + member) <= slab, new, reference)
                is_new = new < least
                if not IS_FIRST:
                    x = tl.load(xs + member)
                    area += (second - least).to(tl.int64) * (x - last)
                    last = x
                    volume = area * height
                    is_told = is_new & (volume != 0)
                    low = tl.min(tl.where(is_told, owner, FAR), 0)
                    if low < FAR:
                        if low == tl.max(tl.where(is_told, owner, NONE), 0):
                            total = tl.sum(tl.where(is_told, volume, 0), 0)
                            tl.atomic_add(worth + low, total, sem="relaxed")
                        else:
                            tl.atomic_add(worth + owner, volume, is_told, sem="relaxed")
                    area = tl.where(is_new, 0, area)
                second = tl.minimum(second, tl.maximum(least, new))
                least = tl.minimum(least, new)
                owner = tl.where(is_new, slot, owner)
                is_next = is_in & (at > member) & (y < tl.max(second, 0))
                member = tl.min(tl.where(is_next, at, FAR), 0)
        if IS_FIRST:
            p_state = state + segment * room + slab
            tl.store(p_state, least, slab < n)
            tl.store(p_state + SEGMENTS * room, second, slab < n)
            tl.store(p_state + 2 * SEGMENTS * room, owner, slab < n)
        else:
            area += (second - least).to(tl.int64) * (tl.load(xs + end) - last)
            volume = area * height
            tl.atomic_add(worth + owner, volume, volume != 0, sem="relaxed")


@triton.jit(do_not_specialize=["turn"])
def leave_kernel(items, count, keep, turn, worth, stays, ROUNDS: tl.constexpr, ROWS: tl.constexpr,
                 COLUMNS: tl.constexpr):  # fmt: skip
    """End a round of few: of `ROWS` slots those leave who are among the least worth."""
    n, _, leaving = sizes_of(count, keep, turn, ROUNDS)
    begin = tl.program_id(0) * ROWS
    if (leaving > 0) & (begin < n):
        slot = begin + tl.arange(0, ROWS)
        own = tl.load(worth + slot, slot < n, LAST)
        before = tl.zeros([ROWS], tl.int32)
        for start in range(0, n, COLUMNS):
            other = start + tl.arange(0, COLUMNS)
            theirs = tl.load(worth + other, other < n, LAST)
            is_less = is_before(own[:, None], slot[:, None], theirs[None, :], other[None, :])
            before += tl.sum(is_less.to(tl.int32), 1)
        is_leaving = (slot < n) & (before < leaving)
        row = tl.load(items + n - 1 - slot, is_leaving, 0).to(tl.int64)
        tl.store(stays + row, tl.zeros([ROWS], tl.int8), is_leaving)
