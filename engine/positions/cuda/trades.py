"""Signals of both sides that become trades, and their counts; what adds up is in `chain`."""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cuda.both_sides import (
    COARSE_ENTRY,
    COARSE_EXIT,
    LATE_GAP,
    SESSION,
    SESSION_OPEN,
    SIGNAL,
    STOP_GAP,
    find_length,
)
from engine.positions.cuda.chain import add_all, duo, grow_all

WINS = tl.constexpr(ACCUMULATOR_INDEX["wins"])
BARS_IN_MARKET = tl.constexpr(ACCUMULATOR_INDEX["bars_in_market"])
REJECTED = tl.constexpr(ACCUMULATOR_INDEX["rejected"])
COARSE = tl.constexpr(ACCUMULATOR_INDEX["coarse"])
SHORTS = tl.constexpr(ACCUMULATOR_INDEX["shorts"])
WINS_SHORT = tl.constexpr(ACCUMULATOR_INDEX["wins_short"])
SUM_R_SHORT = tl.constexpr(ACCUMULATOR_INDEX["sum_r_short"])


MET, ALONE = map(tl.constexpr, (1, 2))
"""Marks of a signal: met by a lane, or by the account with the lane elsewhere."""


@triton.jit
def count_coarse(n_coarse, counted, bar, m):
    """Bars that are touched and not made up of finer ones, each once, and the last of them."""
    is_coarse = m & (bar > counted)
    return n_coarse + is_coarse.to(tl.int32), tl.where(is_coarse, bar, counted)


@triton.jit
def count_coarse_bars(p_next, p_leave, p_mark, p_note, count, delay):
    """Bars of a pair's positions that are touched and not made up of finer ones."""
    signal = tl.zeros([], tl.int32)
    n_coarse, counted = signal, signal - 1
    while signal < count:
        leave = tl.load(p_leave + signal)
        note = tl.load(p_note + signal).to(tl.int32)
        entry_bar = (tl.load(p_mark + signal) >> 1) + 1 + delay
        is_coarse = (note & COARSE_ENTRY) != 0
        n_coarse, counted = count_coarse(n_coarse, counted, entry_bar, is_coarse)
        is_coarse = (leave >= 0) & ((note & COARSE_EXIT) != 0)
        n_coarse, counted = count_coarse(n_coarse, counted, leave >> 3, is_coarse)
        signal = tl.load(p_next + signal)
    return n_coarse


@triton.jit(do_not_specialize=["n_windows"])
def choose_kernel(p_size, p_counts, p_marks, p_leaves, p_nexts, p_seen, p_notes, p_bars,
                  p_trade_list, p_trades, p_rejected, p_coarse, n_windows, capacity,
                  FINER: tl.constexpr, SIGNALS: tl.constexpr, BLOCKS: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """Signals that become trades; grid (pairs).

    p_size: [1] individuals. p_marks, p_leaves: [P, W, capacity], p_nexts: [P, W, 2 capacity] as
    `mark_kernel` and `leave_kernel` leave them. p_seen: [P, W, 2 capacity] is overwritten.
    p_trade_list: [P, W, capacity] receives the places of the signals that are taken. p_trades,
    p_rejected: [P, W] receive how many. If FINER, p_coarse: [P, W] receives how many bars are
    touched that are not made up of finer ones; p_notes, p_bars: as `leave_kernel` has them, as
    SIGNALS and BLOCKS.

    The account meets the first signal, and from each that it meets the next. Of each part of the
    list a lane follows what an account would meet that were flat where the part begins, up to its
    end. Then one part after the other is entered at the account's place after the one before: as
    soon as it meets a signal that the lane has met, the rest is the lane's.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    p_next, p_flag = p_nexts + i_pair * 2 * capacity, p_seen + i_pair * 2 * capacity
    p_leave, p_trade = p_leaves + i_pair * capacity, p_trade_list + i_pair * capacity
    for begin in range(0, count, BLOCK):
        o_s = begin + tl.arange(0, BLOCK)
        tl.store(p_flag + o_s, tl.zeros([BLOCK], tl.int32), mask=o_s < count)
    tl.debug_barrier()
    # Parts begin with stretches, and first signals of stretches are walked.
    part = BLOCKS * find_length(count, BLOCKS * SIGNALS)
    o_part = tl.arange(0, SIGNALS)
    end = tl.minimum((o_part + 1) * part, count)
    place = o_part * part
    walks = place < end
    while tl.max(walks.to(tl.int32), 0) > 0:
        tl.store(p_flag + place, tl.full([SIGNALS], MET, tl.int32), mask=walks)
        place = tl.where(walks, tl.load(p_next + place, mask=walks, other=0), place)
        walks = place < end
    tl.debug_barrier()
    met = tl.zeros([], tl.int32)
    joined = tl.zeros([SIGNALS], tl.int32)
    for k in range(SIGNALS):
        behind = tl.minimum((k + 1) * part, count)
        flag = tl.load(p_flag + met, mask=met < behind, other=MET)
        while flag != MET:
            tl.store(p_flag + met, ALONE)
            met = tl.load(p_next + met)
            flag = tl.load(p_flag + met, mask=met < behind, other=MET)
        joined = tl.where(o_part == k, met, joined)
        met = tl.where(met < behind, tl.sum(tl.where(o_part == k, place, 0), 0), met)
    p_joined = p_flag + capacity
    tl.store(p_joined + o_part, joined)
    tl.debug_barrier()
    n_flat = tl.zeros([], tl.int32)
    n_trades = tl.zeros([], tl.int32)
    for begin in range(0, count, BLOCK):
        o_s = begin + tl.arange(0, BLOCK)
        inside = o_s < count
        flag = tl.load(p_flag + o_s, mask=inside, other=0)
        from_here = tl.load(p_joined + o_s // part, mask=inside, other=0)
        is_flat = (flag == ALONE) | ((flag == MET) & (o_s >= from_here))
        is_taken = tl.load(p_leave + o_s, mask=is_flat, other=-1) >= 0
        bits = is_taken.to(tl.int32)
        entry = n_trades + tl.cumsum(bits, 0) - bits
        tl.store(p_trade + entry, o_s, mask=is_taken)
        n_trades += tl.sum(bits, 0)
        n_flat += tl.sum(is_flat.to(tl.int32), 0)
    tl.store(p_trades + i_pair, n_trades)
    tl.store(p_rejected + i_pair, n_flat - n_trades)
    if FINER:
        delay = tl.load(p_bars + i_pair // n_windows * 3 + 1)
        n_coarse = count_coarse_bars(p_next, p_leave, p_marks + i_pair * capacity,
                                     p_notes + i_pair * capacity, count, delay)  # fmt: skip
        tl.store(p_coarse + i_pair, n_coarse)


@triton.jit(do_not_specialize=["n_windows"])
def tally_kernel(p_size, p_trades, p_rejected, p_coarse, p_trade_list, p_marks, p_leaves, p_notes,
                 p_all_r, p_bars, p_r, p_short_r, p_out, n_windows, capacity, EXITS: tl.constexpr,
                 FINER: tl.constexpr, ENDS: tl.constexpr, N_OUT: tl.constexpr,
                 BLOCK: tl.constexpr):  # fmt: skip
    """R of each trade, and the counts; grid (pairs).

    p_size: [1] individuals. p_all_r: [P, W, capacity] R of each signal, were it taken. p_bars: [P,
    3] as in `mark_kernel`. p_r, p_short_r: [P, W, capacity] receive R of each trade, and 0 in place
    of a long's, with zeros up to a whole eight. p_out: [P, W, A] receives the counts, each reason's
    in its place of EXITS. p_coarse, p_notes: as `choose_kernel` has them, read if FINER.
    p_trade_list: as `choose_kernel` leaves it, receives the bars of exits in place of it if ENDS.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    delay = tl.load(p_bars + i_pair // n_windows * 3 + 1)
    n_trades = tl.load(p_trades + i_pair)
    wins = tl.zeros([BLOCK], tl.int32)
    shorts = tl.zeros([BLOCK], tl.int32)
    short_wins = tl.zeros([BLOCK], tl.int32)
    held = tl.zeros([BLOCK], tl.int64)
    o_reason = tl.arange(0, 8)[None, :]
    reasons = tl.zeros([BLOCK, 8], tl.int32)
    for begin in range(0, n_trades, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < n_trades
        o_list = i_pair * capacity + o_k
        o_signal = i_pair * capacity + tl.load(p_trade_list + o_list, mask=inside, other=0)
        mark = tl.load(p_marks + o_signal, mask=inside, other=0)
        leave = tl.load(p_leaves + o_signal, mask=inside, other=0)
        r = tl.load(p_all_r + o_signal, mask=inside, other=0.0)
        is_short = inside & ((mark & 1) == 1)
        short_r = tl.where(is_short, r, 0.0)
        m_store = o_k < (n_trades + 7) // 8 * 8
        if ENDS:
            tl.store(p_trade_list + o_list, leave >> 3, mask=inside)
        tl.store(p_r + o_list, r, mask=m_store)
        tl.store(p_short_r + o_list, short_r, mask=m_store)
        wins += (r > 0.0).to(tl.int32)
        shorts += is_short.to(tl.int32)
        short_wins += (short_r > 0.0).to(tl.int32)
        how = leave & 7
        is_open = (how == SIGNAL) | (how == STOP_GAP) | (how == SESSION_OPEN)
        if FINER:
            note = tl.load(p_notes + o_signal, mask=inside, other=0).to(tl.int32)
            is_open = is_open & ((note & LATE_GAP) == 0)
        bars = (leave >> 3) - (mark >> 1) - delay - is_open.to(tl.int32)
        held += tl.where(inside, bars, 0).to(tl.int64)
        reason = tl.where(how == SESSION_OPEN, SESSION, how)[:, None]
        reasons += (inside[:, None] & (reason == o_reason)).to(tl.int32)
    p_pair = p_out + i_pair * N_OUT
    tl.store(p_pair, n_trades.to(tl.float64))
    tl.store(p_pair + WINS, tl.sum(wins, 0).to(tl.float64))
    tl.store(p_pair + BARS_IN_MARKET, tl.sum(held, 0).to(tl.float64))
    tl.store(p_pair + REJECTED, tl.load(p_rejected + i_pair).to(tl.float64))
    tl.store(p_pair + SHORTS, tl.sum(shorts, 0).to(tl.float64))
    tl.store(p_pair + WINS_SHORT, tl.sum(short_wins, 0).to(tl.float64))
    if FINER:
        tl.store(p_pair + COARSE, tl.load(p_coarse + i_pair).to(tl.float64))
    counts = tl.sum(reasons, 0)
    for k in tl.static_range(len(EXITS)):
        count = tl.sum(tl.where(tl.arange(0, 8) == k, counts, 0), 0)
        tl.store(p_pair + EXITS[k], count.to(tl.float64))


@triton.jit(noinline=True)
def add_shorts(n_pairs, p_trades, p_short_r, p_out, capacity, N_OUT: tl.constexpr,
               PAIRS: tl.constexpr):  # fmt: skip
    """The sum of R of shorts of a block of pairs, a lane a pair; a long is 0 and changes none."""
    o_pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    m_pair = o_pair < n_pairs
    n_trades = tl.load(p_trades + o_pair, mask=m_pair, other=0)
    p_list = p_short_r + o_pair * capacity
    total = tl.zeros([PAIRS], tl.float64)
    r0, r1 = duo(p_list, 0, n_trades), duo(p_list, 2, n_trades)
    r2, r3 = duo(p_list, 4, n_trades), duo(p_list, 6, n_trades)
    for begin in range(0, tl.max(n_trades, 0), 8):
        next_0 = duo(p_list, begin + 8, n_trades)
        next_1 = duo(p_list, begin + 10, n_trades)
        next_2 = duo(p_list, begin + 12, n_trades)
        next_3 = duo(p_list, begin + 14, n_trades)
        total = add_one_by_one(total, r0)
        total = add_one_by_one(total, r1)
        total = add_one_by_one(total, r2)
        total = add_one_by_one(total, r3)
        r0, r1, r2, r3 = next_0, next_1, next_2, next_3
    tl.store(p_out + o_pair * N_OUT + SUM_R_SHORT, total, mask=m_pair)


@triton.jit
def add_one_by_one(total, rs):
    """Add two trades to each lane's sum, in their order."""
    r0, r1 = tl.split(rs)
    return (total + r0) + r1


@triton.jit(do_not_specialize=["n_windows"])
def settle_kernel(p_size, p_trades, p_r, p_short_r, p_sums, p_equity, p_charges, p_out, n_windows,
                  capacity, N_OUT: tl.constexpr, PAIRS: tl.constexpr):  # fmt: skip
    """Sums that depend on the order of trades; grid (blocks of PAIRS pairs, 3).

    A third of the programs adds R, its square, gains and losses; another multiplies equity, the
    last adds R of shorts. A trade of R 0 changes nothing, so that lists may end in zeros. p_sums,
    p_equity: [P, W, capacity] receive the sum of R and the equity after each trade.
    """
    n_pairs = tl.load(p_size) * n_windows
    if tl.program_id(1) == 0:
        add_all(n_pairs, p_trades, p_r, p_sums, p_out, capacity, N_OUT, PAIRS)
    elif tl.program_id(1) == 1:
        grow_all(n_pairs, p_trades, p_r, p_equity, p_charges, p_out, capacity, N_OUT, PAIRS)
    else:
        add_shorts(n_pairs, p_trades, p_short_r, p_out, capacity, N_OUT, PAIRS)
