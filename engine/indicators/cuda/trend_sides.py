"""The adaptive trend's averages on the device, and the sides that price takes of them.

Windows are summed block beside block. A chain runs alone, one lane an average, and leaves its state
where each segment of the series begins; from there all segments are walked beside each other. Sides
follow from a scan. Lane a * S + s is average a of series s. Same numbers as
`strategy.indicators.adaptive_trend`, bit for bit.
No branch inside a loop: see `engine.conditions.cuda.kernels.evaluate_formula`.
"""

import triton
import triton.language as tl

MEAN = tl.constexpr(0)
WEIGHTED = tl.constexpr(1)
WEIGHTED_AND_LINE = tl.constexpr(2)
FACTOR = tl.constexpr(3)
FACTOR_FROM_ZERO = tl.constexpr(4)
"""Values of a window; a factor is Kaufman's, of the plain sum of steps, which need no anchor."""


@triton.jit
def window_kernel(p_values, n_values, p_close, p_lengths, p_factors, p_left, p_left2, p_out,
                  p_line, n_series, n_bars, FORM: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Windows of one average; grid (averages of all series, shares of its blocks), a lane a block.

    p_values: [n_values, n_bars], those of the series, or of each average its own. p_factors: gain
    of the factor by a straight path, and its value on a path that leads nowhere. p_left, p_left2:
    [A * S, n_bars], sums backwards from each block's border, for this kernel alone. p_out: [A * S,
    n_bars], NaN before the first whole window; factors: [n_bars, A * S], 0 before it. p_line: the
    same, for the line beside the weighted mean.
    """
    i_average = tl.program_id(0).to(tl.int64)
    n = tl.load(p_lengths + i_average // n_series)
    p_value = p_values + i_average % n_values * n_bars
    p_price = p_close + i_average % n_series * n_bars
    p_first, p_second = p_left + i_average * n_bars, p_left2 + i_average * n_bars
    quickest, slowest = tl.load(p_factors), tl.load(p_factors + 1)
    border = (tl.program_id(1) * LANES + tl.arange(0, LANES)).to(tl.int64) * n
    m_block = border < n_bars
    zero = tl.zeros([LANES], tl.float64)
    whole = tl.zeros([LANES], tl.int64)
    anchor = zero
    if FORM < FACTOR:
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
        p_found = p_out + i_average * n_bars + t
        is_known = t >= n - 1
        if FORM == MEAN:
            value = anchor + plain / count
        elif FORM < FACTOR:
            value = anchor + weighted / weights
        else:
            is_whole = m & (t >= n)
            price = tl.load(p_price + t, mask=m, other=0.0)
            before = tl.load(p_price + t - n, mask=is_whole, other=0.0)
            is_way = is_whole & (plain > 0.0)
            share = tl.where(is_way, tl.abs(price - before) / tl.where(is_way, plain, 1.0), 0.0)
            factor = share * quickest + slowest
            value = factor * factor
            if FORM == FACTOR:
                value = tl.where(is_whole, value, 0.0)
            p_found = p_out + t * tl.num_programs(0) + i_average
        if FORM < FACTOR:
            value = tl.where(is_known, value, float("nan"))
        if FORM == WEIGHTED_AND_LINE:
            line = anchor + (3.0 * (weighted / weights) - 2.0 * (plain / count))
            line = tl.where(is_known, line, float("nan"))
            tl.store(p_line + i_average * n_bars + t, line, mask=m)
        tl.store(p_found, value, mask=m)


@triton.jit
def advance_averages(y, z, price, weight):
    """An average after a price, and the average of that average."""
    y = y + weight * (price - y)
    return y, z + weight * (y - z)


@triton.jit
def ahead(p_values, stride, first, COUNT: tl.constexpr):
    """Values of so many bars, loaded before a chain gets there; p_values: of bar 0."""
    p_value = p_values + tl.cast(first, tl.int64) * stride
    values = ()
    for _ in tl.static_range(COUNT):
        values = values + (tl.load(p_value),)  # type: ignore[assignment]  # noqa: RUF005
        p_value = p_value + stride
    return values


@triton.jit
def choose_weight(factor, is_kaufman, t, last, alpha):
    """How far an average follows the price of bar t; not at all before it begins."""
    return tl.where(is_kaufman, factor, tl.where(last < t, alpha, 0.0))


@triton.jit
def chain_kernel(p_close, p_lengths, p_alphas, p_factors, p_kept, p_kept2, n_lanes, n_kaufman,
                 n_from_zero, n_series, n_bars, longest, n_segments, SEGMENT: tl.constexpr,
                 UNROLL: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Averages that move with each price, a lane each; grid (shares of lanes).

    The first n_kaufman lanes are Kaufman's, and of these the last n_from_zero begin with 0.
    p_close: [S, n_bars], of whole segments. p_factors: [n_bars, n_kaufman]. p_kept, p_kept2:
    [n_segments, n_lanes] the average, and that of the average, before each segment.
    """
    o_lane = tl.minimum(tl.program_id(0) * LANES + tl.arange(0, LANES), n_lanes - 1)
    o_average = o_lane // n_series
    p_price = p_close + (o_lane % n_series).to(tl.int64) * n_bars
    n = tl.load(p_lengths + o_average)
    alpha = tl.load(p_alphas + o_average)
    first = tl.load(p_price)
    total = first - first
    for t in range(longest):
        d = tl.load(p_price + tl.minimum(t, n_bars - 1)) - first
        total = tl.where(t < n, total + d, total)
    is_kaufman = o_lane < n_kaufman
    y = tl.where(is_kaufman, first, first + total / n.to(tl.float64))
    y = tl.where(is_kaufman & (o_lane >= n_kaufman - n_from_zero), 0.0, y)
    z = y
    p_factor = p_factors + tl.maximum(tl.minimum(o_lane, n_kaufman - 1), 0)
    prices, factors = ahead(p_price, 1, 0, UNROLL), ahead(p_factor, n_kaufman, 0, UNROLL)
    for segment in range(n_segments):
        at = tl.cast(segment, tl.int64) * n_lanes + o_lane
        tl.store(p_kept + at, y)
        tl.store(p_kept2 + at, z)
        for block in range(SEGMENT // UNROLL):
            begin = segment * SEGMENT + block * UNROLL
            after = tl.minimum(begin + UNROLL, n_bars - UNROLL)
            prices2 = ahead(p_price, 1, after, UNROLL)
            factors2 = ahead(p_factor, n_kaufman, after, UNROLL)
            for i in tl.static_range(UNROLL):
                weight = choose_weight(factors[i], is_kaufman, begin + i, n - 1, alpha)
                y, z = advance_averages(y, z, prices[i], weight)
            prices, factors = prices2, factors2


@triton.jit
def averages_kernel(p_close, p_lengths, p_alphas, p_factors, p_kept, p_kept2, p_out, n_lanes,
                    n_kaufman, n_plain, n_series, n_bars, SEGMENT: tl.constexpr,
                    LANES: tl.constexpr):  # fmt: skip
    """Each bar of the averages of `chain_kernel`; grid (shares of lanes, segments).

    The first n_plain lanes are the average, the others twice that less the average of it. p_out:
    [n_bars, n_lanes], NaN before they begin.
    """
    o_lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_lane < n_lanes
    o_average = o_lane // n_series
    p_price = p_close + (o_lane % n_series).to(tl.int64) * n_bars
    is_kaufman = o_lane < n_kaufman
    last = tl.load(p_lengths + o_average, mask=m, other=1) - 1
    alpha = tl.load(p_alphas + o_average, mask=m, other=0.0)
    begin = tl.program_id(1).to(tl.int64)
    y = tl.load(p_kept + begin * n_lanes + o_lane, mask=m, other=0.0)
    z = tl.load(p_kept2 + begin * n_lanes + o_lane, mask=m, other=0.0)
    first = tl.program_id(1) * SEGMENT
    for i in range(SEGMENT):
        t = first + i
        factor = tl.load(p_factors + tl.cast(t, tl.int64) * n_kaufman + o_lane,
                         mask=is_kaufman, other=0.0)  # fmt: skip
        weight = choose_weight(factor, is_kaufman, t, last, alpha)
        y, z = advance_averages(y, z, tl.load(p_price + t, mask=m, other=1.0), weight)
        average = tl.where(o_lane < n_plain, y, 2.0 * y - z)
        average = tl.where(is_kaufman | (last <= t), average, float("nan"))
        tl.store(p_out + tl.cast(t, tl.int64) * n_lanes + o_lane, average, mask=m)


@triton.jit
def find_side(price, average, band):
    """1 above the average, -1 below, 0 within the band."""
    d = price - average
    width = price * band
    return tl.where(d > width, 1, tl.where(d < -width, -1, 0))


@triton.jit
def newer(left, right):
    """The later one of two sides that is one."""
    return tl.where(right != 0, right, left)


@triton.jit
def sides_kernel(p_close, p_averages, average_stride, bar_stride, p_rows, p_known, p_band, p_codes,
                 n_series, n_bars, TILE: tl.constexpr):  # fmt: skip
    """The side of one average at each bar, 2 long and 1 short; grid (averages of all series).

    p_averages: by their strides. p_rows, p_known: [A] number of each, and the first bar at
    which it is known. p_codes: [A * S, n_bars] uint8, 0 before the first side.
    """
    i_average = tl.program_id(0).to(tl.int64)
    row = tl.load(p_rows + i_average // n_series).to(tl.int64) * n_series + i_average % n_series
    p_average = p_averages + row * average_stride
    p_price = p_close + i_average % n_series * n_bars
    known, band = tl.load(p_known + i_average // n_series), tl.load(p_band)
    o_tile = tl.arange(0, TILE)
    carry = tl.zeros([1], tl.int32)
    for start in range(0, n_bars, TILE):
        t = (start + o_tile).to(tl.int64)
        m = t < n_bars
        m_before = m & (t > known)
        price = tl.load(p_price + t, mask=m, other=0.0)
        average = tl.load(p_average + t * bar_stride, mask=m, other=0.0)
        price_before = tl.load(p_price + t - 1, mask=m_before, other=0.0)
        average_before = tl.load(p_average + (t - 1) * bar_stride, mask=m_before, other=0.0)
        side = find_side(price, average, band)
        is_new = m_before & (side != find_side(price_before, average_before, band))
        taken = tl.associative_scan(tl.where(is_new, side, 0), 0, newer)
        taken = tl.where(taken != 0, taken, carry)
        code = tl.where(taken > 0, 2, tl.where(taken < 0, 1, 0))
        tl.store(p_codes + i_average * n_bars + t, code.to(tl.uint8), mask=m)
        carry = tl.zeros([1], tl.int32) + tl.sum(tl.where(o_tile == TILE - 1, taken, 0), 0)
