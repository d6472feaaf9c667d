"""Stage 3, exits: where each signal's position would end, were it taken.

An exit does not depend on the position, so that all are found side by side. A pyramid of extremes
lets a search step over 64 bars at a time and come down where a price may have been touched.
"""

import triton
import triton.language as tl

NEVER = tl.constexpr(0x7FFFFFFF)
TOP_LEVEL = tl.constexpr(3)


@triton.jit
def upper_half(price):
    """The upper 32 bits of a number; for positive numbers they rise with it."""
    return (price.to(tl.int64, bitcast=True) >> 32).to(tl.int32)


@triton.jit
def first_touch(p_market, p_pyramid, n_bars, j, last, waits, lower, upper,
                SIGNALS: tl.constexpr):  # fmt: skip
    """The first bar from j to last, where waits, that reaches down to lower or up to upper.

    NEVER where there is none. p_market and p_pyramid as in `exit_kernel`.
    """
    o_sub = tl.arange(0, 4)[None, :]
    lower_word, upper_word = upper_half(lower), upper_half(upper)
    found = tl.full([SIGNALS], NEVER, tl.int32)
    level = tl.zeros([SIGNALS], tl.int32)
    while tl.max(waits.to(tl.int32), 0) > 0:
        walks = waits
        while tl.max(walks.to(tl.int32), 0) > 0:
            shift = 2 * level
            group = j >> (shift + 2)
            p_sub = (p_pyramid + (level * (2 * n_bars) + group * 8))[:, None] + o_sub
            lows = tl.load(p_sub, mask=walks[:, None], other=NEVER)
            highs = tl.load(p_sub + 4, mask=walks[:, None], other=-1)
            o_block = (group << 2)[:, None] + o_sub
            is_ahead = o_block >= (j >> shift)[:, None]
            is_near = (lows <= lower_word[:, None]) | (highs >= upper_word[:, None])
            sub = tl.min(tl.where(is_ahead & is_near, o_sub, 4), 1)
            down = sub < 4
            at_bottom = level == 0
            j = tl.where(
                walks,
                tl.where(
                    down,
                    tl.maximum(j, ((group << 2) + sub) << shift),
                    (group + 1) << (shift + 2),
                ),
                j,
            )
            level = tl.where(
                walks,
                tl.where(down, tl.maximum(level - 1, 0), tl.minimum(level + 1, TOP_LEVEL)),
                level,
            )
            walks = walks & ((down & at_bottom) == 0) & (j <= last)
        # A word says that a price may have been touched, the price itself whether it was.
        near = waits & (j <= last)
        p_bar = p_market + j.to(tl.int64) * 4
        lowest = tl.load(p_bar + 2, mask=near, other=float("inf"))
        highest = tl.load(p_bar + 1, mask=near, other=float("-inf"))
        is_touched = (lowest <= lower) | (highest >= upper)
        found = tl.where(near & is_touched, j, found)
        waits = near & (is_touched == 0)
        j = j + 1
        waits = waits & (j <= last)
    return found


@triton.jit
def exit_kernel(p_size, p_market, p_pyramid, p_rows, p_genomes, p_slots, p_windows, p_costs,
                p_counts, p_bars, p_exits, n_windows, capacity, first_bar, row_stride, n_bars,
                N_COLUMNS: tl.constexpr, N_ROWS: tl.constexpr, STOP_ROW: tl.constexpr,
                STOP_MULT: tl.constexpr, REWARD: tl.constexpr, MAX_HOLD: tl.constexpr,
                DELAY: tl.constexpr, SIGNALS: tl.constexpr, BLOCKS: tl.constexpr):  # fmt: skip
    """Exit bars of a pair's signals, SIGNALS at a time; grid (pairs times BLOCKS).

    p_market: [B, 4] open, high, low, close. p_pyramid: [levels, 2 B] for each level l the groups of
    four blocks of 4**l bars, each group the upper halves of four lows and of four highs. p_costs:
    per_side, min_risk, risk_fraction; in memory, because a number that is passed to a kernel
    arrives as float32. DELAY: bars by which an entry is later than the bar after its signal.
    p_exits: [P, W, capacity] receives the exit bar, or the signal's own where the trade would risk
    too little.
    """
    i_pair = tl.program_id(0).to(tl.int64) // BLOCKS
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    p_genome = p_genomes + i_p * N_COLUMNS
    min_risk = tl.load(p_costs + 1)
    stop_mult = tl.load(p_genome + STOP_MULT)
    reward = tl.load(p_genome + REWARD)
    hold = tl.load(p_genome + MAX_HOLD).to(tl.int32)
    end = tl.load(p_windows + (i_pair % n_windows) * 3 + 2)
    p_reach = p_rows + tl.load(p_slots + i_p * N_ROWS + STOP_ROW).to(tl.int64) * row_stride
    for begin in range((tl.program_id(0) % BLOCKS) * SIGNALS, count, BLOCKS * SIGNALS):
        o_s = begin + tl.arange(0, SIGNALS)
        m_s = o_s < count
        t = tl.load(p_bars + i_pair * capacity + o_s, mask=m_s, other=0)
        o_bar = t.to(tl.int64) * 4
        entry = tl.load(p_market + o_bar + 4 * (1 + DELAY), mask=m_s, other=1.0)
        low = tl.load(p_market + o_bar + 2, mask=m_s, other=1.0)
        stop = low - stop_mult * tl.load(p_reach + t - first_bar, mask=m_s, other=0.0)
        risk = entry - stop
        is_taken = m_s & (risk > entry * min_risk)
        target = entry + reward * risk
        last = tl.minimum(t + 1 + DELAY + hold, end) - 1
        j = t + 1 + DELAY
        found = first_touch(
            p_market, p_pyramid, n_bars, j, last, is_taken & (j <= last), stop, target, SIGNALS
        )
        place = tl.where(is_taken, tl.where(found == NEVER, last, found), t)
        tl.store(p_exits + i_pair * capacity + o_s, place, mask=m_s)
