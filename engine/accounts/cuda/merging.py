"""Trades of several windows as one account: each is put in its place in the order of their exits.

Nothing here is a sum of numbers that are not whole: where a trade stands is how many trades of all
windows change the account before it. Merged lists are then folded as those of one window are.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX

TRADES = tl.constexpr(ACCUMULATOR_INDEX["trades"])


@triton.jit(do_not_specialize=["n_windows"])
def time_kernel(p_size, p_trades, p_trade_list, p_opened, p_times, n_windows, capacity,
                BLOCK: tl.constexpr):  # fmt: skip
    """When the exit bar of each trade opens; grid (pairs).

    p_trade_list: [P, W, capacity] exit bars in the lower half. p_opened: [B] int64 when bars open,
    ns. p_times: [P, W, capacity] int64 receives the exits' times.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    n_trades = tl.load(p_trades + i_pair)
    for begin in range(0, n_trades, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        o_list = i_pair * capacity + o_k
        exit_bar = tl.load(p_trade_list + o_list, mask=inside, other=0) & 0x7FFFFFFF
        opened = tl.load(p_opened + exit_bar, mask=inside, other=0)
        tl.store(p_times + o_list, opened, mask=inside)


@triton.jit
def find_start(p_windows, p_met, i_pair, n_windows, MEETS_OWN: tl.constexpr):
    """First bar of a pair's window on the common axis, where series follow one another."""
    i_window = i_pair % n_windows
    if MEETS_OWN:
        i_window = tl.load(p_met + i_pair).to(tl.int64)
    return tl.load(p_windows + i_window * 3 + 1)


@triton.jit
def count_earlier(p_list, count, bounds, inside):
    """How many times of a list, which ascends, are below each of some bounds; by halving."""
    low = tl.zeros_like(bounds).to(tl.int32)
    high = low + count
    left = count
    while left > 0:
        middle = (low + high) >> 1
        is_open = inside & (low < high)
        time = tl.load(p_list + middle, mask=is_open, other=0)
        is_below = is_open & (time < bounds)
        is_above = is_open & (time >= bounds)
        low = tl.where(is_below, middle + 1, low)
        high = tl.where(is_above, middle, high)
        left = left >> 1
    return low


@triton.jit(do_not_specialize=["n_windows"])
def merge_kernel(p_size, p_trades, p_times, p_r, p_windows, p_met, p_merged, n_windows, capacity,
                 MEETS_OWN: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Put R of each trade in its place in the account; grid (pairs).

    p_times: [P, W, capacity] int64 as of `time_kernel`. p_windows: [N, 3] as of `signal_kernel`,
    and p_met. p_merged: [P, W * capacity] receives R of all trades of an individual, in the order
    of exits; of those that end together in that of series and of windows of a series.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    i_first = i_p * n_windows
    start = find_start(p_windows, p_met, i_pair, n_windows, MEETS_OWN)
    n_trades = tl.load(p_trades + i_pair)
    p_account = p_merged + i_first * capacity
    for begin in range(0, n_trades, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        o_list = i_pair * capacity + o_k
        time = tl.load(p_times + o_list, mask=inside, other=0)
        r = tl.load(p_r + o_list, mask=inside, other=0.0)
        place = o_k
        for w in range(n_windows):
            i_other = i_first + w
            other_start = find_start(p_windows, p_met, i_other, n_windows, MEETS_OWN)
            is_first = (other_start < start) | ((other_start == start) & (i_other < i_pair))
            count = tl.load(p_trades + i_other)
            # Its own trades before it are counted already.
            count = tl.where(i_other == i_pair, 0, count)
            bounds = time + is_first.to(tl.int64)
            place += count_earlier(p_times + i_other * capacity, count, bounds, inside)
        tl.store(p_account + place, r, mask=inside)


@triton.jit(do_not_specialize=["n_windows"])
def count_kernel(p_size, p_out, p_merged, p_trades, p_account, n_windows, capacity,
                 N_OUT: tl.constexpr, COLUMNS: tl.constexpr, WINDOWS: tl.constexpr):  # fmt: skip
    """Counts of an account, which add up; grid (individuals).

    p_out: [P, W, A] of windows. p_merged: as `merge_kernel` leaves it, receives zeros up to a whole
    eight. p_trades: [P] receives how many trades an account has. p_account: [P, A] receives sums
    over windows; those of numbers that are not whole mean nothing, and folding overwrites them.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    o_a = tl.arange(0, COLUMNS)
    p_first = p_out + i_p * n_windows * N_OUT
    sums = tl.zeros([COLUMNS], tl.float64)
    for begin in range(0, n_windows, WINDOWS):
        o_w = begin + tl.arange(0, WINDOWS)
        m_out = (o_w < n_windows)[:, None] & (o_a < N_OUT)[None, :]
        o_out = o_w[:, None] * N_OUT + o_a[None, :]
        sums += tl.sum(tl.load(p_first + o_out, mask=m_out, other=0.0), 0)
    tl.store(p_account + i_p * N_OUT + o_a, sums, mask=o_a < N_OUT)
    n_trades = tl.sum(tl.where(o_a == TRADES, sums, 0.0), 0).to(tl.int32)
    tl.store(p_trades + i_p, n_trades)
    o_end = n_trades + tl.arange(0, 8)
    p_end = p_merged + i_p * n_windows * capacity
    zeros = tl.zeros([8], tl.float64)
    tl.store(p_end + o_end, zeros, mask=o_end < (n_trades + 7) // 8 * 8)
