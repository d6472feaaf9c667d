"""Stage 4, chain: one position at a time, in whole numbers: which signals find the account flat."""

import triton
import triton.language as tl


@triton.jit
def columns(x):
    """The four columns of x [L, 4]."""
    even, odd = tl.split(tl.reshape(x, (x.shape[0], 2, 2)))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def quad(p_list, begin, count):
    """Four entries of each lane's list, [L, 4], or -1 behind its end."""
    o_k = tl.arange(0, 4)[None, :]
    return tl.load(p_list[:, None] + begin + o_k, mask=(begin < count)[:, None], other=-1)


@triton.jit
def step(p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, bar, place,
         DELAY: tl.constexpr, FINER: tl.constexpr):  # fmt: skip
    """Take one signal if the account is flat; returns the changes.

    A rejected signal ends at its own bar: it is written down too, but the next one takes its line.
    """
    is_flat = bar >= flat_from
    trade = (bar.to(tl.int64) << 32) | place.to(tl.int64)
    tl.store(p_trade + n_trades, trade, mask=is_flat)
    n_flat += is_flat.to(tl.int32)
    n_trades += (is_flat & (place > bar)).to(tl.int32)
    if FINER:
        # Its order at the market touches the bar of the entry.
        p_count = p_finer_of + 2 * (bar + 1 + DELAY).to(tl.int64) + 1
        n_finer = tl.load(p_count, mask=bar >= 0, other=0)
        n_coarse += (is_flat & (n_finer < 0)).to(tl.int32)
    return tl.where(is_flat, place, flat_from), n_flat, n_trades, n_coarse


@triton.jit
def four_steps(p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, bars, places,
               DELAY: tl.constexpr, FINER: tl.constexpr):  # fmt: skip
    """Take four signals in their order; returns the changes."""
    b0, b1, b2, b3 = columns(bars)
    e0, e1, e2, e3 = columns(places)
    flat_from, n_flat, n_trades, n_coarse = step(p_trade, p_finer_of, flat_from, n_flat, n_trades,
                                                 n_coarse, b0, e0, DELAY, FINER)  # fmt: skip
    flat_from, n_flat, n_trades, n_coarse = step(p_trade, p_finer_of, flat_from, n_flat, n_trades,
                                                 n_coarse, b1, e1, DELAY, FINER)  # fmt: skip
    flat_from, n_flat, n_trades, n_coarse = step(p_trade, p_finer_of, flat_from, n_flat, n_trades,
                                                 n_coarse, b2, e2, DELAY, FINER)  # fmt: skip
    return step(p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, b3, e3, DELAY, FINER)


@triton.jit(do_not_specialize=["n_windows"])
def take_kernel(p_size, p_counts, p_bars, p_exits, p_finer_of, p_trade_list, p_trades, p_rejected,
                p_coarse, p_flat, n_windows, capacity, DELAY: tl.constexpr, CARRIES: tl.constexpr,
                FINER: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Signals that become trades; grid (blocks of pairs), a lane a pair.

    p_bars, p_exits: [P, W, capacity] signals, ending in -1 up to a whole sixteen, and their exits.
    p_trade_list: [P, W, capacity] receives the trades, signal bar in the upper half and exit bar in
    the lower. p_trades, p_rejected: [P, W] receive how many. p_flat: [P, W], if CARRIES, the bar
    from which on each account is flat, before and then after these signals. If FINER, p_coarse:
    [P, W] receives the number of entries in bars without finer ones, by p_finer_of as in
    `price_kernel`.
    """
    o_pair = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    m_pair = o_pair < tl.load(p_size) * n_windows
    count = tl.load(p_counts + o_pair, mask=m_pair, other=0)
    p_bar = p_bars + o_pair * capacity
    p_exit = p_exits + o_pair * capacity
    p_trade = p_trade_list + o_pair * capacity
    flat_from = tl.zeros([LANES], tl.int32)
    if CARRIES:
        flat_from = tl.load(p_flat + o_pair, mask=m_pair, other=0)
    n_flat = tl.zeros([LANES], tl.int32)
    n_trades = tl.zeros([LANES], tl.int32)
    n_coarse = tl.zeros([LANES], tl.int32)
    # Loads do not depend on decisions: the next signals are always in flight.
    b0 = quad(p_bar, 0, count)
    e0 = quad(p_exit, 0, count)
    b1 = quad(p_bar, 4, count)
    e1 = quad(p_exit, 4, count)
    b2 = quad(p_bar, 8, count)
    e2 = quad(p_exit, 8, count)
    b3 = quad(p_bar, 12, count)
    e3 = quad(p_exit, 12, count)
    for begin in range(0, tl.max(count, 0), 16):
        next_b0 = quad(p_bar, begin + 16, count)
        next_e0 = quad(p_exit, begin + 16, count)
        next_b1 = quad(p_bar, begin + 20, count)
        next_e1 = quad(p_exit, begin + 20, count)
        next_b2 = quad(p_bar, begin + 24, count)
        next_e2 = quad(p_exit, begin + 24, count)
        next_b3 = quad(p_bar, begin + 28, count)
        next_e3 = quad(p_exit, begin + 28, count)
        flat_from, n_flat, n_trades, n_coarse = four_steps(
            p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, b0, e0, DELAY, FINER
        )
        flat_from, n_flat, n_trades, n_coarse = four_steps(
            p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, b1, e1, DELAY, FINER
        )
        flat_from, n_flat, n_trades, n_coarse = four_steps(
            p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, b2, e2, DELAY, FINER
        )
        flat_from, n_flat, n_trades, n_coarse = four_steps(
            p_trade, p_finer_of, flat_from, n_flat, n_trades, n_coarse, b3, e3, DELAY, FINER
        )
        b0, b1, b2, b3 = next_b0, next_b1, next_b2, next_b3
        e0, e1, e2, e3 = next_e0, next_e1, next_e2, next_e3
    tl.store(p_trades + o_pair, n_trades, mask=m_pair)
    tl.store(p_rejected + o_pair, n_flat - n_trades, mask=m_pair)
    if FINER:
        tl.store(p_coarse + o_pair, n_coarse, mask=m_pair)
    if CARRIES:
        tl.store(p_flat + o_pair, flat_from, mask=m_pair)
