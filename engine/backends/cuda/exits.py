"""Stage 3, exits: decide what the codes left open, and find every signal's exit.

An exit does not depend on the position, so that all are found side by side. Lists lie with the
pairs of individual and window side by side, [capacity, P, W], as the chain will read them.
"""

import triton
import triton.language as tl


@triton.jit
def exit_kernel(p_open, p_highs, p_lows, p_close, p_rows, p_codes, p_genomes, p_slots, p_genes,
                p_pairs, p_exact, p_ends, p_counts, p_bars, p_exit_bars, p_reasons, p_r, p_prices,
                n_pairs, n_windows, capacity, n_bars, p_costs,
                GENE_COLUMNS: tl.constexpr, GREATER: tl.constexpr,
                N_GENES: tl.constexpr, N_PAIRS: tl.constexpr,
                N_EXACT: tl.constexpr, N_COLUMNS: tl.constexpr, N_ROWS: tl.constexpr,
                STOP_ROW: tl.constexpr, STOP_MULT: tl.constexpr, REWARD: tl.constexpr,
                MAX_HOLD: tl.constexpr, KEEPS_PRICES: tl.constexpr, SIGNALS: tl.constexpr,
                BLOCKS: tl.constexpr, BLOCK_BARS: tl.constexpr):  # fmt: skip
    """Exits of a pair's signals, SIGNALS at a time; grid (pairs times BLOCKS).

    p_lows, p_highs: [B + B / BLOCK_BARS], each bar's and then each block's. p_exit_bars:
    [capacity, P, W] receives the exit bar; -1 where equal codes hid a comparison that does not
    hold, -2 where the trade would risk too little. p_reasons, p_r: the same shape.
    p_costs: per_side, min_risk, risk_fraction; in memory, because a number that is passed to a
    kernel arrives as float32. p_prices: [capacity, P, W, 4] receives entry, stop, target and exit
    if wanted.
    """
    i_pair = tl.program_id(0).to(tl.int64) // BLOCKS
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    per_side = tl.load(p_costs)
    min_risk = tl.load(p_costs + 1)
    i_p = i_pair // n_windows
    p_genome = p_genomes + i_p * N_COLUMNS
    p_slot = p_slots + i_p * N_ROWS
    for begin in range((tl.program_id(0) % BLOCKS) * SIGNALS, count, BLOCKS * SIGNALS):
        o_s = begin + tl.arange(0, SIGNALS)
        m_s = o_s < count
        o_list = o_s.to(tl.int64) * n_pairs + i_pair
        t = tl.load(p_bars + o_list, mask=m_s, other=0).to(tl.int64)
        holds = m_s
        for c in tl.static_range(N_GENES):
            p_gene = p_genes + (i_p * N_GENES + c) * 2
            at = tl.load(p_gene).to(tl.int64) * n_bars + t
            is_equal = tl.load(p_codes + at, mask=m_s, other=0) == tl.load(p_gene + 1)
            value = tl.load(p_rows + at, mask=m_s & is_equal, other=0.0)
            threshold = tl.load(p_genome + GENE_COLUMNS[c])
            if (GREATER >> c) & 1:
                holds = holds & ((value > threshold) | (is_equal == 0))
            else:
                holds = holds & ((value < threshold) | (is_equal == 0))
        for d in tl.static_range(N_PAIRS):
            p_pair = p_pairs + (i_p * N_PAIRS + d) * 2
            small = tl.load(p_pair).to(tl.int64) * n_bars + t
            large = tl.load(p_pair + 1).to(tl.int64) * n_bars + t
            is_equal = tl.load(p_codes + small, mask=m_s, other=0) == tl.load(
                p_codes + large, mask=m_s, other=0
            )
            smaller = tl.load(p_rows + small, mask=m_s & is_equal, other=0.0)
            larger = tl.load(p_rows + large, mask=m_s & is_equal, other=0.0)
            holds = holds & ((smaller < larger) | (is_equal == 0))
        for e in tl.static_range(N_EXACT):
            p_pair = p_exact + (i_p * N_EXACT + e) * 2
            smaller = tl.load(p_rows + tl.load(p_pair).to(tl.int64) * n_bars + t, mask=m_s,
                              other=0.0)  # fmt: skip
            larger = tl.load(p_rows + tl.load(p_pair + 1).to(tl.int64) * n_bars + t, mask=m_s,
                             other=0.0)  # fmt: skip
            holds = holds & (smaller < larger)
        entry = tl.load(p_open + t + 1, mask=holds, other=1.0)
        reach = tl.load(p_rows + tl.load(p_slot + STOP_ROW).to(tl.int64) * n_bars + t, mask=holds,
                        other=0.0)  # fmt: skip
        stop = tl.load(p_lows + t, mask=holds, other=1.0) - tl.load(p_genome + STOP_MULT) * reach
        risk = entry - stop
        is_taken = holds & (risk > entry * min_risk)
        target = entry + tl.load(p_genome + REWARD) * risk
        hold = tl.load(p_genome + MAX_HOLD).to(tl.int64)
        end = tl.load(p_ends + i_pair).to(tl.int64)
        last = (tl.minimum(t + 1 + hold, end) - 1).to(tl.int32)
        never = tl.full([SIGNALS], 0x7FFFFFFF, tl.int32)
        found = never
        # A lane walks block by block while a block's extremes touch neither price, else bar by
        # bar; extremes lie behind the bars in the same columns.
        j = (t + 1).to(tl.int32)
        is_coarse = tl.full([SIGNALS], 1, tl.int32)
        waits = is_taken & (j <= last)
        while tl.max(waits.to(tl.int32), 0) > 0:
            o_look = tl.where(is_coarse == 1, n_bars + j // BLOCK_BARS, j)
            least = tl.load(p_lows + o_look, mask=waits, other=float("inf"))
            most = tl.load(p_highs + o_look, mask=waits, other=float("-inf"))
            is_touched = (least <= stop) | (most >= target)
            found = tl.where(waits & is_touched & (is_coarse == 0), j, found)
            after = tl.where(is_coarse == 1, (j // BLOCK_BARS + 1) * BLOCK_BARS, j + 1)
            j = tl.where(is_touched, j, after)
            is_coarse = ((is_touched == 0) & (j % BLOCK_BARS == 0)).to(tl.int32)
            waits = waits & (found == never) & (j <= last)
        is_hit = found != never
        exit_bar = tl.where(is_hit, found, last).to(tl.int64)
        opened = tl.load(p_open + exit_bar, mask=is_taken, other=0.0)
        low = tl.load(p_lows + exit_bar, mask=is_taken, other=0.0)
        closed = tl.load(p_close + exit_bar, mask=is_taken, other=0.0)
        is_stop = is_hit & (low <= stop)
        is_gap = is_stop & (opened <= stop)
        is_time = last == t + hold
        price = tl.where(is_gap, opened, tl.where(is_stop, stop, tl.where(is_hit, target, closed)))
        reason = tl.where(
            is_gap, 0, tl.where(is_stop, 1, tl.where(is_hit, 2, tl.where(is_time, 3, 4)))
        )
        net = (price - entry) - per_side * (entry + price)
        r = net / tl.where(is_taken, risk, 1.0)
        place = tl.where(is_taken, exit_bar, tl.where(holds, -2, -1))
        tl.store(p_exit_bars + o_list, place.to(tl.int32), mask=m_s)
        tl.store(p_reasons + o_list, reason.to(tl.int8), mask=m_s)
        tl.store(p_r + o_list, r, mask=m_s)
        if KEEPS_PRICES:
            tl.store(p_prices + o_list * 4, entry, mask=m_s)
            tl.store(p_prices + o_list * 4 + 1, stop, mask=m_s)
            tl.store(p_prices + o_list * 4 + 2, target, mask=m_s)
            tl.store(p_prices + o_list * 4 + 3, price, mask=m_s)
