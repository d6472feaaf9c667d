"""Signals that asked an account with limits for room: what became of them, or only counts."""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cuda.answers import NOT_TAKEN
from engine.positions.cuda.both_sides import COARSE_ENTRY, COARSE_EXIT, SIGNAL, STOP

SKIPPED = tl.constexpr(ACCUMULATOR_INDEX["skipped"])
MAX_LEVERAGE = tl.constexpr(ACCUMULATOR_INDEX["max_leverage"])


@triton.jit
def later(a, b):
    """The later of two bars."""
    return tl.where(b > a, b, a)


@triton.jit
def describe_taken(leave, mark, note):
    """A signal's exit bar, and below it whether it is coarse, at a stop, at an open, of a short."""
    is_at_open = ((leave & 7) == SIGNAL).to(tl.int64)
    is_stop = ((leave & 7) <= STOP).to(tl.int64)
    is_coarse = ((note & COARSE_EXIT) != 0).to(tl.int64)
    bar = (leave >> 3).to(tl.int64)
    return bar * 16 + is_coarse * 8 + is_stop * 4 + is_at_open * 2 + (mark & 1)


@triton.jit(do_not_specialize=["n_windows"])
def admit_kernel(p_size, p_counts, p_marks, p_leaves, p_notes, p_totals, p_limits, p_pauses,
                 p_trade_list, p_trades, p_rejected, p_coarse, p_gross, p_out, n_windows, capacity,
                 FINER: tl.constexpr, COUNTED: tl.constexpr, PAUSES: tl.constexpr,
                 KEEPS: tl.constexpr, N_OUT: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Trades of the signals of both sides that are taken, and what becomes of the others.

    Grid (pairs). p_marks, p_leaves, p_notes: [P, W, capacity] as `mark_kernel` and `leave_kernel`
    leave them, or if COUNTED p_notes as `walk_alone` does; p_totals: as `gross_kernel` does.
    p_limits, p_pauses: as of `ask_kernel`. p_trade_list, p_trades, p_rejected, p_coarse as of
    `choose_kernel`. p_gross: [P, W, capacity] of signals, if KEEPS, receives that of trades. p_out:
    [P, W, A] receives how many are skipped, and the greatest leverage.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    if i_pair // n_windows >= tl.load(p_size):
        return
    delay = tl.load(p_limits + i_pair // n_windows * 3 + 1)
    count = tl.minimum(tl.load(p_counts + i_pair), capacity)
    n_trades, n_rejected = tl.zeros([], tl.int32), tl.zeros([], tl.int32)
    n_skipped, n_coarse = tl.zeros([], tl.int32), tl.zeros([], tl.int32)
    most = tl.zeros([], tl.float64)
    # The last position before a signal, as `describe_taken` has it.
    carried = tl.zeros([], tl.int64)
    for begin in range(0, count, BLOCK):
        o_k = begin + tl.arange(0, BLOCK)
        inside = o_k < count
        o_list = i_pair * capacity + o_k
        mark = tl.load(p_marks + o_list, mask=inside, other=0)
        leave = tl.load(p_leaves + o_list, mask=inside, other=-1)
        total = tl.load(p_totals + o_list, mask=inside, other=NOT_TAKEN)
        is_taken = total >= 0.0
        note = tl.zeros([BLOCK], tl.int32)
        former_note = note
        follows = inside & (o_k > 0)
        if FINER:
            note = tl.load(p_notes + o_list, mask=inside, other=0).to(tl.int32)
            former_note = tl.load(p_notes + o_list - 1, mask=follows, other=0).to(tl.int32)
        former = describe_taken(
            tl.load(p_leaves + o_list - 1, mask=follows, other=0),
            tl.load(p_marks + o_list - 1, mask=follows, other=0), former_note,
        )  # fmt: skip
        was_taken = tl.load(p_totals + o_list - 1, mask=follows, other=NOT_TAKEN) >= 0.0
        before = tl.associative_scan(tl.where(was_taken, former, 0), 0, later)
        before = tl.maximum(before, carried)
        side, bar = mark & 1, mark >> 1
        flat_from = before >> 4
        if PAUSES:
            pause = tl.load(p_pauses + i_pair // n_windows)
            flat_from += tl.where((before & 4) != 0, pause, 0)
        is_earlier = ((before & 2) != 0) & ((before & 1) != side)
        flat_from = flat_from - is_earlier.to(tl.int64)
        is_left = inside & (is_taken == 0) & (bar >= flat_from)
        is_rejected = is_left & (leave < 0)
        taken = is_taken.to(tl.int32)
        o_trade = i_pair * capacity + n_trades + tl.cumsum(taken, 0) - taken
        tl.store(p_trade_list + o_trade, o_k, mask=is_taken)
        if KEEPS:
            gross = tl.load(p_gross + o_list, mask=is_taken, other=0.0)
            # All of the block are read before others take their places.
            tl.debug_barrier()
            tl.store(p_gross + o_trade, gross, mask=is_taken)
        if FINER:
            # Bars that are touched come in order, each counted once.
            counted = tl.where((before & 8) != 0, before >> 4, -1)
            entry, exit_bar = bar + 1 + delay, leave >> 3
            touches = is_taken | is_rejected
            enters = touches & ((note & COARSE_ENTRY) != 0)
            leaves = is_taken & ((note & COARSE_EXIT) != 0)
            leaves = leaves & (exit_bar != counted) & ((enters == 0) | (exit_bar != entry))
            bars = enters.to(tl.int32) + leaves.to(tl.int32)
            if COUNTED:
                bars = tl.where(touches, note >> 3, 0)
                enters = bars > 0
            bars -= (enters & (entry == counted)).to(tl.int32)
            n_coarse += tl.sum(bars, 0)
        n_trades += tl.sum(taken, 0)
        n_rejected += tl.sum(is_rejected.to(tl.int32), 0)
        n_skipped += tl.sum((is_left & (leave >= 0)).to(tl.int32), 0)
        most = tl.maximum(most, tl.max(tl.where(is_taken, total, 0.0), 0))
        carried = tl.maximum(carried, tl.max(before, 0))
    tl.store(p_trades + i_pair, n_trades)
    tl.store(p_rejected + i_pair, n_rejected)
    if FINER:
        tl.store(p_coarse + i_pair, n_coarse)
    tl.store(p_out + i_pair * N_OUT + SKIPPED, n_skipped.to(tl.float64))
    tl.store(p_out + i_pair * N_OUT + MAX_LEVERAGE, most)
