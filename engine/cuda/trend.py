"""The adaptive trend on the device: averages, their sides, what following them earned, the row.

Windows are summed block beside block, chains run one lane an average, sides follow from a scan,
equities run one lane a family. Same numbers as `strategy.indicators.adaptive_trend`, bit for bit.
No branch inside a loop: see `engine.cuda.claims.value_of`.
"""

import triton
import triton.language as tl

MEAN = tl.constexpr(0)
WEIGHTED = tl.constexpr(1)
LINE = tl.constexpr(2)
PATH = tl.constexpr(3)
"""What a window becomes; a path is the plain sum of steps, which need no anchor."""


@triton.jit
def window_kernel(p_values, value_stride, p_lengths, p_left, p_left2, p_out, n_bars,
                  FORM: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Windows of one average; grid (averages, shares of its blocks), a lane a block.

    p_values: [A, value_stride], stride 0 where all read the same. p_left, p_left2: [A, n_bars],
    sums backwards from each block's border, for this kernel alone. p_out: [A, n_bars], NaN before
    the first whole window.
    """
    i_average = tl.program_id(0).to(tl.int64)
    n = tl.load(p_lengths + i_average)
    p_value = p_values + i_average * value_stride
    p_first, p_second = p_left + i_average * n_bars, p_left2 + i_average * n_bars
    border = (tl.program_id(1) * LANES + tl.arange(0, LANES)).to(tl.int64) * n
    m_block = border < n_bars
    zero = tl.zeros([LANES], tl.float64)
    whole = tl.zeros([LANES], tl.int64)
    anchor = zero
    if FORM != PATH:
        anchor = tl.load(p_value + border, mask=m_block, other=0.0)
    total = zero
    total2 = zero
    for i in range(1, n):
        at = border - i
        m = m_block & (at >= 0)
        total = total + (tl.load(p_value + at, mask=m, other=0.0) - anchor)
        total2 = total2 + total
        tl.store(p_first + at, total, mask=m)
        tl.store(p_second + at, total2, mask=m)
    total = zero
    total2 = zero
    for i in range(n):
        t = border + i
        m = m_block & (t < n_bars)
        k = whole + (n - 1 - i)
        d = tl.load(p_value + t, mask=m, other=0.0) - anchor
        total = total + d
        total2 = total2 + (whole + (i + 1)).to(tl.float64) * d
        # A window that ends with its block has no left part.
        m_left = m & (k > 0) & (border - k >= 0)
        left = tl.load(p_first + border - k, mask=m_left, other=0.0)
        left2 = tl.load(p_second + border - k, mask=m_left, other=0.0)
        plain = left + total
        weighted = (left2 + k.to(tl.float64) * total) + total2
        count = (whole + n).to(tl.float64)
        weights = ((whole + n) * (whole + n + 1) // 2).to(tl.float64)
        if FORM == MEAN:
            found = anchor + plain / count
        elif FORM == WEIGHTED:
            found = anchor + weighted / weights
        elif FORM == LINE:
            found = anchor + (3.0 * (weighted / weights) - 2.0 * (plain / count))
        else:
            found = plain
        found = tl.where(t >= n - 1, found, float("nan"))
        tl.store(p_out + i_average * n_bars + t, found, mask=m)


@triton.jit
def chain_kernel(p_close, p_lengths, p_weights, p_seeds, p_out, n_averages, n_bars,
                 IS_DOUBLE: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Exponential averages, a lane each; grid (shares of averages).

    p_seeds: [A] the mean of the first values. p_out: [n_bars, A], NaN before the seed.
    """
    o_average = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_average < n_averages
    last = tl.load(p_lengths + o_average, mask=m, other=1) - 1
    alpha = tl.load(p_weights + o_average, mask=m, other=0.0)
    seed = tl.load(p_seeds + o_average, mask=m, other=0.0)
    y = seed
    z = seed
    for t in range(n_bars):
        price = tl.load(p_close + t)
        is_after = last < t
        y = tl.where(is_after, y + alpha * (price - y), seed)
        z = tl.where(is_after, z + alpha * (y - z), y)
        found = y
        if IS_DOUBLE:
            found = 2.0 * y - z
        found = tl.where(last <= t, found, float("nan"))
        p_row = p_out + tl.cast(t, tl.int64) * n_averages
        tl.store(p_row + o_average, found, mask=m)


@triton.jit
def kaufman_kernel(p_close, p_lengths, p_paths, p_factors, p_out, n_averages, n_bars,
                   FROM_ZERO: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Kaufman's averages, a lane each; grid (shares of averages).

    p_paths: [A, n_bars] sums of steps. p_factors: what a straight path adds to the factor, and the
    factor of one that leads nowhere. p_out: [n_bars, A].
    """
    quickest, slowest = tl.load(p_factors), tl.load(p_factors + 1)
    o_average = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_average < n_averages
    n = tl.load(p_lengths + o_average, mask=m, other=1)
    k = tl.zeros([LANES], tl.float64)
    if not FROM_ZERO:
        k = k + tl.load(p_close)
    for t in range(n_bars):
        price = tl.load(p_close + t)
        is_whole = n <= t
        path = tl.load(p_paths + o_average.to(tl.int64) * n_bars + t, mask=m & is_whole, other=0.0)
        before = tl.load(p_close + (t - n), mask=m & is_whole, other=0.0)
        is_way = path > 0.0
        efficiency = tl.where(is_way, tl.abs(price - before) / tl.where(is_way, path, 1.0), 0.0)
        factor = efficiency * quickest + slowest
        moved = k + factor * factor * (price - k)
        k = moved if FROM_ZERO else tl.where(is_whole, moved, k)
        p_row = p_out + tl.cast(t, tl.int64) * n_averages
        tl.store(p_row + o_average, k, mask=m)


@triton.jit
def side_of(price, average, band):
    """1 above the average, -1 below, 0 within the band."""
    d = price - average
    width = price * band
    return tl.where(d > width, 1, tl.where(d < -width, -1, 0))


@triton.jit
def newer(left, right):
    """The later one of two sides that is one."""
    return tl.where(right != 0, right, left)


@triton.jit
def sides_kernel(p_close, p_averages, average_stride, bar_stride, p_known, p_band, p_codes, n_bars,
                 TILE: tl.constexpr):  # fmt: skip
    """The side of one average at each bar, plus 1; grid (averages).

    p_averages: by their strides. p_known: [A] first bar at which each is known. p_codes: [A,
    n_bars] uint8.
    """
    i_average = tl.program_id(0).to(tl.int64)
    p_average = p_averages + i_average * average_stride
    known, band = tl.load(p_known + i_average), tl.load(p_band)
    o_tile = tl.arange(0, TILE)
    carry = tl.zeros([1], tl.int32)
    for start in range(0, n_bars, TILE):
        t = (start + o_tile).to(tl.int64)
        m = t < n_bars
        m_before = m & (t > known)
        price = tl.load(p_close + t, mask=m, other=0.0)
        average = tl.load(p_average + t * bar_stride, mask=m, other=0.0)
        price_before = tl.load(p_close + t - 1, mask=m_before, other=0.0)
        average_before = tl.load(p_average + (t - 1) * bar_stride, mask=m_before, other=0.0)
        side = side_of(price, average, band)
        is_new = m_before & (side != side_of(price_before, average_before, band))
        taken = tl.associative_scan(tl.where(is_new, side, 0), 0, newer)
        taken = tl.where(taken != 0, taken, carry)
        tl.store(p_codes + i_average * n_bars + t, (taken + 1).to(tl.uint8), mask=m)
        carry = tl.zeros([1], tl.int32) + tl.sum(tl.where(o_tile == TILE - 1, taken, 0), 0)


@triton.jit
def words_kernel(p_codes, p_places, p_words, n_families, n_bars,
                 LENGTHS: tl.constexpr, TILE: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """The sides of a family's averages as one word a bar; grid (tiles, shares of families).

    p_places: [L, LENGTHS] rows of p_codes [A, n_bars]. p_words: [n_bars, L] int32, two bits a
    side.
    """
    t = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)[:, None]
    o_family = (tl.program_id(1) * LANES + tl.arange(0, LANES))[None, :]
    m = (t < n_bars) & (o_family < n_families)
    words = tl.zeros([TILE, LANES], tl.int32)
    for j in tl.static_range(LENGTHS):
        place = tl.load(p_places + o_family * LENGTHS + j, mask=o_family < n_families, other=0)
        code = tl.load(p_codes + place.to(tl.int64) * n_bars + t, mask=m, other=1)
        words = words | (code.to(tl.int32) << (2 * j))
    tl.store(p_words + t * n_families + o_family, words, mask=m)


@triton.jit
def steps_kernel(p_close, p_growth, p_flat, p_cutout, p_taylor, p_up, p_down, n_rows, n_bars,
                 TERMS: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """What a long and a short multiply an equity by; grid (tiles, rows).

    p_growth, p_flat, p_cutout: [U]. p_taylor: [TERMS]. p_up, p_down: [n_bars, U]; 1 at and before
    the cutout, where nothing is earned.
    """
    t = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)
    i_row = tl.program_id(1)
    cutout = tl.load(p_cutout + i_row).to(tl.int64)
    flat = tl.load(p_flat + i_row)
    m = t < n_bars
    m_step = m & (t > cutout)
    product = tl.load(p_growth + i_row).to(tl.int64) * (t - cutout)
    x = tl.where(product < 1000000, product.to(tl.float64) / 1000000.0, 1.0)
    g = tl.zeros([TILE], tl.float64) + tl.load(p_taylor + TERMS - 1)
    for k in tl.static_range(TERMS - 2, -1, -1):
        g = g * x + tl.load(p_taylor + k)
    price = tl.load(p_close + t, mask=m_step, other=1.0)
    before = tl.load(p_close + t - 1, mask=m_step, other=1.0)
    r = (price - before) / before * g
    tl.store(p_up + t * n_rows + i_row, tl.where(m_step, flat * (1.0 + r), 1.0), mask=m)
    tl.store(p_down + t * n_rows + i_row, tl.where(m_step, flat * (1.0 - r), 1.0), mask=m)


@triton.jit
def earned(equity, held, up, down, flat, floor: tl.constexpr):
    """An equity after a step with a side that was held: 2 is long, 0 is short."""
    after = equity * tl.where(held == 2, up, tl.where(held == 0, down, flat))
    return tl.where(after > floor, after, floor)


@triton.jit
def weighed(num, den, equity, side):
    """Sums of what an average says, and of its equity; sides as in `earned`."""
    return num + (side - 1).to(tl.float64) * equity, den + equity


@triton.jit
def votes_kernel(p_words, p_up, p_down, p_flat, p_cutout, p_votes, n_families, n_rows, n_bars,
                 FLOOR: tl.constexpr, PER_ROW: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Votes of families in whole hundredths, a lane a family; grid (shares of families).

    p_votes: [n_bars, L] int8; 0 before the cutout.
    """
    o_family = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_family < n_families
    o_row = o_family // PER_ROW
    cutout = tl.load(p_cutout + o_row, mask=m, other=0)
    still = tl.load(p_flat + o_row, mask=m, other=1.0)
    one = tl.zeros([LANES], tl.float64) + 1.0
    e0, e1, e2, e3, e4, e5, e6, e7, e8 = one, one, one, one, one, one, one, one, one
    held = tl.zeros([LANES], tl.int32)
    for t in range(n_bars):
        at = tl.cast(t, tl.int64)
        here = tl.load(p_words + at * n_families + o_family, mask=m, other=0)
        up = tl.load(p_up + at * n_rows + o_row, mask=m, other=1.0)
        down = tl.load(p_down + at * n_rows + o_row, mask=m, other=1.0)
        flat = tl.where(cutout < t, still, 1.0)
        e0 = earned(e0, held & 3, up, down, flat, FLOOR)
        e1 = earned(e1, (held >> 2) & 3, up, down, flat, FLOOR)
        e2 = earned(e2, (held >> 4) & 3, up, down, flat, FLOOR)
        e3 = earned(e3, (held >> 6) & 3, up, down, flat, FLOOR)
        e4 = earned(e4, (held >> 8) & 3, up, down, flat, FLOOR)
        e5 = earned(e5, (held >> 10) & 3, up, down, flat, FLOOR)
        e6 = earned(e6, (held >> 12) & 3, up, down, flat, FLOOR)
        e7 = earned(e7, (held >> 14) & 3, up, down, flat, FLOOR)
        e8 = earned(e8, (held >> 16) & 3, up, down, flat, FLOOR)
        num, den = weighed(one - one, one - one, e0, here & 3)
        num, den = weighed(num, den, e1, (here >> 2) & 3)
        num, den = weighed(num, den, e2, (here >> 4) & 3)
        num, den = weighed(num, den, e3, (here >> 6) & 3)
        num, den = weighed(num, den, e4, (here >> 8) & 3)
        num, den = weighed(num, den, e5, (here >> 10) & 3)
        num, den = weighed(num, den, e6, (here >> 12) & 3)
        num, den = weighed(num, den, e7, (here >> 14) & 3)
        num, den = weighed(num, den, e8, (here >> 16) & 3)
        is_finite = den < float("inf")
        share = tl.where(is_finite, num, 0.0) / den * 100.0
        vote = tl.where(share >= 0.0, share + 0.5, share - 0.5).to(tl.int32)
        vote = tl.where(is_finite & (cutout <= t), vote, 0)
        tl.store(p_votes + at * n_families + o_family, vote.to(tl.int8), mask=m)
        held = here


@triton.jit
def follow(equity, step, vote, up, down, flat, floor: tl.constexpr, REPEATS: tl.constexpr):
    """A family's equity after a step with the vote of the bar before, and that step."""
    other = flat
    if REPEATS:
        other = step
    step = tl.where(vote > 0, up, tl.where(vote < 0, down, other))
    after = equity * step
    return tl.where(after > floor, after, floor), step


@triton.jit
def cast_vote(num, den, equity, vote, most, least):
    """Sums of what a family says, and of its equity."""
    said = tl.where(vote > most, 1.0, tl.where(vote < least, -1.0, 0.0))
    return num + said * equity, den + equity


@triton.jit
def row_kernel(p_votes, p_up, p_down, p_flat, p_settings, p_starts, p_out, n_rows, n_bars,
               FLOOR: tl.constexpr, REPEATS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Rows from votes, a lane a row; grid (shares of rows).

    p_votes: [n_bars, 6 * U]. p_settings: [3, U] int32: cutout, and the hundredths above and below
    which a family votes. p_starts: [6, U] equities to begin with. p_out: [n_bars, U], NaN before
    the cutout.
    """
    o_row = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_row < n_rows
    cutout = tl.load(p_settings + o_row, mask=m, other=0)
    most = tl.load(p_settings + n_rows + o_row, mask=m, other=0)
    least = tl.load(p_settings + 2 * n_rows + o_row, mask=m, other=0)
    still = tl.load(p_flat + o_row, mask=m, other=1.0)
    e0 = tl.load(p_starts + o_row, mask=m, other=1.0)
    e1 = tl.load(p_starts + n_rows + o_row, mask=m, other=1.0)
    e2 = tl.load(p_starts + 2 * n_rows + o_row, mask=m, other=1.0)
    e3 = tl.load(p_starts + 3 * n_rows + o_row, mask=m, other=1.0)
    e4 = tl.load(p_starts + 4 * n_rows + o_row, mask=m, other=1.0)
    e5 = tl.load(p_starts + 5 * n_rows + o_row, mask=m, other=1.0)
    s0, s1, s2, s3, s4, s5 = still, still, still, still, still, still
    none = tl.zeros([LANES], tl.int32)
    v0, v1, v2, v3, v4, v5 = none, none, none, none, none, none
    zero = tl.zeros([LANES], tl.float64)
    for t in range(n_bars):
        at = tl.cast(t, tl.int64)
        up = tl.load(p_up + at * n_rows + o_row, mask=m, other=1.0)
        down = tl.load(p_down + at * n_rows + o_row, mask=m, other=1.0)
        is_later = cutout < t
        flat = tl.where(is_later, still, 1.0)
        # A step is repeated from the first that there was.
        n0, s0 = follow(e0, s0, v0, up, down, flat, FLOOR, REPEATS)
        n1, s1 = follow(e1, s1, v1, up, down, flat, FLOOR, REPEATS)
        n2, s2 = follow(e2, s2, v2, up, down, flat, FLOOR, REPEATS)
        n3, s3 = follow(e3, s3, v3, up, down, flat, FLOOR, REPEATS)
        n4, s4 = follow(e4, s4, v4, up, down, flat, FLOOR, REPEATS)
        n5, s5 = follow(e5, s5, v5, up, down, flat, FLOOR, REPEATS)
        e0 = tl.where(is_later, n0, e0)
        e1 = tl.where(is_later, n1, e1)
        e2 = tl.where(is_later, n2, e2)
        e3 = tl.where(is_later, n3, e3)
        e4 = tl.where(is_later, n4, e4)
        e5 = tl.where(is_later, n5, e5)
        p_vote = p_votes + (at * n_rows + o_row) * 6
        v0 = tl.load(p_vote, mask=m, other=0).to(tl.int32)
        v1 = tl.load(p_vote + 1, mask=m, other=0).to(tl.int32)
        v2 = tl.load(p_vote + 2, mask=m, other=0).to(tl.int32)
        v3 = tl.load(p_vote + 3, mask=m, other=0).to(tl.int32)
        v4 = tl.load(p_vote + 4, mask=m, other=0).to(tl.int32)
        v5 = tl.load(p_vote + 5, mask=m, other=0).to(tl.int32)
        num, den = cast_vote(zero, zero, e0, v0, most, least)
        num, den = cast_vote(num, den, e1, v1, most, least)
        num, den = cast_vote(num, den, e2, v2, most, least)
        num, den = cast_vote(num, den, e3, v3, most, least)
        num, den = cast_vote(num, den, e4, v4, most, least)
        num, den = cast_vote(num, den, e5, v5, most, least)
        is_finite = den < float("inf")
        found = tl.where(is_finite, tl.where(is_finite, num, 0.0) / den + 0.0, 0.0)
        found = tl.where(cutout <= t, found, float("nan"))
        tl.store(p_out + at * n_rows + o_row, found, mask=m)
