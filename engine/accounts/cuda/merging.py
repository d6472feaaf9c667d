"""Trades of several windows as one account: put in the order of their exits, pair by pair of lists.

Nothing here is a sum of numbers that are not whole: where a trade stands in two lists together is
where it stands in its own and how many of the other change the account before it. The one list that
is left is then folded as that of a window is.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX

TRADES = tl.constexpr(ACCUMULATOR_INDEX["trades"])


@triton.jit(do_not_specialize=["n_windows"])
def key_kernel(p_size, p_trades, p_trade_list, p_ranks, p_windows, p_met, p_keys, n_windows,
               capacity, MEETS_OWN: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Keys by which trades change an account; grid (pairs).

    p_trade_list: [P, W, capacity] exit bars in the lower half. p_ranks: [B] int64 in the upper half
    ranks of the times at which bars open. p_windows: [N, 3] as of `signal_kernel`, and p_met.
    p_keys: [P, W, capacity] int64 receives keys: the exit's rank, and below it the window's first
    bar on the axis on which series follow one another.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    i_window = i_pair % n_windows
    if MEETS_OWN:
        i_window = tl.load(p_met + i_pair).to(tl.int64)
    start = tl.load(p_windows + i_window * 3 + 1).to(tl.int64)
    n_trades = tl.load(p_trades + i_pair)
    for begin in range(0, n_trades, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        o_list = i_pair * capacity + o_k
        exit_bar = tl.load(p_trade_list + o_list, mask=inside, other=0) & 0x7FFFFFFF
        rank = tl.load(p_ranks + exit_bar, mask=inside, other=0)
        tl.store(p_keys + o_list, rank | start, mask=inside)


@triton.jit
def count_earlier(p_keys, begin, count, longest, bounds, inside):
    """How many keys of ascending lists are below bounds, by halving.

    Each lane has a list, which begins at `begin` and has `count` entries, `longest` at most.
    """
    low = tl.zeros_like(count)
    high = count
    left = longest
    while left > 0:
        middle = (low + high) >> 1
        is_open = inside & (low < high)
        key = tl.load(p_keys + begin + middle, mask=is_open, other=0)
        is_below = is_open & (key < bounds)
        is_above = is_open & (key >= bounds)
        low = tl.where(is_below, middle + 1, low)
        high = tl.where(is_above, middle, high)
        left = left >> 1
    return low


@triton.jit(do_not_specialize=["n_windows", "group"])
def merge_kernel(p_size, p_counts, p_keys, p_r, p_next_counts, p_next_keys, p_next_r, n_windows,
                 capacity, group, BLOCK: tl.constexpr):  # fmt: skip
    """Merge each two neighbours of an individual's lists; grid (pairs).

    Each list holds the trades of `group` windows and lies where that of the first of them began, in
    which p_counts: [P, W] has its length. p_keys, p_r: [P, W, capacity] keys and R of trades. What
    comes next, where lists hold twice as many windows, is received likewise. All programs of the
    two lists' windows share the work.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    window = (i_pair % n_windows).to(tl.int32)
    first = window // (2 * group) * (2 * group)
    second = first + group
    i_first = i_p * n_windows + first
    n_first = tl.load(p_counts + i_first)
    n_second = tl.load(p_counts + i_first + group, mask=second < n_windows, other=0)
    count = n_first + n_second
    if window == first:
        tl.store(p_next_counts + i_first, count)
    o_first = i_first * capacity
    begin = (window - first) * BLOCK
    while begin < count:
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < count
        is_second = o_k >= n_first
        place = tl.where(is_second, o_k - n_first, o_k)
        o_list = o_first + place + tl.where(is_second, group * capacity, 0)
        key = tl.load(p_keys + o_list, mask=inside, other=0)
        r = tl.load(p_r + o_list, mask=inside, other=0.0)
        # Of equal keys, which only a window that is met twice has, the first list's come first.
        bounds = key + is_second.to(tl.int64)
        o_other = tl.where(is_second, 0, group * capacity)
        n_other = tl.where(is_second, n_first, n_second)
        longest = tl.maximum(n_first, n_second)
        place += count_earlier(p_keys + o_first, o_other, n_other, longest, bounds, inside)
        tl.store(p_next_keys + o_first + place, key, mask=inside)
        tl.store(p_next_r + o_first + place, r, mask=inside)
        begin += tl.minimum(2 * group, n_windows - first) * BLOCK


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
