"""Stage 4, chain: one position at a time, then the fold; a lane is an individual in a window.

Only what must go in order does: first, in whole numbers, which signals find the account flat;
then the sums over those trades, one rounding an operation. Gathering, counting and dividing are
done for many trades side by side; a maximum and a count are the same in any order.
"""

import triton
import triton.language as tl


@triton.jit
def step(p_taken, s, count, n_pairs, o_pair, flat_from, n_trades, rejected, bar, place):
    """Take one signal if the account is flat; returns what has changed."""
    is_flat = (s < count) & (bar >= flat_from)
    is_trade = is_flat & (place >= 0)
    o_taken = n_trades.to(tl.int64) * n_pairs + o_pair
    tl.store(p_taken + o_taken, s, mask=is_trade)
    rejected += (is_flat & (place == -2)).to(tl.int32)
    return tl.where(is_trade, place, flat_from), n_trades + is_trade.to(tl.int32), rejected


@triton.jit
def take_kernel(p_counts, p_bars, p_exit_bars, p_taken, p_trades, p_rejected, n_pairs, capacity,
                LANES: tl.constexpr):  # fmt: skip
    """Which signals become trades; grid (blocks of pairs), a lane a pair.

    p_taken: [capacity, P, W] receives the places of the trades in the list. p_trades, p_rejected:
    [P, W] receive how many there are.
    """
    o_pair = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    m_pair = o_pair < n_pairs
    count = tl.minimum(tl.load(p_counts + o_pair, mask=m_pair, other=0), capacity)
    flat_from = tl.zeros([LANES], tl.int32)
    n_trades = tl.zeros([LANES], tl.int32)
    rejected = tl.zeros([LANES], tl.int32)
    for begin in range(0, tl.max(count, 0), 16):
        # What is loaded does not depend on what is decided: 16 signals are in flight.
        s = tl.zeros([LANES], tl.int32) + begin
        o_0 = s.to(tl.int64) * n_pairs + o_pair
        b0 = tl.load(p_bars + o_0 + 0 * n_pairs, mask=s + 0 < count, other=0)
        e0 = tl.load(p_exit_bars + o_0 + 0 * n_pairs, mask=s + 0 < count, other=0)
        b1 = tl.load(p_bars + o_0 + 1 * n_pairs, mask=s + 1 < count, other=0)
        e1 = tl.load(p_exit_bars + o_0 + 1 * n_pairs, mask=s + 1 < count, other=0)
        b2 = tl.load(p_bars + o_0 + 2 * n_pairs, mask=s + 2 < count, other=0)
        e2 = tl.load(p_exit_bars + o_0 + 2 * n_pairs, mask=s + 2 < count, other=0)
        b3 = tl.load(p_bars + o_0 + 3 * n_pairs, mask=s + 3 < count, other=0)
        e3 = tl.load(p_exit_bars + o_0 + 3 * n_pairs, mask=s + 3 < count, other=0)
        b4 = tl.load(p_bars + o_0 + 4 * n_pairs, mask=s + 4 < count, other=0)
        e4 = tl.load(p_exit_bars + o_0 + 4 * n_pairs, mask=s + 4 < count, other=0)
        b5 = tl.load(p_bars + o_0 + 5 * n_pairs, mask=s + 5 < count, other=0)
        e5 = tl.load(p_exit_bars + o_0 + 5 * n_pairs, mask=s + 5 < count, other=0)
        b6 = tl.load(p_bars + o_0 + 6 * n_pairs, mask=s + 6 < count, other=0)
        e6 = tl.load(p_exit_bars + o_0 + 6 * n_pairs, mask=s + 6 < count, other=0)
        b7 = tl.load(p_bars + o_0 + 7 * n_pairs, mask=s + 7 < count, other=0)
        e7 = tl.load(p_exit_bars + o_0 + 7 * n_pairs, mask=s + 7 < count, other=0)
        b8 = tl.load(p_bars + o_0 + 8 * n_pairs, mask=s + 8 < count, other=0)
        e8 = tl.load(p_exit_bars + o_0 + 8 * n_pairs, mask=s + 8 < count, other=0)
        b9 = tl.load(p_bars + o_0 + 9 * n_pairs, mask=s + 9 < count, other=0)
        e9 = tl.load(p_exit_bars + o_0 + 9 * n_pairs, mask=s + 9 < count, other=0)
        b10 = tl.load(p_bars + o_0 + 10 * n_pairs, mask=s + 10 < count, other=0)
        e10 = tl.load(p_exit_bars + o_0 + 10 * n_pairs, mask=s + 10 < count, other=0)
        b11 = tl.load(p_bars + o_0 + 11 * n_pairs, mask=s + 11 < count, other=0)
        e11 = tl.load(p_exit_bars + o_0 + 11 * n_pairs, mask=s + 11 < count, other=0)
        b12 = tl.load(p_bars + o_0 + 12 * n_pairs, mask=s + 12 < count, other=0)
        e12 = tl.load(p_exit_bars + o_0 + 12 * n_pairs, mask=s + 12 < count, other=0)
        b13 = tl.load(p_bars + o_0 + 13 * n_pairs, mask=s + 13 < count, other=0)
        e13 = tl.load(p_exit_bars + o_0 + 13 * n_pairs, mask=s + 13 < count, other=0)
        b14 = tl.load(p_bars + o_0 + 14 * n_pairs, mask=s + 14 < count, other=0)
        e14 = tl.load(p_exit_bars + o_0 + 14 * n_pairs, mask=s + 14 < count, other=0)
        b15 = tl.load(p_bars + o_0 + 15 * n_pairs, mask=s + 15 < count, other=0)
        e15 = tl.load(p_exit_bars + o_0 + 15 * n_pairs, mask=s + 15 < count, other=0)
        flat_from, n_trades, rejected = step(p_taken, s + 0, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b0, e0)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 1, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b1, e1)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 2, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b2, e2)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 3, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b3, e3)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 4, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b4, e4)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 5, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b5, e5)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 6, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b6, e6)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 7, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b7, e7)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 8, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b8, e8)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 9, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b9, e9)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 10, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b10, e10)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 11, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b11, e11)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 12, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b12, e12)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 13, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b13, e13)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 14, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b14, e14)  # fmt: skip
        flat_from, n_trades, rejected = step(p_taken, s + 15, count, n_pairs, o_pair, flat_from,
                                             n_trades, rejected, b15, e15)  # fmt: skip
    tl.store(p_trades + o_pair, n_trades, mask=m_pair)
    tl.store(p_rejected + o_pair, rejected, mask=m_pair)


@triton.jit
def gather_kernel(p_trades, p_taken, p_r, p_dense_r, n_pairs, LANES: tl.constexpr,
                  TRADES: tl.constexpr, BLOCKS: tl.constexpr):  # fmt: skip
    """R of the trades alone, in their order; grid (blocks of pairs, BLOCKS)."""
    o_pair = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    n_trades = tl.load(p_trades + o_pair, mask=o_pair < n_pairs, other=0)
    for begin in range(tl.program_id(1) * TRADES, tl.max(n_trades, 0), BLOCKS * TRADES):
        o_k = begin + tl.arange(0, TRADES)
        inside = o_k[:, None] < n_trades[None, :]
        o_dense = o_k.to(tl.int64)[:, None] * n_pairs + o_pair[None, :]
        place = tl.load(p_taken + o_dense, mask=inside, other=0).to(tl.int64)
        r = tl.load(p_r + place * n_pairs + o_pair[None, :], mask=inside, other=0.0)
        tl.store(p_dense_r + o_dense, r, mask=inside)


@triton.jit
def fold(m_k, r, risk_fraction, p_fall, p_peak, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
         equity, peak):  # fmt: skip
    """Fold one trade of each lane into its sums; returns them."""
    sum_r = tl.where(m_k, sum_r + r, sum_r)
    sum_r2 = tl.where(m_k, sum_r2 + r * r, sum_r2)
    gain = tl.where(m_k & (r > 0.0), gain + r, gain)
    loss = tl.where(m_k & (r <= 0.0), loss + (-r), loss)
    loss2 = tl.where(m_k & (r <= 0.0), loss2 + r * r, loss2)
    peak_r = tl.where(sum_r > peak_r, sum_r, peak_r)
    fall_r = peak_r - sum_r
    deepest_r = tl.where(fall_r > deepest_r, fall_r, deepest_r)
    equity = tl.where(m_k, equity * (1.0 + risk_fraction * r), equity)
    peak = tl.where(equity > peak, equity, peak)
    tl.store(p_fall, peak - equity, mask=m_k)
    tl.store(p_peak, peak, mask=m_k)
    return sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak


@triton.jit
def fold_kernel(p_trades, p_dense_r, p_falls, p_peaks, p_out, p_costs, n_pairs,
                N_OUT: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """What depends on the order of trades; grid (blocks of pairs), a lane a pair.

    p_falls, p_peaks: [capacity, P, W] receive equity's distance from its peak and the peak after
    each trade, so that their quotients can be formed side by side.
    """
    risk_fraction = tl.load(p_costs + 2)
    o_pair = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    m_pair = o_pair < n_pairs
    n_trades = tl.load(p_trades + o_pair, mask=m_pair, other=0)
    sum_r = tl.zeros([LANES], tl.float64)
    sum_r2 = tl.zeros([LANES], tl.float64)
    gain = tl.zeros([LANES], tl.float64)
    loss = tl.zeros([LANES], tl.float64)
    loss2 = tl.zeros([LANES], tl.float64)
    peak_r = tl.zeros([LANES], tl.float64)
    deepest_r = tl.zeros([LANES], tl.float64)
    equity = tl.full([LANES], 1.0, tl.float64)
    peak = tl.full([LANES], 1.0, tl.float64)
    for begin in range(0, tl.max(n_trades, 0), 8):
        k = tl.zeros([LANES], tl.int32) + begin
        o_k = k.to(tl.int64) * n_pairs + o_pair
        r0 = tl.load(p_dense_r + o_k + 0 * n_pairs, mask=k + 0 < n_trades, other=0.0)
        r1 = tl.load(p_dense_r + o_k + 1 * n_pairs, mask=k + 1 < n_trades, other=0.0)
        r2 = tl.load(p_dense_r + o_k + 2 * n_pairs, mask=k + 2 < n_trades, other=0.0)
        r3 = tl.load(p_dense_r + o_k + 3 * n_pairs, mask=k + 3 < n_trades, other=0.0)
        r4 = tl.load(p_dense_r + o_k + 4 * n_pairs, mask=k + 4 < n_trades, other=0.0)
        r5 = tl.load(p_dense_r + o_k + 5 * n_pairs, mask=k + 5 < n_trades, other=0.0)
        r6 = tl.load(p_dense_r + o_k + 6 * n_pairs, mask=k + 6 < n_trades, other=0.0)
        r7 = tl.load(p_dense_r + o_k + 7 * n_pairs, mask=k + 7 < n_trades, other=0.0)
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 0 < n_trades, r0, risk_fraction, p_falls + o_k + 0 * n_pairs,
            p_peaks + o_k + 0 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 1 < n_trades, r1, risk_fraction, p_falls + o_k + 1 * n_pairs,
            p_peaks + o_k + 1 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 2 < n_trades, r2, risk_fraction, p_falls + o_k + 2 * n_pairs,
            p_peaks + o_k + 2 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 3 < n_trades, r3, risk_fraction, p_falls + o_k + 3 * n_pairs,
            p_peaks + o_k + 3 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 4 < n_trades, r4, risk_fraction, p_falls + o_k + 4 * n_pairs,
            p_peaks + o_k + 4 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 5 < n_trades, r5, risk_fraction, p_falls + o_k + 5 * n_pairs,
            p_peaks + o_k + 5 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 6 < n_trades, r6, risk_fraction, p_falls + o_k + 6 * n_pairs,
            p_peaks + o_k + 6 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
        sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r, equity, peak = fold(
            k + 7 < n_trades, r7, risk_fraction, p_falls + o_k + 7 * n_pairs,
            p_peaks + o_k + 7 * n_pairs, sum_r, sum_r2, gain, loss, loss2, peak_r, deepest_r,
            equity, peak)  # fmt: skip
    p_pair = p_out + o_pair * N_OUT
    tl.store(p_pair + 2, sum_r, mask=m_pair)
    tl.store(p_pair + 3, sum_r2, mask=m_pair)
    tl.store(p_pair + 4, gain, mask=m_pair)
    tl.store(p_pair + 5, loss, mask=m_pair)
    tl.store(p_pair + 6, peak_r, mask=m_pair)
    tl.store(p_pair + 7, deepest_r, mask=m_pair)
    tl.store(p_pair + 8, equity, mask=m_pair)
    tl.store(p_pair + 9, peak, mask=m_pair)
    tl.store(p_pair + 18, loss2, mask=m_pair)


@triton.jit
def count_kernel(p_trades, p_rejected, p_taken, p_bars, p_exit_bars, p_reasons, p_dense_r, p_falls,
                 p_peaks, p_out, n_pairs, N_OUT: tl.constexpr, LANES: tl.constexpr,
                 TRADES: tl.constexpr):  # fmt: skip
    """What does not depend on it: counts, and the largest quotient; grid (blocks of pairs)."""
    o_pair = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    m_pair = o_pair < n_pairs
    n_trades = tl.load(p_trades + o_pair, mask=m_pair, other=0)
    deepest = tl.zeros([LANES], tl.float64)
    wins = tl.zeros([LANES], tl.int32)
    held = tl.zeros([LANES], tl.int64)
    n_gap = tl.zeros([LANES], tl.int32)
    n_stop = tl.zeros([LANES], tl.int32)
    n_target = tl.zeros([LANES], tl.int32)
    n_time = tl.zeros([LANES], tl.int32)
    for begin in range(0, tl.max(n_trades, 0), TRADES):
        o_k = begin + tl.arange(0, TRADES)
        inside = o_k[:, None] < n_trades[None, :]
        o_dense = o_k.to(tl.int64)[:, None] * n_pairs + o_pair[None, :]
        place = tl.load(p_taken + o_dense, mask=inside, other=0).to(tl.int64)
        o_list = place * n_pairs + o_pair[None, :]
        reason = tl.load(p_reasons + o_list, mask=inside, other=4)
        exit_bar = tl.load(p_exit_bars + o_list, mask=inside, other=0)
        bar = tl.load(p_bars + o_list, mask=inside, other=0)
        r = tl.load(p_dense_r + o_dense, mask=inside, other=0.0)
        fall = tl.load(p_falls + o_dense, mask=inside, other=0.0)
        peak = tl.load(p_peaks + o_dense, mask=inside, other=1.0)
        deepest = tl.maximum(deepest, tl.max(fall / peak, 0))
        wins += tl.sum((r > 0.0).to(tl.int32), 0)
        held += tl.sum((exit_bar - bar).to(tl.int64), 0)
        n_gap += tl.sum((reason == 0).to(tl.int32), 0)
        n_stop += tl.sum((reason == 1).to(tl.int32), 0)
        n_target += tl.sum((reason == 2).to(tl.int32), 0)
        n_time += tl.sum((reason == 3).to(tl.int32), 0)
    rejected = tl.load(p_rejected + o_pair, mask=m_pair, other=0)
    n_end = n_trades - n_gap - n_stop - n_target - n_time
    p_pair = p_out + o_pair * N_OUT
    tl.store(p_pair, n_trades.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 1, wins.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 10, deepest, mask=m_pair)
    tl.store(p_pair + 11, held.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 12, rejected.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 13, n_gap.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 14, n_stop.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 15, n_target.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 16, n_time.to(tl.float64), mask=m_pair)
    tl.store(p_pair + 17, n_end.to(tl.float64), mask=m_pair)
