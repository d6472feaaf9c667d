"""Signals that an account with limits takes, of all windows of an individual in one order.

A trade's result hangs on the signal alone, so that only the taking of signals is decided
here. Only that must go in order, and only taken signals change anything: a warp looks at
many signals, finds the first that is flat and has room, and where the account is full goes on at
the moment at which one of its positions is over. Leverages and counts are formed for many signals
side by side. Moments are ranks of the times at which bars open: a position is over from the first
on that is not before the close of its exit bar.
"""

import triton
import triton.language as tl

from engine.positions.cuda.both_sides import SIGNAL, STOP

NEVER = tl.constexpr(0x7FFFFFFF)
"""Behind all moments; half of it too."""

FAR = tl.constexpr(2**17 - 1)
"""So many moments later, or more."""

NO_TRADE = tl.constexpr(-1)
"""In place of a moment where a signal risks too little."""

NOT_TAKEN = tl.constexpr(-1.0)
"""In place of a leverage."""


@triton.jit(do_not_specialize=["n_windows"])
def ask_kernel(p_size, p_spans, p_order, p_marks, p_leaves, p_leverages, p_opened, p_over,
               p_windows, p_limits, p_pauses, p_asks, p_overs, p_frees, p_others, p_levers,
               p_totals, n_windows, capacity, PAUSES: tl.constexpr, BLOCK: tl.constexpr,
               BLOCKS: tl.constexpr):  # fmt: skip
    """Asks of signals, in their order; grid (individuals, BLOCKS).

    p_spans, p_order: as `order_kernel` has them, of signals in the order in which they are
    answered. p_marks, p_leaves, p_leverages: [P, W, capacity] as `mark_kernel` and `leave_kernel`
    leave them, p_limits: [P, 3] of which the second is an individual's delay; p_pauses: [P] if
    PAUSES, bars after a stop in which no signal counts. p_opened: [B] int64 in the upper half
    moments at which bars open; p_over: [B] int32 from which on a position that ends in them is
    over. p_asks, p_overs, p_frees: [P, W * capacity] receive when a signal asks, from when on its
    position is over, NO_TRADE where it risks too little, and from when on the signals of its window
    and side find it flat again, in twice that plus 1 for a short; p_others: [P, W * capacity]
    receives it of the other side. p_levers: [P, W * capacity] receives its leverage. p_totals: [P,
    W, capacity] receives NOT_TAKEN.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    count = tl.load(p_spans + i_p * 4 + 3).to(tl.int32)
    delay = tl.load(p_limits + i_p * 3 + 1)
    o_first = i_p * n_windows * capacity
    for begin in range(tl.program_id(1) * BLOCK, count, BLOCKS * BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < count
        place = tl.load(p_order + o_first + o_k, mask=inside, other=0)
        window = place // capacity
        end = tl.load(p_windows + window * 3 + 2, mask=inside, other=0)
        series = tl.load(p_windows + window * 3, mask=inside, other=0)
        mark = tl.load(p_marks + o_first + place, mask=inside, other=0)
        leave = tl.load(p_leaves + o_first + place, mask=inside, other=0)
        is_trade = leave >= 0
        is_at_open = is_trade & ((leave & 7) == SIGNAL)
        is_stop = is_trade & ((leave & 7) <= STOP)
        is_short, bar = mark & 1, series + (mark >> 1)
        leave = series + (tl.maximum(leave, 0) >> 3)
        ask = tl.load(p_opened + bar + 1 + delay, mask=inside, other=0) >> 32
        over = tl.load(p_over + leave, mask=inside, other=0)
        follows = leave + 1 + delay
        if PAUSES:
            follows += tl.where(is_stop, tl.load(p_pauses + i_p), 0)
        m_free = inside & (follows < end)
        free = (tl.load(p_opened + follows, mask=m_free, other=0) >> 32).to(tl.int32)
        lever = tl.load(p_leverages + o_first + place, mask=inside, other=0.0)
        # Left at an open, as was known a bar before: the other side may signal there.
        opens = (tl.load(p_opened + leave, mask=inside, other=0) >> 32).to(tl.int32)
        over = tl.where(is_at_open, opens, over)
        follows = follows - is_at_open.to(tl.int32)
        m_other = inside & (follows < end)
        other = (tl.load(p_opened + follows, mask=m_other, other=0) >> 32).to(tl.int32)
        tl.store(p_others + o_first + o_k, tl.where(m_other, other, NEVER), mask=inside)
        free = tl.where(m_free, 2 * free + is_short, NEVER - 1 + is_short)
        tl.store(p_asks + o_first + o_k, ask.to(tl.int32), mask=inside)
        tl.store(p_overs + o_first + o_k, tl.where(is_trade, over, NO_TRADE), mask=inside)
        tl.store(p_frees + o_first + o_k, free, mask=inside)
        tl.store(p_levers + o_first + o_k, lever, mask=inside)
        nothing = tl.zeros([BLOCK], tl.float64) + NOT_TAKEN
        tl.store(p_totals + o_first + place, nothing, mask=inside)


@triton.jit
def add_held(turns, held, is_open, SLOTS: tl.constexpr):
    """The leverages of open positions, added in the order of taking."""
    total = tl.zeros([], tl.float64)
    last = tl.full([], -1, tl.int32)
    left = tl.sum(is_open.to(tl.int32), 0)
    while left > 0:
        last = tl.min(tl.where(is_open & (turns > last), turns, NEVER), 0)
        total += tl.sum(tl.where(is_open & (turns == last), held, 0.0), 0)
        left -= 1
    return total


@triton.jit(do_not_specialize=["n_windows", "max_positions"])
def answer_kernel(p_size, p_spans, p_order, p_asks, p_overs, p_frees, p_levers, p_limit, p_flat,
                  p_oldest, p_taken, n_windows, capacity, max_positions, LEVERED: tl.constexpr,
                  PACKS: tl.constexpr, SLOTS: tl.constexpr, SIGNALS: tl.constexpr):  # fmt: skip
    """Take signals in their order, or not; grid (individuals).

    p_order, p_asks, p_overs, p_frees, p_levers: as `ask_kernel` leaves them. p_limit: most leverage
    of positions together, read if LEVERED; max_positions: most that are open, up to SLOTS. p_flat:
    [P, W, 2] scratch. p_frees: receives, over its former content, the number in the order of each
    taken signal, and p_oldest: [P, W * capacity], in which p_others of `ask_kernel` stand, the
    first among the signals taken before it that may be open. p_taken: [P] receives how many are
    taken. PACKS: whether lane, window and time of a signal are found by one minimum; SIGNALS are
    then 64, and windows fewer than 255.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    count = tl.load(p_spans + i_p * 4 + 3).to(tl.int32)
    o_first = i_p * n_windows * capacity
    n_flat = 2 * n_windows
    p_strand = p_flat + i_p * n_flat
    lane, slot = tl.arange(0, SIGNALS), tl.arange(0, SLOTS)
    for begin in range(0, n_flat, SIGNALS):
        tl.store(p_strand + begin + lane, tl.zeros([SIGNALS], tl.int32),
                 mask=begin + lane < n_flat)  # fmt: skip
    max_leverage = tl.load(p_limit)
    # Of open positions from when on they are over, and in which turn they were taken.
    over_at = tl.full([SLOTS], -1, tl.int32)
    turns = tl.zeros([SLOTS], tl.int32)
    held = tl.zeros([SLOTS], tl.float64)
    gross = tl.zeros([], tl.float64)
    # Entries before this have no room; later ones have, unless others are taken first.
    moment = tl.full([], -1, tl.int32)
    until = tl.full([], NEVER, tl.int32)
    n_taken = tl.zeros([], tl.int32)
    for begin in range(0, count, SIGNALS):
        o_k = begin + lane
        inside = o_k < count
        window = tl.load(p_order + o_first + o_k, mask=inside, other=0) // capacity
        ask = tl.load(p_asks + o_first + o_k, mask=inside, other=-1)
        over = tl.load(p_overs + o_first + o_k, mask=inside, other=NO_TRADE)
        free = tl.load(p_frees + o_first + o_k, mask=inside, other=0)
        other = tl.load(p_oldest + o_first + o_k, mask=inside, other=0)
        side = free & 1
        strand_of, free = 2 * window + side, free >> 1
        lever = tl.zeros([SIGNALS], tl.float64)
        if LEVERED:
            lever = tl.load(p_levers + o_first + o_k, mask=inside, other=0.0)
        # The writes of other lanes to a strand have arrived.
        tl.debug_barrier()
        flat = tl.load(p_strand + strand_of, mask=inside, other=NEVER)
        waits = over != NO_TRADE
        last = tl.max(ask, 0)
        first = tl.min(tl.where(inside, ask, NEVER), 0)
        sign = lane
        if PACKS:
            sign = (lane << 25) | (window << 17) | tl.minimum(tl.maximum(over - first, 0), FAR)
        goes_on = last >= moment
        while goes_on:
            may = waits & (ask >= moment) & (flat <= ask)
            is_open = over_at > moment
            n_open = tl.sum(is_open.to(tl.int32), 0)
            soonest = tl.min(tl.where(is_open, over_at, NEVER), 0)
            place = tl.min(tl.where(is_open, SLOTS, slot), 0)
            oldest = tl.min(tl.where(is_open, turns, n_taken), 0)
            if LEVERED:
                may = may & (ask < until) & (gross + lever <= max_leverage)
                may = may & (n_open < max_positions)
            found = tl.min(tl.where(may, sign, NEVER), 0)
            if found < NEVER:
                chosen = found
                if PACKS:
                    chosen = found >> 25
                    strand = (found >> 17) & 255
                    after = found & FAR
                    over_chosen = first + after
                    if after == FAR:
                        over_chosen = tl.sum(tl.where(lane == chosen, over, 0), 0)
                else:
                    strand = tl.sum(tl.where(lane == chosen, window, 0), 0)
                    over_chosen = tl.sum(tl.where(lane == chosen, over, 0), 0)
                is_chosen = lane == chosen
                free_chosen = tl.sum(tl.where(is_chosen, free, 0), 0)
                over_at = tl.where(slot == place, over_chosen, over_at)
                turns = tl.where(slot == place, n_taken, turns)
                other_chosen = tl.sum(tl.where(is_chosen, other, 0), 0)
                side_chosen = tl.sum(tl.where(is_chosen, side, 0), 0)
                free_chosen = tl.where(side == side_chosen, free_chosen, other_chosen)
                tl.store(p_strand + (strand_of ^ 1), other, mask=is_chosen)
                flat = tl.where(window == strand, free_chosen, flat)
                waits = waits & (lane > chosen)
                tl.store(p_strand + strand_of, free, mask=is_chosen)
                tl.store(p_frees + o_first + n_taken, begin + chosen)
                tl.store(p_oldest + o_first + n_taken, oldest)
                n_taken += 1
                if LEVERED:
                    added = tl.sum(tl.where(is_chosen, lever, 0.0), 0)
                    held = tl.where(slot == place, added, held)
                    gross += added
                    until = tl.minimum(until, over_chosen)
                else:
                    soonest = tl.minimum(soonest, over_chosen)
                    moment = tl.where(n_open + 1 >= max_positions, soonest, moment)
                    goes_on = moment <= last
            elif LEVERED:
                # Nothing more is taken before the next position is over.
                goes_on = until <= last
                if goes_on:
                    moment = until
                    is_left = over_at > moment
                    until = tl.min(tl.where(is_left, over_at, NEVER), 0)
                    gross = add_held(turns, held, is_left, SLOTS)
            else:
                goes_on = last < last
    tl.store(p_taken + i_p, n_taken)


@triton.jit(do_not_specialize=["n_windows"])
def gross_kernel(p_size, p_taken, p_numbers, p_oldest, p_order, p_asks, p_overs, p_levers, p_totals,
                 p_gross, n_windows, capacity, KEEPS: tl.constexpr, BLOCK: tl.constexpr,
                 BLOCKS: tl.constexpr):  # fmt: skip
    """Leverage open at each signal that an account takes; grid (individuals, BLOCKS).

    p_taken, p_numbers, p_oldest: as `answer_kernel` leaves them; p_order, p_asks, p_overs,
    p_levers: as it has them. p_totals, and p_gross if KEEPS: [P, W, capacity] receive leverages
    with the signal's own and without it, added in the order of taking.
    """
    i_p = tl.program_id(0).to(tl.int64)
    if i_p >= tl.load(p_size):
        return
    count = tl.load(p_taken + i_p)
    o_first = i_p * n_windows * capacity
    for begin in range(tl.program_id(1) * BLOCK, count, BLOCKS * BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < count
        number = tl.load(p_numbers + o_first + o_k, mask=inside, other=0)
        ask = tl.load(p_asks + o_first + number, mask=inside, other=0)
        other = tl.load(p_oldest + o_first + o_k, mask=inside, other=0)
        gross = tl.zeros([BLOCK], tl.float64)
        goes_on = inside & (other < o_k)
        while tl.max(goes_on.to(tl.int32), 0) > 0:
            o_other = o_first + tl.load(p_numbers + o_first + other, mask=goes_on, other=0)
            is_open = goes_on & (tl.load(p_overs + o_other, mask=goes_on, other=0) > ask)
            gross += tl.load(p_levers + o_other, mask=is_open, other=0.0)
            other += 1
            goes_on = inside & (other < o_k)
        place = tl.load(p_order + o_first + number, mask=inside, other=0)
        own = tl.load(p_levers + o_first + number, mask=inside, other=0.0)
        tl.store(p_totals + o_first + place, gross + own, mask=inside)
        if KEEPS:
            tl.store(p_gross + o_first + place, gross, mask=inside)
