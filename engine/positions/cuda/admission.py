"""Signals of all strands of an account with limits that ask for room: who is taken.

A lane is a strand, and neighbouring lanes are an individual's account. Each lane goes on to its
next signal that finds the strand flat; of the lanes that ask, the account answers the first by
time, rank and strand. Whether a signal is taken is all that is decided here: what its trade comes
to hangs on the signal alone, and stands in the lists of `both_sides`.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cuda.both_sides import (
    COARSE_ENTRY,
    COARSE_EXIT,
    NOT_THERE,
    REJECTED,
    SIGNAL,
    next_flat,
)
from engine.positions.cuda.trades import count_coarse

SKIPPED = tl.constexpr(ACCUMULATOR_INDEX["skipped"])
MAX_LEVERAGE = tl.constexpr(ACCUMULATOR_INDEX["max_leverage"])

NEVER_NS = tl.constexpr(2**63 - 1)
"""In place of a time: no signal asks."""

NONE_OPEN = tl.constexpr(-1)


@triton.jit(do_not_specialize=["n_members", "n_strands", "max_positions"])
def admit_kernel(p_counts, p_marks, p_leaves, p_leverages, p_notes, p_bars, p_times, p_ranks,
                 p_limit, p_strands, p_windows, p_places, p_gross, p_trades, p_rejected, p_coarse,
                 p_out, n_members, n_strands, max_positions, capacity, RANKED: tl.constexpr,
                 KEEPS: tl.constexpr, FINER: tl.constexpr, N_OUT: tl.constexpr,
                 MEMBERS: tl.constexpr, STRANDS: tl.constexpr):  # fmt: skip
    """Admit signals of all strands in their turn, or not; grid (blocks of MEMBERS individuals).

    p_counts, p_marks, p_leaves: [pairs], [pairs, capacity] as `mark_kernel` and `leave_kernel`
    leave them, all signals asked for. p_leverages: [pairs, capacity]. p_bars: [P, 3] as in
    `mark_kernel`. p_times: [B] int64 when bars open, ns, series after series. p_ranks: [B] if
    RANKED whose signal is taken first. p_limit: most leverage of positions together; max_positions:
    most that are open. p_strands: [S, 4] int64 first window, one past the last, first of B, and ns
    of a bar. p_windows: [W, 2] int64 of windows, strand after strand, the pair of the first
    individual, and pairs from one individual to the next. p_places: [pairs, capacity] receives
    which signals are taken, p_trades, p_rejected: [pairs] how many, p_out: [pairs, A] how many are
    skipped and the greatest leverage. p_gross: [pairs, capacity] if KEEPS receives what other
    strands have open at each trade. p_notes: [pairs, capacity] as `leave_kernel` leaves them, and
    p_coarse: [pairs], as `choose_kernel` has it, if FINER.
    """
    N: tl.constexpr = MEMBERS * STRANDS
    lane = tl.arange(0, N)
    o_p = tl.program_id(0).to(tl.int64) * MEMBERS + lane // STRANDS
    strand = lane % STRANDS
    m = (o_p < n_members) & (strand < n_strands)
    delay = tl.load(p_bars + o_p * 3 + 1, mask=m, other=0)
    window = tl.load(p_strands + strand * 4, mask=m, other=0)
    last = tl.load(p_strands + strand * 4 + 1, mask=m, other=0)
    p_time = p_times + tl.load(p_strands + strand * 4 + 2, mask=m, other=0)
    p_rank = p_ranks + tl.load(p_strands + strand * 4 + 2, mask=m, other=0)
    bar_ns = tl.load(p_strands + strand * 4 + 3, mask=m, other=0)
    max_leverage = tl.load(p_limit)
    # Where each strand stands, and what was counted in its window.
    nothing = tl.zeros([N], tl.int32)
    i, flat_long, flat_short, count = nothing, nothing, nothing, nothing
    n_trades, n_rejected, n_skipped = nothing, nothing, nothing
    note, n_coarse, counted = nothing, nothing, nothing - 1
    most = tl.zeros([N], tl.float64)
    o_pair = tl.zeros([N], tl.int64)
    # The signal with which it asks.
    mark, leave = nothing, nothing
    asks_ns = tl.zeros([N], tl.int64) + NEVER_NS
    over_ns = tl.zeros([N], tl.int64)
    leverage, rank = most, most
    # Its open position: the turn in which it was taken, and what is known of it.
    turn = tl.zeros([], tl.int32)
    open_turn = tl.zeros([MEMBERS, STRANDS], tl.int32) + NONE_OPEN
    open_ns = tl.zeros([MEMBERS, STRANDS], tl.int64)
    held = tl.zeros([MEMBERS, STRANDS], tl.float64)
    column = tl.reshape(strand, (MEMBERS, STRANDS))
    seeks = m & (window < last)
    begins = seeks
    asks = lane < 0
    while tl.max((seeks | asks).to(tl.int32), 0) > 0:
        while tl.max(seeks.to(tl.int32), 0) > 0:
            o_first = tl.load(p_windows + window * 2, mask=begins, other=0)
            step = tl.load(p_windows + window * 2 + 1, mask=begins, other=0)
            o_pair = tl.where(begins, o_first + o_p * step, o_pair)
            listed = tl.load(p_counts + o_pair, mask=begins, other=0)
            count = tl.where(begins, tl.minimum(listed, capacity), count)
            p_list = p_marks + o_pair * capacity
            i = next_flat(p_list[:, None], i, seeks, count, flat_long, flat_short, N)
            is_here = seeks & (i < count)
            o_list = o_pair * capacity + i
            new_leave = tl.load(p_leaves + o_list, mask=is_here, other=REJECTED)
            is_found = is_here & (new_leave >= 0)
            new_mark = tl.load(p_marks + o_list, mask=is_found, other=0)
            bar = new_mark >> 1
            entered_ns = tl.load(p_time + bar + 1 + delay, mask=is_found, other=0)
            left_ns = tl.load(p_time + (new_leave >> 3), mask=is_found, other=0)
            left_ns += tl.where((new_leave & 7) == SIGNAL, 0, bar_ns)
            new_leverage = tl.load(p_leverages + o_list, mask=is_found, other=0.0)
            mark, leave = tl.where(is_found, new_mark, mark), tl.where(is_found, new_leave, leave)
            asks_ns = tl.where(is_found, entered_ns, asks_ns)
            over_ns = tl.where(is_found, left_ns, over_ns)
            leverage = tl.where(is_found, new_leverage, leverage)
            if RANKED:
                rank = tl.where(is_found, tl.load(p_rank + bar, mask=is_found, other=0.0), rank)
            is_rejected = is_here & (new_leave < 0)
            n_rejected += is_rejected.to(tl.int32)
            if FINER:
                new_note = tl.load(p_notes + o_list, mask=is_here, other=0).to(tl.int32)
                note = tl.where(is_found, new_note, note)
                listed_mark = tl.load(p_marks + o_list, mask=is_rejected, other=0)
                n_coarse, counted = count_coarse(
                    n_coarse, counted, (listed_mark >> 1) + 1 + delay,
                    is_rejected & ((new_note & COARSE_ENTRY) != 0)
                )  # fmt: skip
            i = tl.where(is_rejected, i + 1, i)
            # A window ends, and the next one begins flat.
            is_over = seeks & (i >= count)
            tl.store(p_trades + o_pair, n_trades, mask=is_over)
            tl.store(p_rejected + o_pair, n_rejected, mask=is_over)
            if FINER:
                tl.store(p_coarse + o_pair, n_coarse, mask=is_over)
                n_coarse = tl.where(is_over, 0, n_coarse)
                counted = tl.where(is_over, -1, counted)
            p_pair = p_out + o_pair * N_OUT
            tl.store(p_pair + SKIPPED, n_skipped.to(tl.float64), mask=is_over)
            tl.store(p_pair + MAX_LEVERAGE, most, mask=is_over)
            n_trades, n_rejected = tl.where(is_over, 0, n_trades), tl.where(is_over, 0, n_rejected)
            n_skipped, most = tl.where(is_over, 0, n_skipped), tl.where(is_over, 0.0, most)
            flat_long = tl.where(is_over, 0, flat_long)
            flat_short = tl.where(is_over, 0, flat_short)
            i = tl.where(is_over, 0, i)
            window += is_over.to(tl.int64)
            asks = asks | is_found
            seeks = seeks & (is_found == 0) & (window < last)
            begins = seeks & is_over
        # The first of those that ask: by time, by rank, by strand.
        times = tl.reshape(tl.where(asks, asks_ns, NEVER_NS), (MEMBERS, STRANDS))
        now = tl.min(times, 1)[:, None]
        is_first = (times == now) & (times != NEVER_NS)
        if RANKED:
            ranks = tl.reshape(rank, (MEMBERS, STRANDS))
            is_known = is_first & (ranks == ranks)
            has_known = tl.max(is_known.to(tl.int32), 1)[:, None] > 0
            best = tl.max(tl.where(is_known, ranks, float("-inf")), 1)[:, None]
            is_first = tl.where(has_known, is_known & (ranks == best), is_first)
        chosen = tl.min(tl.where(is_first, column, STRANDS), 1)[:, None]
        is_chosen = column == chosen
        # What others have open, added in the order of taking.
        leverages = tl.reshape(leverage, (MEMBERS, STRANDS))
        open_turn = tl.where(open_ns <= now, NONE_OPEN, open_turn)
        is_other = (open_turn != NONE_OPEN) & (is_chosen == 0)
        n_others = tl.sum(is_other.to(tl.int32), 1)
        gross = tl.zeros([MEMBERS], tl.float64)
        added = tl.zeros([MEMBERS], tl.int32) + NONE_OPEN
        left = tl.max(n_others, 0)
        while left > 0:
            is_left = is_other & (open_turn > added[:, None])
            added = tl.min(tl.where(is_left, open_turn, NOT_THERE), 1)
            is_next = is_other & (open_turn == added[:, None])
            gross = gross + tl.sum(tl.where(is_next, held, 0.0), 1)
            left -= 1
        total = gross + tl.sum(tl.where(is_chosen, leverages, 0.0), 1)
        has_room = (n_others < max_positions) & (total <= max_leverage)
        is_taken = is_chosen & has_room[:, None]
        open_turn = tl.where(is_taken, turn, open_turn)
        open_ns = tl.where(is_taken, tl.reshape(over_ns, (MEMBERS, STRANDS)), open_ns)
        held = tl.where(is_taken, leverages, held)
        turn += 1
        # The lane that asked goes on.
        is_answered = tl.reshape(is_chosen.to(tl.int32), (N,)) > 0
        takes = tl.reshape(is_taken.to(tl.int32), (N,)) > 0
        nothing_open = tl.zeros([MEMBERS, STRANDS], tl.float64)
        totals = tl.reshape(total[:, None] + nothing_open, (N,))
        o_trade = o_pair * capacity + n_trades
        tl.store(p_places + o_trade, i, mask=takes)
        if KEEPS:
            worth = tl.reshape(gross[:, None] + nothing_open, (N,))
            tl.store(p_gross + o_trade, worth, mask=takes)
        most = tl.where(takes & (totals > most), totals, most)
        n_trades += takes.to(tl.int32)
        n_skipped += (is_answered & (takes == 0)).to(tl.int32)
        if FINER:
            n_coarse, counted = count_coarse(
                n_coarse, counted, (mark >> 1) + 1 + delay, takes & ((note & COARSE_ENTRY) != 0)
            )
            n_coarse, counted = count_coarse(
                n_coarse, counted, leave >> 3, takes & ((note & COARSE_EXIT) != 0)
            )
        # Left at an open, as was known a bar before: the other side may signal there.
        earlier = ((leave & 7) == SIGNAL).to(tl.int32)
        is_short = (mark & 1) == 1
        flat_long = tl.where(takes, (leave >> 3) - tl.where(is_short, earlier, 0), flat_long)
        flat_short = tl.where(takes, (leave >> 3) - tl.where(is_short, 0, earlier), flat_short)
        i = tl.where(is_answered, i + 1, i)
        asks = asks & (is_answered == 0)
        seeks = is_answered
