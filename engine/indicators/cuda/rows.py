"""Stage 1, rows: each distinct indicator row, float64, and its one-byte codes.

Series lie one after the other on one axis of bars, [B]; a slot is a row over a stretch of it, which
begins at `first_bar` and is `row_stride` long. Sources [B] lie one after the other in `p_columns`,
whole, and may be read eight bars past their ends. Tables of rows are int32, a column a row.
"""

import triton
import triton.language as tl


@triton.jit
def eight(p_values):
    """Eight values in a row, each of the shape of the pointers to the first."""
    return (
        tl.load(p_values),
        tl.load(p_values + 1),
        tl.load(p_values + 2),
        tl.load(p_values + 3),
        tl.load(p_values + 4),
        tl.load(p_values + 5),
        tl.load(p_values + 6),
        tl.load(p_values + 7),
    )


@triton.jit
def join_columns(x0, x1, x2, x3, x4, x5, x6, x7):
    """Eight columns [L] as one [L, 8]."""
    even = tl.join(tl.join(x0, x4), tl.join(x2, x6))
    odd = tl.join(tl.join(x1, x5), tl.join(x3, x7))
    return tl.reshape(tl.join(even, odd), (x0.shape[0], 8))


@triton.jit
def advance_ema(y, alpha, x0, x1, x2, x3, x4, x5, x6, x7):
    """The averages that follow y over eight values: y[t] = y[t-1] + alpha * (x[t] - y[t-1])."""
    y0 = y + alpha * (x0 - y)
    y1 = y0 + alpha * (x1 - y0)
    y2 = y1 + alpha * (x2 - y1)
    y3 = y2 + alpha * (x3 - y2)
    y4 = y3 + alpha * (x4 - y3)
    y5 = y4 + alpha * (x5 - y4)
    y6 = y5 + alpha * (x6 - y5)
    y7 = y6 + alpha * (x7 - y6)
    return y0, y1, y2, y3, y4, y5, y6, y7


@triton.jit(do_not_specialize=["width"])
def ema_kernel(p_columns, p_table, p_starts, p_ends, p_rows, p_before, first_bar, row_stride,
               n_bars, width, shortest, ROWS: tl.constexpr):  # fmt: skip
    """EMAs in segments, a lane a row; grid (segments, groups of ROWS rows, series).

    The first segment of a series is seeded by the law. Every other begins `early` bars before
    its own first bar with the bare value found there: two such averages of the same values come to
    agree in every bit, nearly always before the segment begins. `mend_kernel` sees to the rest.
    A chain of three dependent operations a bar is what this costs. Values are read eight bars
    ahead, so that the chain does not wait for them.

    p_table: [5, n] span, slot, source, bars of a segment, early bars; a group's rows share the last
    three; a slot of -1 is no row. p_before: [n, width] receives the value before each segment. The
    first segment's is read where the stretch begins within the series, and replaced with the last
    value that the segment computes, for the stretch after it. shortest: bars that no segment goes
    below. Series, segments and early bars are whole multiples of eight.
    """
    j = tl.program_id(0).to(tl.int64)
    i_series = tl.program_id(2)
    n_rows = tl.num_programs(1) * ROWS
    o_row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    p_common = p_table + 2 * n_rows + tl.program_id(1) * ROWS
    segment = tl.load(p_common + n_rows)
    start = tl.load(p_starts + i_series).to(tl.int64)
    end = tl.load(p_ends + i_series)
    begin = tl.maximum(start, first_bar) + j * segment
    stop = tl.minimum(tl.minimum(end, first_bar + row_stride), begin + segment)
    if begin >= stop:
        return
    span = tl.load(p_table + o_row)
    slot = tl.load(p_table + n_rows + o_row).to(tl.int64)
    i_segment = tl.where(slot >= 0, j, -1)
    alpha = 2.0 / (span.to(tl.float64) + 1.0)
    p_values = p_columns + tl.load(p_common).to(tl.int64) * n_bars
    # Each series has a place for every `shortest` bars that it begins, and one more.
    p_own = p_before + o_row.to(tl.int64) * width + start // shortest + i_series + j
    early = tl.load(p_common + 2 * n_rows)
    from_bar = tl.where(j > 0, tl.maximum(begin - early, start), begin)
    first_value = tl.load(p_own, mask=i_segment == 0, other=0.0)
    # At the bar that a bare value comes from the difference is exactly 0, which leaves it as it is.
    y = tl.where((j == 0) & (begin > start), first_value, tl.load(p_values + from_bar))
    x0, x1, x2, x3, x4, x5, x6, x7 = eight(p_values + from_bar)
    for t in range(from_bar, begin, 8):
        n0, n1, n2, n3, n4, n5, n6, n7 = eight(p_values + t + 8)
        y0, y1, y2, y3, y4, y5, y6, y = advance_ema(y, alpha, x0, x1, x2, x3, x4, x5, x6, x7)
        x0, x1, x2, x3, x4, x5, x6, x7 = n0, n1, n2, n3, n4, n5, n6, n7
    tl.store(p_own, y, mask=i_segment > 0)
    o_eight = tl.arange(0, 8)[None, :]
    p_out = p_rows + slot[:, None] * row_stride - first_bar
    for t in range(begin, stop, 8):
        n0, n1, n2, n3, n4, n5, n6, n7 = eight(p_values + t + 8)
        y0, y1, y2, y3, y4, y5, y6, y = advance_ema(y, alpha, x0, x1, x2, x3, x4, x5, x6, x7)
        o_bar = t + o_eight
        is_known = o_bar >= start + span[:, None] - 1
        tile = join_columns(y0, y1, y2, y3, y4, y5, y6, y)
        tl.store(p_out + o_bar, tl.where(is_known, tile, float("nan")),
                 mask=(slot[:, None] >= 0) & (o_bar < stop))  # fmt: skip
        x0, x1, x2, x3, x4, x5, x6, x7 = n0, n1, n2, n3, n4, n5, n6, n7
    tl.store(p_own, y, mask=i_segment == 0)


@triton.jit(do_not_specialize=["width"])
def mend_kernel(p_columns, p_table, p_starts, p_ends, p_rows, p_before, n_rows, n_bars, width,
                shortest, SEGMENTS: tl.constexpr, BARS: tl.constexpr):  # fmt: skip
    """Make EMAs in segments what they are in one chain; grid (rows, series), a warp each.

    The first segment is right. One whose value before it equals the last of the segment before, in
    every bit, is right if that one is. From the first that differs on, segment after segment: it is
    computed again from the true value, BARS at a time, until both agree, which leaves the rest as
    it is. Arguments as in `ema_kernel`; n_rows: n. SEGMENTS: of a series at most; each is a
    multiple of BARS and known from its first bar on, but for the first.
    """
    i_row = tl.program_id(0)
    slot = tl.load(p_table + n_rows + i_row).to(tl.int64)
    if slot < 0:
        return
    i_series = tl.program_id(1)
    start = tl.load(p_starts + i_series).to(tl.int64)
    end = tl.load(p_ends + i_series)
    segment = tl.load(p_table + 3 * n_rows + i_row)
    p_own = p_before + i_row.to(tl.int64) * width + start // shortest + i_series
    p_out = p_rows + slot * n_bars
    o_segment = tl.arange(0, SEGMENTS)
    begin = start + o_segment * segment.to(tl.int64)
    m_segment = (o_segment > 0) & (begin < end)
    assumed = tl.load(p_own + o_segment, mask=m_segment, other=0.0)
    value = tl.load(p_out + begin - 1, mask=m_segment, other=0.0)
    differs = assumed.to(tl.int64, bitcast=True) != value.to(tl.int64, bitcast=True)
    first = tl.min(tl.where(differs, o_segment, SEGMENTS), 0)
    span = tl.load(p_table + i_row)
    alpha = 2.0 / (span.to(tl.float64) + 1.0)
    p_values = p_columns + tl.load(p_table + 2 * n_rows + i_row).to(tl.int64) * n_bars
    o_bar = tl.arange(0, BARS)
    for j in range(first, (end - start + segment - 1) // segment):
        t = start + j * segment
        stop = tl.minimum(t + segment, end)
        y = tl.load(p_out + t - 1)
        was = tl.load(p_own + j)
        is_apart = y.to(tl.int64, bitcast=True) != was.to(tl.int64, bitcast=True)
        while is_apart & (t < stop):
            was = tl.load(p_out + t + BARS - 1)
            kept = tl.zeros([BARS], tl.float64)
            for i in tl.static_range(BARS):
                y = y + alpha * (tl.load(p_values + t + i) - y)
                kept = tl.where(o_bar == i, y, kept)
            # What is read above and in the next turn, other threads write here.
            tl.debug_barrier()
            tl.store(p_out + t + o_bar, kept, mask=t + o_bar < stop)
            is_apart = y.to(tl.int64, bitcast=True) != was.to(tl.int64, bitcast=True)
            t += BARS
        tl.debug_barrier()


@triton.jit
def differences(x0, x1, x2, x3, x4, x5, x6, x7, anchor, count):
    """Distances of eight values from the anchor, 0 from the count-th on; all of shape [L]."""
    return (
        tl.where(count > 0, x0 - anchor, 0.0),
        tl.where(count > 1, x1 - anchor, 0.0),
        tl.where(count > 2, x2 - anchor, 0.0),
        tl.where(count > 3, x3 - anchor, 0.0),
        tl.where(count > 4, x4 - anchor, 0.0),
        tl.where(count > 5, x5 - anchor, 0.0),
        tl.where(count > 6, x6 - anchor, 0.0),
        tl.where(count > 7, x7 - anchor, 0.0),
    )


@triton.jit
def two_sided(left, right, l0, l1, l2, l3, l4, l5, l6, l7, r0, r1, r2, r3, r4, r5, r6, r7):
    """Sums over eight windows, and the right one's last: l is summed backwards, r forwards."""
    left7 = left + l7
    left6 = left7 + l6
    left5 = left6 + l5
    left4 = left5 + l4
    left3 = left4 + l3
    left2 = left3 + l2
    left1 = left2 + l1
    left0 = left1 + l0
    right0 = right + r0
    right1 = right0 + r1
    right2 = right1 + r2
    right3 = right2 + r3
    right4 = right3 + r4
    right5 = right4 + r5
    right6 = right5 + r6
    right7 = right6 + r7
    return (
        left0 + right0,
        left1 + right1,
        left2 + right2,
        left3 + right3,
        left4 + right4,
        left5 + right5,
        left6 + right6,
        left7 + right7,
        right7,
    )


@triton.jit
def compute_zscore(x, anchor, sum1, sum2, width):
    """Standard score of x; NaN where nothing varies."""
    mean = anchor + sum1 / width
    variance = (sum2 - sum1 * sum1 / width) / width
    is_spread = variance > 0.0
    score = (x - mean) / tl.sqrt(tl.where(is_spread, variance, 1.0))
    return tl.where(is_spread, score, float("nan"))


@triton.jit(do_not_specialize=["longest", "is_part", "n_series"])
def rolling_kernel(p_columns, p_table, p_starts, p_ends, p_rows, p_tails, first_bar, row_stride,
                   n_bars, longest, is_part, n_series, LANES: tl.constexpr):  # fmt: skip
    """Mean or z-score by two-block anchored sums; grid (blocks of all series, rows, shares).

    A lane carries the sums of a block, eight bars at a time. They start from 0, which is the same
    as from their first term, because no sum of theirs is ever -0. The sums of the left block's
    tail, which run backwards, are needed from their last to their first: a first pass keeps every
    eighth of them, and the last goes on from there. Divisions and roots are most of the work:
    where blocks are few, several programs each sum a block up and finish a share of its bars.

    p_table: [5, n] window, slot, source, whether it is a z-score, in how many shares. p_tails: [n,
    2, row_stride / 8 + 1] for the sums that are kept, those of a block at its begin over eight.
    longest: bars of a series within the stretch at most. is_part: 1 where blocks may begin before
    the stretch, else 0.
    """
    i_row = tl.program_id(1)
    n_rows = tl.num_programs(1)
    w = tl.load(p_table + i_row)
    shares = 8 * tl.load(p_table + 4 * n_rows + i_row)
    k_begin = tl.program_id(2) * ((w + shares - 1) // shares * 8)
    k_end = tl.minimum(k_begin + (w + shares - 1) // shares * 8, w)
    blocks = (longest + w - 1) // w + is_part
    o_block = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m_series = o_block // blocks < n_series
    start = tl.load(p_starts + o_block // blocks, mask=m_series, other=0)
    end = tl.load(p_ends + o_block // blocks, mask=m_series, other=0)
    stop = tl.minimum(end, first_bar + row_stride)
    begin = start + (tl.maximum(first_bar - start, 0) // w + o_block % blocks) * w
    m_block = begin < stop
    if (tl.max(m_block.to(tl.int32), 0) == 0) | (k_begin >= w):
        return
    begin = tl.where(m_block, begin, start)
    slot = tl.load(p_table + n_rows + i_row).to(tl.int64)
    p_values = p_columns + tl.load(p_table + 2 * n_rows + i_row).to(tl.int64) * n_bars
    is_score = tl.load(p_table + 3 * n_rows + i_row) != 0
    anchor = tl.load(p_values + begin)
    width = w.to(tl.float64)
    n_tails = row_stride // 8 + 1
    p_tail1 = p_tails + i_row.to(tl.int64) * 2 * n_tails + 1 + (begin - first_bar >> 3)
    p_tail2 = p_tail1 + n_tails
    # The window that ends at begin + k needs the tail that starts at begin + k + 1 - w.
    n_left = tl.where(begin > start, w - 1, 0)
    last = (w + 6) // 8 - 1
    left1 = tl.zeros([LANES], tl.float64)
    left2 = tl.zeros([LANES], tl.float64)
    for back in range(last - k_begin // 8):
        k = 8 * (last - back)
        x0, x1, x2, x3, x4, x5, x6, x7 = eight(p_values + tl.maximum(begin + k + 1 - w, 0))
        l0, l1, l2, l3, l4, l5, l6, l7 = differences(
            x0, x1, x2, x3, x4, x5, x6, x7, anchor, n_left - k
        )
        left1 = left1 + l7 + l6 + l5 + l4 + l3 + l2 + l1 + l0
        left2 = (left2 + l7 * l7 + l6 * l6 + l5 * l5 + l4 * l4 + l3 * l3 + l2 * l2 + l1 * l1
                 + l0 * l0)  # fmt: skip
        m_tail = (tl.where(k - 8 < k_end, k, w) < n_left) & (begin + k - 8 < stop)
        m_tail = m_tail & (begin + k > first_bar)
        tl.store(p_tail1 + (last - back - 1), left1, mask=m_tail)
        tl.store(p_tail2 + (last - back - 1), left2, mask=m_tail)
    # What is read back below, other threads may have written.
    tl.debug_barrier()
    all_eight = tl.full([LANES], 8, tl.int32)
    right1 = tl.zeros([LANES], tl.float64)
    right2 = tl.zeros([LANES], tl.float64)
    for k in range(0, k_begin, 8):
        x0, x1, x2, x3, x4, x5, x6, x7 = eight(p_values + tl.minimum(begin + k, n_bars))
        r0, r1, r2, r3, r4, r5, r6, r7 = differences(
            x0, x1, x2, x3, x4, x5, x6, x7, anchor, all_eight
        )
        right1 = right1 + r0 + r1 + r2 + r3 + r4 + r5 + r6 + r7
        right2 = (right2 + r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3 + r4 * r4 + r5 * r5 + r6 * r6
                  + r7 * r7)  # fmt: skip
    o_eight = tl.arange(0, 8)[None, :]
    p_out = p_rows + slot * row_stride - first_bar
    for k in range(k_begin, k_end, 8):
        m_tail = (k + 8 < n_left) & (begin + k < stop) & (begin + k + 8 > first_bar)
        left1 = tl.load(p_tail1 + k // 8, mask=m_tail, other=0.0)
        left2 = tl.load(p_tail2 + k // 8, mask=m_tail, other=0.0)
        x0, x1, x2, x3, x4, x5, x6, x7 = eight(p_values + tl.maximum(begin + k + 1 - w, 0))
        l0, l1, l2, l3, l4, l5, l6, l7 = differences(
            x0, x1, x2, x3, x4, x5, x6, x7, anchor, n_left - k
        )
        x0, x1, x2, x3, x4, x5, x6, x7 = eight(p_values + tl.minimum(begin + k, n_bars))
        r0, r1, r2, r3, r4, r5, r6, r7 = differences(
            x0, x1, x2, x3, x4, x5, x6, x7, anchor, all_eight
        )
        a0, a1, a2, a3, a4, a5, a6, a7, right1 = two_sided(
            left1, right1, l0, l1, l2, l3, l4, l5, l6, l7, r0, r1, r2, r3, r4, r5, r6, r7
        )
        if is_score:
            b0, b1, b2, b3, b4, b5, b6, b7, right2 = two_sided(
                left2, right2, l0 * l0, l1 * l1, l2 * l2, l3 * l3, l4 * l4, l5 * l5, l6 * l6,
                l7 * l7, r0 * r0, r1 * r1, r2 * r2, r3 * r3, r4 * r4, r5 * r5, r6 * r6, r7 * r7,
            )  # fmt: skip
            a0 = compute_zscore(x0, anchor, a0, b0, width)
            a1 = compute_zscore(x1, anchor, a1, b1, width)
            a2 = compute_zscore(x2, anchor, a2, b2, width)
            a3 = compute_zscore(x3, anchor, a3, b3, width)
            a4 = compute_zscore(x4, anchor, a4, b4, width)
            a5 = compute_zscore(x5, anchor, a5, b5, width)
            a6 = compute_zscore(x6, anchor, a6, b6, width)
            a7 = compute_zscore(x7, anchor, a7, b7, width)
        else:
            a0 = anchor + a0 / width
            a1 = anchor + a1 / width
            a2 = anchor + a2 / width
            a3 = anchor + a3 / width
            a4 = anchor + a4 / width
            a5 = anchor + a5 / width
            a6 = anchor + a6 / width
            a7 = anchor + a7 / width
        tile = join_columns(a0, a1, a2, a3, a4, a5, a6, a7)
        t = begin[:, None] + k + o_eight
        m_bar = m_block[:, None] & (k + o_eight < w) & (t >= first_bar) & (t < stop[:, None])
        is_known = t - start[:, None] >= w - 1
        tl.store(p_out + t, tl.where(is_known, tile, float("nan")), mask=m_bar)


@triton.jit
def code_kernel(p_maps, p_table, p_rows, p_codes, first_bar, row_stride, n_bars,
                HIGHEST: tl.constexpr, ROWS: tl.constexpr, BARS: tl.constexpr):  # fmt: skip
    """Codes of rows, 0 for NaN, else 1 .. HIGHEST; grid (blocks of BARS, groups of ROWS rows).

    p_maps: [coders, 2, n_bars] where code 1 begins, and codes per unit. p_table: [2, n] slot, and
    coder, which a group's rows share; a slot of -1 is no row. Rows are whole blocks long.
    """
    n_rows = tl.num_programs(1) * ROWS
    p_group = p_table + tl.program_id(1) * ROWS
    o_bar = tl.program_id(0).to(tl.int64) * BARS + tl.arange(0, BARS)
    p_map = p_maps + tl.load(p_group + n_rows).to(tl.int64) * 2 * n_bars + first_bar
    low = tl.load(p_map + o_bar)
    scale = tl.load(p_map + n_bars + o_bar)
    for i in range(ROWS):
        slot = tl.load(p_group + i).to(tl.int64)
        m_bar = o_bar < tl.where(slot >= 0, row_stride, 0)
        value = tl.load(p_rows + slot * row_stride + o_bar, mask=m_bar, other=float("nan"))
        is_known = value == value
        position = (tl.where(is_known, value, 0.0) - low) * scale
        position = tl.minimum(tl.maximum(position, 0.0), HIGHEST - 1.0)
        code = tl.where(is_known, 1 + position.to(tl.int32), 0)
        tl.store(p_codes + slot * row_stride + o_bar, code.to(tl.uint8), mask=m_bar)
