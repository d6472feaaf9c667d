"""Sums of trades that must be added in their order, and the falls of accounts.

Only what must go in order does: sums and equity, one rounding an operation, a lane for each.
Prices, counts, peaks and quotients are formed for many trades side by side; a maximum and a count
are the same in any order.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX

SUM_R = tl.constexpr(ACCUMULATOR_INDEX["sum_r"])
PEAK_R = tl.constexpr(ACCUMULATOR_INDEX["peak_r"])
MAX_DRAWDOWN_R = tl.constexpr(ACCUMULATOR_INDEX["max_drawdown_r"])
EQUITY = tl.constexpr(ACCUMULATOR_INDEX["equity"])
PEAK_EQUITY = tl.constexpr(ACCUMULATOR_INDEX["peak_equity"])
MAX_DRAWDOWN = tl.constexpr(ACCUMULATOR_INDEX["max_drawdown"])
LOSS_R2 = tl.constexpr(ACCUMULATOR_INDEX["loss_r2"])


@triton.jit
def duo(p_list, begin, n_trades):
    """R of two trades of each lane, [L, 2], or zeros behind the last."""
    o_k = tl.arange(0, 2)[None, :]
    return tl.load(p_list[:, None] + begin + o_k, mask=(begin < n_trades)[:, None], other=0.0)


@triton.jit
def eight(p_list, begin, n_trades):
    """The same of eight trades, two at a time."""
    return (
        duo(p_list, begin, n_trades),
        duo(p_list, begin + 2, n_trades),
        duo(p_list, begin + 4, n_trades),
        duo(p_list, begin + 6, n_trades),
    )


@triton.jit
def term(r, kind):
    """Terms that a trade adds to the sum of a kind: r, r * r, gain, loss."""
    factor = tl.where(kind == 1, r, tl.where(kind == 3, -1.0, 1.0))
    counts = (kind < 2) | ((r > 0.0) == (kind == 2))
    return tl.where(counts, r * factor, 0.0)


@triton.jit
def add_two(rs, total, kind, p_sums, begin, m_keep):
    """Add two trades to each lane's sum and keep the sums on the way; returns the sum."""
    o_k = tl.arange(0, 2)[None, :]
    r0, r1 = tl.split(rs)
    after_0 = total + term(r0, kind)
    after_1 = after_0 + term(r1, kind)
    tl.store(p_sums[:, None] + begin + o_k, tl.join(after_0, after_1), mask=m_keep[:, None])
    return after_1


@triton.jit
def add_eight(r0, r1, r2, r3, total, kind, p_sums, begin, n_trades):
    """The same of eight trades, where there are some."""
    m_keep = (kind == 0) & (begin < n_trades)
    total = add_two(r0, total, kind, p_sums, begin, m_keep)
    total = add_two(r1, total, kind, p_sums, begin + 2, m_keep)
    total = add_two(r2, total, kind, p_sums, begin + 4, m_keep)
    return add_two(r3, total, kind, p_sums, begin + 6, m_keep)


@triton.jit
def above_zero(x):
    """Whatever of x is above 0, and 0 for the rest, NaN included."""
    return tl.where(x > 0.0, x, 0.0)


@triton.jit
def grow_two(rs, equity, loss2, risk_fraction, p_equity, begin, m_keep):
    """Let two trades change each lane's equity, kept on the way, and its losses squared.

    Ruin is a factor of 0, so that equity waits for nothing but the products. Only 0 times infinity
    is then NaN where the law has 0, and stays NaN: readers of equity take `above_zero` of it.
    """
    o_k = tl.arange(0, 2)[None, :]
    r0, r1 = tl.split(rs)
    after_0 = equity * above_zero(1.0 + risk_fraction * r0)
    after_1 = after_0 * above_zero(1.0 + risk_fraction * r1)
    tl.store(p_equity[:, None] + begin + o_k, tl.join(after_0, after_1), mask=m_keep[:, None])
    loss2 += tl.where(r0 > 0.0, 0.0, r0 * r0)
    loss2 += tl.where(r1 > 0.0, 0.0, r1 * r1)
    return after_1, loss2


@triton.jit
def grow_eight(r0, r1, r2, r3, equity, loss2, risk_fraction, p_equity, begin, n_trades):
    """The same of eight trades, where there are some."""
    m_keep = begin < n_trades
    equity, loss2 = grow_two(r0, equity, loss2, risk_fraction, p_equity, begin, m_keep)
    equity, loss2 = grow_two(r1, equity, loss2, risk_fraction, p_equity, begin + 2, m_keep)
    equity, loss2 = grow_two(r2, equity, loss2, risk_fraction, p_equity, begin + 4, m_keep)
    return grow_two(r3, equity, loss2, risk_fraction, p_equity, begin + 6, m_keep)


@triton.jit(noinline=True)
def add_all(n_pairs, p_trades, p_r, p_sums, p_out, capacity, N_OUT: tl.constexpr,
            PAIRS: tl.constexpr):  # fmt: skip
    """The sums of a block of pairs, four lanes a pair."""
    lane = tl.arange(0, PAIRS * 4)
    kind = lane % 4
    o_pair = tl.program_id(0).to(tl.int64) * PAIRS + lane // 4
    m_pair = o_pair < n_pairs
    n_trades = tl.load(p_trades + o_pair, mask=m_pair, other=0)
    p_list = p_r + o_pair * capacity
    p_after = p_sums + o_pair * capacity
    total = tl.zeros([PAIRS * 4], tl.float64)
    a0, a1, a2, a3 = eight(p_list, 0, n_trades)
    b0, b1, b2, b3 = eight(p_list, 8, n_trades)
    c0, c1, c2, c3 = eight(p_list, 16, n_trades)
    d0, d1, d2, d3 = eight(p_list, 24, n_trades)
    # Memory answers later than eight trades take: the next thirty-two are always in flight.
    for begin in range(0, tl.max(n_trades, 0), 32):
        next_a0, next_a1, next_a2, next_a3 = eight(p_list, begin + 32, n_trades)
        next_b0, next_b1, next_b2, next_b3 = eight(p_list, begin + 40, n_trades)
        next_c0, next_c1, next_c2, next_c3 = eight(p_list, begin + 48, n_trades)
        next_d0, next_d1, next_d2, next_d3 = eight(p_list, begin + 56, n_trades)
        total = add_eight(a0, a1, a2, a3, total, kind, p_after, begin, n_trades)
        total = add_eight(b0, b1, b2, b3, total, kind, p_after, begin + 8, n_trades)
        total = add_eight(c0, c1, c2, c3, total, kind, p_after, begin + 16, n_trades)
        total = add_eight(d0, d1, d2, d3, total, kind, p_after, begin + 24, n_trades)
        a0, a1, a2, a3 = next_a0, next_a1, next_a2, next_a3
        b0, b1, b2, b3 = next_b0, next_b1, next_b2, next_b3
        c0, c1, c2, c3 = next_c0, next_c1, next_c2, next_c3
        d0, d1, d2, d3 = next_d0, next_d1, next_d2, next_d3
    tl.store(p_out + o_pair * N_OUT + SUM_R + kind, total, mask=m_pair)


@triton.jit(noinline=True)
def grow_all(n_pairs, p_trades, p_r, p_equity, p_costs, p_out, capacity, N_OUT: tl.constexpr,
             PAIRS: tl.constexpr):  # fmt: skip
    """The equity of a block of pairs, and their losses squared, a lane a pair."""
    o_pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    m_pair = o_pair < n_pairs
    n_trades = tl.load(p_trades + o_pair, mask=m_pair, other=0)
    risk_fraction = tl.load(p_costs + 2)
    p_list = p_r + o_pair * capacity
    p_after = p_equity + o_pair * capacity
    equity = tl.full([PAIRS], 1.0, tl.float64)
    loss2 = tl.zeros([PAIRS], tl.float64)
    a0, a1, a2, a3 = eight(p_list, 0, n_trades)
    b0, b1, b2, b3 = eight(p_list, 8, n_trades)
    c0, c1, c2, c3 = eight(p_list, 16, n_trades)
    d0, d1, d2, d3 = eight(p_list, 24, n_trades)
    # Memory answers later than eight trades take: the next thirty-two are always in flight.
    for begin in range(0, tl.max(n_trades, 0), 32):
        next_a0, next_a1, next_a2, next_a3 = eight(p_list, begin + 32, n_trades)
        next_b0, next_b1, next_b2, next_b3 = eight(p_list, begin + 40, n_trades)
        next_c0, next_c1, next_c2, next_c3 = eight(p_list, begin + 48, n_trades)
        next_d0, next_d1, next_d2, next_d3 = eight(p_list, begin + 56, n_trades)
        equity, loss2 = grow_eight(
            a0, a1, a2, a3, equity, loss2, risk_fraction, p_after, begin, n_trades
        )
        equity, loss2 = grow_eight(
            b0, b1, b2, b3, equity, loss2, risk_fraction, p_after, begin + 8, n_trades
        )
        equity, loss2 = grow_eight(
            c0, c1, c2, c3, equity, loss2, risk_fraction, p_after, begin + 16, n_trades
        )
        equity, loss2 = grow_eight(
            d0, d1, d2, d3, equity, loss2, risk_fraction, p_after, begin + 24, n_trades
        )
        a0, a1, a2, a3 = next_a0, next_a1, next_a2, next_a3
        b0, b1, b2, b3 = next_b0, next_b1, next_b2, next_b3
        c0, c1, c2, c3 = next_c0, next_c1, next_c2, next_c3
        d0, d1, d2, d3 = next_d0, next_d1, next_d2, next_d3
    tl.store(p_out + o_pair * N_OUT + EQUITY, above_zero(equity), mask=m_pair)
    tl.store(p_out + o_pair * N_OUT + LOSS_R2, loss2, mask=m_pair)


@triton.jit
def larger(a, b):
    """The larger of two numbers; a NaN is passed over."""
    return tl.where(b > a, b, a)


@triton.jit(do_not_specialize=["n_windows"])
def drawdown_kernel(p_size, p_trades, p_sums, p_equity, p_out, n_windows, capacity,
                    N_OUT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Peaks and the deepest falls from them; grid (pairs)."""
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    n_trades = tl.load(p_trades + i_pair)
    peak_r = tl.zeros([], tl.float64)
    deepest_r = tl.zeros([], tl.float64)
    peak = tl.full([], 1.0, tl.float64)
    deepest = tl.zeros([], tl.float64)
    p_pair = p_out + i_pair * N_OUT
    for begin in range(0, n_trades, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        o_list = i_pair * capacity + o_k
        sums = tl.load(p_sums + o_list, mask=inside, other=float("-inf"))
        equity = above_zero(tl.load(p_equity + o_list, mask=inside, other=0.0))
        peaks_r = larger(peak_r, tl.associative_scan(sums, 0, larger))
        peaks = larger(peak, tl.associative_scan(equity, 0, larger))
        falls_r = tl.where(inside, peaks_r - sums, 0.0)
        falls = tl.where(inside, peaks - equity, 0.0) / peaks
        deepest_r = larger(deepest_r, tl.max(falls_r, 0))
        deepest = larger(deepest, tl.max(falls, 0))
        peak_r = larger(peak_r, tl.max(sums, 0))
        peak = larger(peak, tl.max(equity, 0))
    tl.store(p_pair + PEAK_R, peak_r)
    tl.store(p_pair + MAX_DRAWDOWN_R, deepest_r)
    tl.store(p_pair + PEAK_EQUITY, peak)
    tl.store(p_pair + MAX_DRAWDOWN, deepest)
