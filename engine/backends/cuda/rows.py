"""Stage 1, rows: each distinct indicator row, float64, and its one-byte codes.

Series lie one after the other on one axis of bars, [B]; a slot is a row over all of them.
"""

import triton
import triton.language as tl


@triton.jit
def ema_kernel(p_values, p_spans, p_slots, p_starts, p_ends, p_rows, row_stride,
               BARS: tl.constexpr):  # fmt: skip
    """y[t] = y[t-1] + alpha * (x[t] - y[t-1]); grid (rows, series), a warp a row.

    Every lane carries the same recurrence and keeps the bar that is its own, so that BARS of them
    are stored in one go. A chain of three dependent operations a bar is what this costs; many
    warps wait for their chains together. p_values must be readable up to a whole BARS.
    """
    span = tl.load(p_spans + tl.program_id(0))
    slot = tl.load(p_slots + tl.program_id(0)).to(tl.int64)
    start = tl.load(p_starts + tl.program_id(1))
    end = tl.load(p_ends + tl.program_id(1))
    alpha = 2.0 / (span.to(tl.float64) + 1.0)
    p_out = p_rows + slot * row_stride
    o_bar = tl.arange(0, BARS)
    y = tl.load(p_values + start)
    for t in range(start, end, BARS):
        kept = tl.zeros([BARS], tl.float64)
        for i in tl.static_range(BARS):
            # At a series' first bar the difference is exactly 0, which leaves the seed as it is.
            y = y + alpha * (tl.load(p_values + t + i) - y)
            kept = tl.where(o_bar == i, y, kept)
        is_known = t + o_bar >= start + span - 1
        tl.store(p_out + t + o_bar, tl.where(is_known, kept, float("nan")), mask=t + o_bar < end)


@triton.jit
def rolling_kernel(p_values, p_windows, p_slots, p_starts, p_ends, p_rows, p_left1, p_left2,
                   row_stride, IS_ZSCORE: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Mean or z-score by two-block anchored sums; grid (blocks, rows, series), a lane a block.

    p_left1 and p_left2, [rows, B], hold the sums of the left block's tail, summed backwards.
    """
    i_row = tl.program_id(1).to(tl.int64)
    w = tl.load(p_windows + i_row).to(tl.int64)
    slot = tl.load(p_slots + i_row).to(tl.int64)
    start = tl.load(p_starts + tl.program_id(2)).to(tl.int64)
    end = tl.load(p_ends + tl.program_id(2)).to(tl.int64)
    o_block = tl.program_id(0) * LANES + tl.arange(0, LANES)
    begin = start + o_block.to(tl.int64) * w
    m_block = begin < end
    m_left = m_block & (begin > start)
    anchor = tl.load(p_values + begin, mask=m_block, other=0.0)
    width = w.to(tl.float64)
    o_left = i_row * row_stride
    left1 = tl.zeros([LANES], tl.float64)
    left2 = tl.zeros([LANES], tl.float64)
    # The window that ends at begin + k needs the tail that starts at begin + k + 1 - w.
    for k in range(w - 1):
        d = tl.load(p_values + begin - 1 - k, mask=m_left, other=0.0) - anchor
        left1 = tl.where(k == 0, d, left1 + d)
        left2 = tl.where(k == 0, d * d, left2 + d * d)
        m_store = m_left & (begin + w - 2 - k < end)
        tl.store(p_left1 + o_left + begin + w - 2 - k, left1, mask=m_store)
        tl.store(p_left2 + o_left + begin + w - 2 - k, left2, mask=m_store)
    right1 = tl.zeros([LANES], tl.float64)
    right2 = tl.zeros([LANES], tl.float64)
    p_out = p_rows + slot * row_stride
    for k in range(w):
        t = begin + k
        m_bar = m_block & (t < end)
        x = tl.load(p_values + t, mask=m_bar, other=0.0)
        d = x - anchor
        right1 = tl.where(k == 0, d, right1 + d)
        right2 = tl.where(k == 0, d * d, right2 + d * d)
        spans = m_bar & m_left & (t - begin < w - 1)
        sum1 = tl.where(
            spans, tl.load(p_left1 + o_left + t, mask=spans, other=0.0) + right1, right1
        )
        mean = anchor + sum1 / width
        is_known = t - start >= w - 1
        if IS_ZSCORE:
            sum2 = tl.where(spans, tl.load(p_left2 + o_left + t, mask=spans, other=0.0) + right2,
                            right2)  # fmt: skip
            variance = (sum2 - sum1 * sum1 / width) / width
            is_spread = is_known & (variance > 0.0)
            score = (x - mean) / tl.sqrt(tl.where(is_spread, variance, 1.0))
            tl.store(p_out + t, tl.where(is_spread, score, float("nan")), mask=m_bar)
        else:
            tl.store(p_out + t, tl.where(is_known, mean, float("nan")), mask=m_bar)


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
