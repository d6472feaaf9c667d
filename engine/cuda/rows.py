"""Stage 1, rows: each distinct indicator row, float64, and its one-byte codes.

Series lie one after the other on one axis of bars, [B]; a slot is a row over a stretch of it, which
begins at `first_bar` and is `row_stride` long. Sources are there whole.
"""

import triton
import triton.language as tl


@triton.jit
def ema_kernel(p_values, p_spans, p_slots, p_starts, p_ends, p_rows, p_state, first_bar,
               row_stride, n_bars, CARRIES: tl.constexpr, BARS: tl.constexpr):  # fmt: skip
    """y[t] = y[t-1] + alpha * (x[t] - y[t-1]); grid (rows, series), a warp a row.

    Every lane carries the same recurrence and keeps the bar that is its own, so that BARS of them
    are stored in one go. A chain of three dependent operations a bar is what this costs; many
    warps wait for their chains together. p_values [n_bars] must be readable up to a whole BARS.
    p_state: [rows, series], if CARRIES, holds the last value before the stretch and receives that
    at its end; stretches and series begin at whole BARS.
    """
    span = tl.load(p_spans + tl.program_id(0))
    slot = tl.load(p_slots + tl.program_id(0)).to(tl.int64)
    start = tl.load(p_starts + tl.program_id(1))
    end = tl.load(p_ends + tl.program_id(1))
    alpha = 2.0 / (span.to(tl.float64) + 1.0)
    p_out = p_rows + slot * row_stride
    o_bar = tl.arange(0, BARS)
    begin = tl.maximum(start, first_bar)
    stop = tl.minimum(end, first_bar + row_stride)
    y = tl.load(p_values + start)
    if CARRIES:
        p_last = p_state + tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
        y = tl.where(begin > start, tl.load(p_last), y)
    for t in range(begin, stop, BARS):
        # Not for its values, which a span of 0 would ask for: it brings the next bars near.
        o_next = t + BARS + o_bar
        ahead = tl.load(p_values + o_next, mask=o_next < n_bars, other=0.0)
        kept = tl.zeros([BARS], tl.float64)
        for i in tl.static_range(BARS):
            # At a series' first bar the difference is exactly 0, which leaves the seed as it is.
            y = y + alpha * (tl.load(p_values + t + i) - y)
            kept = tl.where(o_bar == i, y, kept)
        kept = tl.where(span > 0, kept, ahead)
        is_known = t + o_bar >= start + span - 1
        tl.store(p_out + t - first_bar + o_bar, tl.where(is_known, kept, float("nan")),
                 mask=t + o_bar < stop)  # fmt: skip
    if CARRIES:
        tl.store(p_last, y, mask=begin < stop)


@triton.jit
def parted(x):
    """The eight columns of x [L, 8]."""
    even, odd = tl.split(tl.reshape(x, (x.shape[0], 2, 2, 2)))
    x04, x26 = tl.split(even)
    x15, x37 = tl.split(odd)
    x0, x4 = tl.split(x04)
    x2, x6 = tl.split(x26)
    x1, x5 = tl.split(x15)
    x3, x7 = tl.split(x37)
    return x0, x1, x2, x3, x4, x5, x6, x7


@triton.jit
def joined(x0, x1, x2, x3, x4, x5, x6, x7):
    """Eight columns as one [L, 8]."""
    even = tl.join(tl.join(x0, x4), tl.join(x2, x6))
    odd = tl.join(tl.join(x1, x5), tl.join(x3, x7))
    return tl.reshape(tl.join(even, odd), (x0.shape[0], 8))


@triton.jit
def summed(total, x):
    """Running sums along the eight columns of x, oldest first; and the last of them."""
    x0, x1, x2, x3, x4, x5, x6, x7 = parted(x)
    s0 = total + x0
    s1 = s0 + x1
    s2 = s1 + x2
    s3 = s2 + x3
    s4 = s3 + x4
    s5 = s4 + x5
    s6 = s5 + x6
    s7 = s6 + x7
    return joined(s0, s1, s2, s3, s4, s5, s6, s7), s7


@triton.jit
def rolling_kernel(p_values, p_windows, p_slots, p_starts, p_ends, p_rows, p_left1, p_left2,
                   first_bar, row_stride, longest, cut, n_series, IS_ZSCORE: tl.constexpr,
                   LANES: tl.constexpr):  # fmt: skip
    """Mean or z-score by two-block anchored sums; grid (blocks of all series, rows).

    A lane carries the sums of a block, eight bars at a time. They start from 0, which is the same
    as from their first term, because a difference of equal numbers is never -0.
    p_left1 and p_left2, [rows, row_stride], hold the sums of the left block's tail, summed
    backwards. longest: bars of a series within the stretch at most; cut: 1 where blocks may begin
    before the stretch, else 0.
    """
    i_row = tl.program_id(1).to(tl.int64)
    w = tl.load(p_windows + i_row)
    blocks = (longest + w - 1) // w + cut
    o_block = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m_series = o_block // blocks < n_series
    start = tl.load(p_starts + o_block // blocks, mask=m_series, other=0)
    end = tl.load(p_ends + o_block // blocks, mask=m_series, other=0)
    stop = tl.minimum(end, first_bar + row_stride)
    begin = start + (tl.maximum(first_bar - start, 0) // w + o_block % blocks) * w
    m_block = begin < stop
    if tl.max(m_block.to(tl.int32), 0) == 0:
        return
    m_left = m_block & (begin > start)
    anchor = tl.load(p_values + begin, mask=m_block, other=0.0)
    width = w.to(tl.float64)
    p_tail1 = p_left1 + i_row * row_stride
    p_tail2 = p_left2 + i_row * row_stride
    o_eight = tl.arange(0, 8)[None, :]
    left1 = tl.zeros([LANES], tl.float64)
    left2 = tl.zeros([LANES], tl.float64)
    # The window that ends at begin + k needs the tail that starts at begin + k + 1 - w.
    for first in range(0, w - 1, 8):
        k = first + o_eight
        m_tail = m_left[:, None] & (k < w - 1)
        x = tl.load(p_values + begin[:, None] - 1 - k, mask=m_tail, other=0.0)
        d = x - anchor[:, None]
        sums1, left1 = summed(left1, d)
        sums2, left2 = summed(left2, d * d)
        o_end = begin[:, None] + w - 2 - k
        m_store = m_tail & (o_end < stop[:, None]) & (o_end >= first_bar)
        tl.store(p_tail1 + o_end - first_bar, sums1, mask=m_store)
        tl.store(p_tail2 + o_end - first_bar, sums2, mask=m_store)
    # What is read back below, other threads have written.
    tl.debug_barrier()
    right1 = tl.zeros([LANES], tl.float64)
    right2 = tl.zeros([LANES], tl.float64)
    p_out = p_rows + tl.load(p_slots + i_row).to(tl.int64) * row_stride
    for first in range(0, w, 8):
        k = first + o_eight
        t = begin[:, None] + k
        o_t = t - first_bar
        m_bar = m_block[:, None] & (k < w) & (t < stop[:, None])
        x = tl.load(p_values + t, mask=m_bar, other=0.0)
        m_bar = m_bar & (o_t >= 0)
        d = x - anchor[:, None]
        sums1, right1 = summed(right1, d)
        m_spans = m_bar & m_left[:, None] & (k < w - 1)
        sum1 = tl.where(m_spans, tl.load(p_tail1 + o_t, mask=m_spans, other=0.0) + sums1, sums1)
        mean = anchor[:, None] + sum1 / width
        is_known = t - start[:, None] >= w - 1
        if IS_ZSCORE:
            sums2, right2 = summed(right2, d * d)
            tail2 = tl.load(p_tail2 + o_t, mask=m_spans, other=0.0)
            sum2 = tl.where(m_spans, tail2 + sums2, sums2)
            variance = (sum2 - sum1 * sum1 / width) / width
            is_spread = is_known & (variance > 0.0)
            score = (x - mean) / tl.sqrt(tl.where(is_spread, variance, 1.0))
            tl.store(p_out + o_t, tl.where(is_spread, score, float("nan")), mask=m_bar)
        else:
            tl.store(p_out + o_t, tl.where(is_known, mean, float("nan")), mask=m_bar)


@triton.jit
def code_kernel(p_slots, p_low, p_scale, p_rows, p_codes, n_bars, row_stride,
                HIGHEST: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Codes of rows, 0 for NaN, else 1 .. HIGHEST; grid (rows, blocks of bars)."""
    slot = tl.load(p_slots + tl.program_id(0)).to(tl.int64)
    o_bar = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_bar = o_bar < n_bars
    value = tl.load(p_rows + slot * row_stride + o_bar, mask=m_bar, other=float("nan"))
    low = tl.load(p_low + o_bar, mask=m_bar, other=0.0)
    scale = tl.load(p_scale + o_bar, mask=m_bar, other=1.0)
    is_known = value == value
    position = (tl.where(is_known, value, 0.0) - low) * scale
    position = tl.minimum(tl.maximum(position, 0.0), HIGHEST - 1.0)
    code = tl.where(is_known, 1 + position.to(tl.int32), 0)
    tl.store(p_codes + slot * row_stride + o_bar, code.to(tl.uint8), mask=m_bar)
