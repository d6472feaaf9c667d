"""Entries of several lists in one order: where each stands among those of all windows.

Times of an individual are cut into stretches of about as many entries, and a program puts those of
a stretch in order: an entry's place is how many of the stretch come before it, behind all of the
stretches before. Nothing here is a sum of numbers that are not whole. Trades that are put in the
order of their exits are then folded as those of one window are.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX

TRADES = tl.constexpr(ACCUMULATOR_INDEX["trades"])
MAX_LEVERAGE = tl.constexpr(ACCUMULATOR_INDEX["max_leverage"])

LAST_KEY = tl.constexpr(2**63 - 1)
"""Behind all keys."""


@triton.jit(do_not_specialize=["n_windows", "most"])
def span_kernel(p_size, p_counts, p_ranks, p_windows, p_spans, n_windows, capacity, most,
                WINDOWS: tl.constexpr, STRETCH: tl.constexpr):  # fmt: skip
    """Stretches of time of an individual's entries, counted; grid (individuals).

    p_counts: [P, W] entries of lists. p_ranks, p_windows: as of `key_kernel`. p_spans: [P, 4]
    int64 receives the first rank of an individual's windows, how many there are up to the last,
    stretches of about STRETCH entries, `most` at most, and how many entries there are.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    count = tl.zeros([], tl.int64)
    first = tl.full([], LAST_KEY, tl.int64)
    last = tl.zeros([], tl.int64)
    for begin in range(0, n_windows, WINDOWS):
        o_w = begin + tl.arange(0, WINDOWS)
        inside = o_w < n_windows
        i_pair = i_p * n_windows + o_w
        listed = tl.load(p_counts + i_pair, mask=inside, other=0)
        count += tl.sum(tl.minimum(listed, capacity).to(tl.int64), 0)
        start = tl.load(p_windows + o_w * 3 + 1, mask=inside, other=0)
        end = tl.load(p_windows + o_w * 3 + 2, mask=inside, other=1)
        opens = tl.load(p_ranks + start, mask=inside, other=LAST_KEY) >> 32
        closes = tl.load(p_ranks + end - 1, mask=inside, other=0) >> 32
        first = tl.minimum(first, tl.min(opens, 0))
        last = tl.maximum(last, tl.max(closes, 0))
    tl.store(p_spans + i_p * 4, first)
    tl.store(p_spans + i_p * 4 + 1, last - first + 1)
    tl.store(p_spans + i_p * 4 + 2, tl.minimum(tl.maximum(count // STRETCH, 1), most))
    tl.store(p_spans + i_p * 4 + 3, count)


@triton.jit(do_not_specialize=["n_windows", "most"])
def key_kernel(p_size, p_counts, p_list, p_ranks, p_shifts, p_windows, p_spans, p_keys, p_edges,
               n_windows, capacity, most, SIDED: tl.constexpr, WINDOWS: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """Keys by which entries are put in order, and where stretches of time begin; grid (pairs).

    p_counts: [P, W], p_list: [P, W, capacity] bars that rise, counted from their series' first; if
    SIDED (1, else 0) doubled, plus 1 for a short. p_ranks: [B] int64 in the upper half ranks of
    bars, and p_shifts: [P], if SIDED, how far behind a bar that of an individual's entry stands.
    p_windows: [W, 3] first bar of the series, of the window, and one past its last. p_spans: as
    `span_kernel` leaves it. p_keys: [P, W, capacity] int64 receives keys: the bar's rank, and below
    it the window's place among all, by its first bar on the axis on which series follow one
    another. p_edges: [P, W, most + 1] receives how many of a list come before each stretch, and how
    many all are.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    i_p = i_pair // n_windows
    if i_p >= tl.load(p_size):
        return
    i_window = i_pair % n_windows
    start = tl.load(p_windows + i_window * 3 + 1)
    place = tl.zeros([], tl.int64)
    for begin in range(0, n_windows, WINDOWS):
        o_window = begin + tl.arange(0, WINDOWS)
        inside = o_window < n_windows
        other = tl.load(p_windows + o_window * 3 + 1, mask=inside, other=0x7FFFFFFF)
        is_before = (other < start) | ((other == start) & (o_window < i_window))
        place += tl.sum((inside & is_before).to(tl.int64), 0)
    first, length = tl.load(p_spans + i_p * 4), tl.load(p_spans + i_p * 4 + 1)
    stretches = tl.load(p_spans + i_p * 4 + 2)
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    p_edge = p_edges + i_pair * (most + 1)
    p_rank = p_ranks + tl.load(p_windows + i_window * 3)
    if SIDED:
        p_rank += tl.load(p_shifts + i_p)
    for begin in range(0, count + 1, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < count
        o_list = i_pair * capacity + o_k
        bar = tl.load(p_list + o_list, mask=inside, other=0) >> SIDED
        rank = tl.load(p_rank + bar, mask=inside, other=0)
        tl.store(p_keys + o_list, rank | place, mask=inside)
        # Behind the last entry the last stretch ends; before the first one all have none.
        stretch = tl.minimum(((rank >> 32) - first) * stretches // length, stretches - 1)
        stretch = tl.where(inside, stretch, stretches)
        follows = (o_k > 0) & (o_k <= count)
        bar = tl.load(p_list + o_list - 1, mask=follows, other=0) >> SIDED
        rank = tl.load(p_rank + bar, mask=follows, other=0)
        edge = tl.minimum(((rank >> 32) - first) * stretches // length, stretches - 1)
        edge = tl.where(follows, edge, -1) + 1
        begins = (o_k <= count) & (edge <= stretch)
        while tl.max(begins.to(tl.int32), 0) > 0:
            tl.store(p_edge + edge, o_k, mask=begins)
            edge += 1
            begins = begins & (edge <= stretch)


@triton.jit
def find_entries(p_edge, stretch, o_k, n_windows, capacity, most, WINDOWS: tl.constexpr):
    """Where the entries of a stretch of time, by number, lie in their individual's lists.

    Returns places too that there are no entries of: those are numbers behind the last.
    """
    entry = o_k
    before = tl.zeros([], tl.int32)
    for begin in range(0, n_windows, WINDOWS):
        o_w = begin + tl.arange(0, WINDOWS)
        p_from = p_edge + o_w.to(tl.int64) * (most + 1) + stretch
        first = tl.load(p_from, mask=o_w < n_windows, other=0)
        size = tl.load(p_from + 1, mask=o_w < n_windows, other=0) - first
        begins = before + tl.cumsum(size, 0) - size
        is_here = (o_k[:, None] >= begins[None, :]) & (o_k[:, None] < (begins + size)[None, :])
        shift = o_w * capacity + first - begins
        entry += tl.sum(tl.where(is_here, shift[None, :], 0), 1)
        before += tl.sum(size, 0)
    return entry


@triton.jit(do_not_specialize=["n_windows", "most"])
def order_kernel(p_size, p_spans, p_keys, p_edges, p_order, n_windows, capacity, most,
                 TIES: tl.constexpr, WINDOWS: tl.constexpr, SIDE: tl.constexpr,
                 BLOCKS: tl.constexpr):  # fmt: skip
    """Put the entries of all windows in order; grid (individuals, BLOCKS).

    p_spans, p_keys, p_edges: as `key_kernel` has them. p_order: [P, W * capacity] receives where in
    their individual's lists entries lie, in the order of their keys. TIES: whether entries of one
    list may have the same key; they then stay in the order of the list.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    p_key = p_keys + i_p * n_windows * capacity
    p_edge = p_edges + i_p * n_windows * (most + 1)
    o_side = tl.arange(0, SIDE)
    stretches = tl.load(p_spans + i_p * 4 + 2).to(tl.int32)
    for stretch in range(tl.program_id(1), stretches, BLOCKS):
        before, total = tl.zeros([], tl.int32), tl.zeros([], tl.int32)
        for begin in range(0, n_windows, WINDOWS):
            o_w = begin + tl.arange(0, WINDOWS)
            p_from = p_edge + o_w.to(tl.int64) * (most + 1) + stretch
            first = tl.load(p_from, mask=o_w < n_windows, other=0)
            total += tl.sum(tl.load(p_from + 1, mask=o_w < n_windows, other=0) - first, 0)
            before += tl.sum(first, 0)
        p_place = p_order + i_p * n_windows * capacity + before
        for begin in range(0, total, SIDE):
            o_k = begin + o_side
            inside = o_k < total
            entry = find_entries(p_edge, stretch, o_k, n_windows, capacity, most, WINDOWS)
            key = tl.load(p_key + entry, mask=inside, other=LAST_KEY)
            is_before = key[None, :] < key[:, None]
            if TIES:
                is_tie = key[None, :] == key[:, None]
                is_before = is_before | (is_tie & (entry[None, :] < entry[:, None]))
            place = tl.sum(is_before.to(tl.int32), 1)
            # Nearly all stretches are looked at as a whole; of longer ones, the others.
            for begin_others in range(0, total, SIDE):
                if begin_others != begin:
                    o_other = begin_others + o_side
                    other = find_entries(
                        p_edge, stretch, o_other, n_windows, capacity, most, WINDOWS
                    )
                    others = tl.load(p_key + other, mask=o_other < total, other=LAST_KEY)
                    is_before = others[None, :] < key[:, None]
                    if TIES:
                        is_tie = others[None, :] == key[:, None]
                        is_before = is_before | (is_tie & (other[None, :] < entry[:, None]))
                    place += tl.sum(is_before.to(tl.int32), 1)
            tl.store(p_place + place, entry, mask=inside)


@triton.jit(do_not_specialize=["n_windows"])
def arrange_kernel(p_size, p_trades, p_order, p_r, p_merged, n_windows, capacity,
                   BLOCK: tl.constexpr, BLOCKS: tl.constexpr):  # fmt: skip
    """R of trades in their order; grid (individuals, BLOCKS).

    p_trades: [P] how many an account has. p_order: as `order_kernel` leaves it. p_r: [P, W,
    capacity]; p_merged: [P, W * capacity] receives R of trades, and zeros up to a whole eight.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    n_trades = tl.load(p_trades + i_p)
    o_first = i_p * n_windows * capacity
    for begin in range(tl.program_id(1) * BLOCK, n_trades, BLOCKS * BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        entry = tl.load(p_order + o_first + o_k, mask=inside, other=0)
        r = tl.load(p_r + o_first + entry, mask=inside, other=0.0)
        tl.store(p_merged + o_first + o_k, r, mask=o_k < (n_trades + 7) // 8 * 8)


@triton.jit(do_not_specialize=["n_windows"])
def count_kernel(p_size, p_out, p_trades, p_account, n_windows, N_OUT: tl.constexpr,
                 COLUMNS: tl.constexpr, WINDOWS: tl.constexpr):  # fmt: skip
    """Counts of an account, which add up; grid (individuals).

    p_out: [P, W, A] of windows. p_trades: [P] receives how many trades an account has. p_account:
    [P, A] receives sums over windows, and of leverages the greatest; those of other numbers that
    are not whole mean nothing, and folding overwrites them.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    o_a = tl.arange(0, COLUMNS)
    p_first = p_out + i_p * n_windows * N_OUT
    sums = tl.zeros([COLUMNS], tl.float64)
    most = tl.zeros([COLUMNS], tl.float64)
    for begin in range(0, n_windows, WINDOWS):
        o_w = begin + tl.arange(0, WINDOWS)
        m_out = (o_w < n_windows)[:, None] & (o_a < N_OUT)[None, :]
        o_out = o_w[:, None] * N_OUT + o_a[None, :]
        numbers = tl.load(p_first + o_out, mask=m_out, other=0.0)
        sums += tl.sum(numbers, 0)
        most = tl.maximum(most, tl.max(numbers, 0))
    sums = tl.where(o_a == MAX_LEVERAGE, most, sums)
    tl.store(p_account + i_p * N_OUT + o_a, sums, mask=o_a < N_OUT)
    n_trades = tl.sum(tl.where(o_a == TRADES, sums, 0.0), 0).to(tl.int32)
    tl.store(p_trades + i_p, n_trades)
