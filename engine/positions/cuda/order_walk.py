"""Orders and positions of both sides on the device, bar by bar: a lane a pair, in one walk.

All lanes of a program are at one bar of one window, so that prices are loaded once for all of them.
Orders that stand are met, a position is left, another is entered, and at the close stops move and
signals place orders, as the law has it. Blocks of 64 bars in which no lane has anything to do are
passed over. A bar that touches something in any lane is read by its finer ones, if there are some:
what these do where nothing is touched is what the whole bar does. What a strategy does not say, and
finer bars that are not there, cost nothing: kernels are compiled without them.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cuda.order_bars import (
    count_finer,
    find_changes,
    load_bar,
    take_part,
    touches_bar,
)
from engine.positions.cuda.order_book import (
    MARKET,
    NO_ORDER,
    Orders,
    Terms,
    is_set,
    load_signals,
    load_window,
    place_since,
    stand_order,
    touch_order,
)
from engine.positions.cuda.order_exits import (
    NO_BAR,
    ExitRules,
    fold_best,
    keep_between,
    move_stops,
    stay_out,
)
from engine.positions.cuda.order_fills import (
    COOLDOWN,
    EXPIRES_NUMBER,
    FLAT,
    THROUGH_NUMBER,
    TICK_OVER,
    TICK_UNDER,
    LaneInputs,
    Scratch,
)
from engine.positions.cuda.order_money import find_rest
from engine.positions.cuda.order_results import LaneLists, begin_sums, store_sums

REJECTED = tl.constexpr(ACCUMULATOR_INDEX["rejected"])
ORDERS = tl.constexpr(ACCUMULATOR_INDEX["orders"])
EXPIRED = tl.constexpr(ACCUMULATOR_INDEX["expired"])
COARSE = tl.constexpr(ACCUMULATOR_INDEX["coarse"])

MOST_EXPIRES = tl.constexpr(2.0**29)
"""Bars; longer than any series."""


@triton.jit
def load_terms(inputs, delay, side: tl.constexpr, m):
    """How long orders of a side stand."""
    expires = tl.load(inputs.number + 2 * EXPIRES_NUMBER + side, mask=m, other=0.0)
    through = tl.load(inputs.number + 2 * THROUGH_NUMBER + side, mask=m, other=0.0)
    over, under = tl.load(inputs.charges + TICK_OVER), tl.load(inputs.charges + TICK_UNDER)
    # What is longer than any series is without end.
    expires = tl.minimum(expires, MOST_EXPIRES).to(tl.int32)
    return Terms(expires, through * over / under, delay)


@triton.jit(do_not_specialize=["n_members", "n_bars", "n_words", "n_genes", "n_rows", "n_numbers",
                               "n_long", "n_short", "even_leg", "capacity",
                               "n_listed"])  # fmt: skip
def walk_kernel(p_market, p_finer, p_finer_of, p_code, p_constants, p_reads, p_forms, p_rows,
                p_slots, p_genomes, p_numbers, p_carried, p_carried_of, p_charges, p_longs,
                p_shorts, p_entries, p_leaves, p_exits, p_cancels, p_cancel_of, p_bars, p_sessions,
                p_session_of, p_days, p_windows, p_levels, p_leg_bars, p_reasons, p_out, p_whole,
                p_figures, p_size, n_members, n_bars, n_words, n_genes, n_rows, n_numbers, n_long,
                n_short, even_leg, capacity, n_listed,
                LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr, REVERSES: tl.constexpr,
                CANCELS: tl.constexpr, DAYS: tl.constexpr, MOVES: tl.constexpr,
                EVEN_LEG: tl.constexpr, LADDERS: tl.constexpr, SLIPS: tl.constexpr,
                HAS_TICK: tl.constexpr, CARRIES: tl.constexpr, SIZE: tl.constexpr,
                COOLS: tl.constexpr, LEVELS: tl.constexpr, EVEN_FORM: tl.constexpr,
                NAMES: tl.constexpr, BOUNDED: tl.constexpr, FINER: tl.constexpr,
                LANES: tl.constexpr):  # fmt: skip
    """Walk every pair through its window; grid (blocks of LANES individuals, windows).

    p_market: [B, 4] prices. p_finer: [K, 4] those of finer bars; p_finer_of: [T, 2] the first of
    those that make each bar up, and how many do, -1 where they do not; both are read if FINER.
    p_code to p_rows, p_slots [P, n_rows], p_genomes [P, n_genes], p_numbers [P, n_numbers],
    p_carried, p_carried_of [P, 5], p_charges: as `LaneInputs`. p_longs, p_shorts, p_leaves,
    p_cancels: [n, n_words] conditions; p_entries, p_exits, p_cancel_of [P, 2] which of them, -1
    for none. p_bars: [P, 3] longest hold, delay, and first bar that may signal. p_sessions: [q,
    n_bars] by entry bar twice the bar at which the clock ends a position, plus 1 at its open;
    p_session_of: [P] which, or -1. p_days: [n_bars] number of each bar's session, if DAYS.
    p_windows: [W, 3] place among those of all series, start and end. p_size: [1] how many of the
    n_members that there is room for are there. p_levels, p_leg_bars: as `Scratch`. p_reasons:
    [reasons, W, P] int32 of zeros, receives trades by their reasons. p_out: [A, W, P] receives all
    other accumulators. p_whole, p_figures: as `LaneLists`, of [W, P] pairs; lists that are too
    short are filled as far as they go. even_leg: target after which stops move.
    """
    o_lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_lane < tl.load(p_size)
    i_w = tl.program_id(1)
    pair = (i_w.to(tl.int64) * n_members) + o_lane
    stride = n_members * tl.num_programs(1)
    i_p = tl.where(m, o_lane, 0).to(tl.int64)
    zero = tl.zeros([LANES], tl.int32)
    nothing = tl.zeros([LANES], tl.float64)
    inputs = LaneInputs(
        p_code, p_constants, p_reads, p_forms, p_rows, p_carried, p_charges, n_long, n_short,
        tl.maximum(n_long, n_short), n_bars, p_genomes + i_p * n_genes, p_slots + i_p * n_rows,
        p_numbers + i_p * n_numbers, p_carried_of + i_p * 5, nothing, nothing,
    )  # fmt: skip
    inputs = LaneInputs(
        p_code, p_constants, p_reads, p_forms, p_rows, p_carried, p_charges, n_long, n_short,
        inputs.n_legs, n_bars, inputs.genome, inputs.slot, inputs.number, inputs.carried_of,
        find_rest(inputs, 0, n_long, m), find_rest(inputs, 1, n_short, m),
    )  # fmt: skip
    scratch = Scratch(p_levels, p_leg_bars, stride, pair)
    lists = LaneLists(p_whole, p_figures, capacity, n_listed)
    sums = begin_sums(inputs, m)
    start, end = tl.load(p_windows + i_w * 3 + 1), tl.load(p_windows + i_w * 3 + 2)
    hold, delay = tl.load(p_bars + i_p * 3), tl.load(p_bars + i_p * 3 + 1)
    first = tl.maximum(start, tl.load(p_bars + i_p * 3 + 2))
    last = tl.maximum(end - 1 - delay, first)
    session = tl.load(p_session_of + i_p)
    rules = ExitRules(
        tl.where(hold > 0, hold, NO_BAR), end - 1,
        p_sessions + tl.maximum(session, 0).to(tl.int64) * n_bars, session >= 0,
    )  # fmt: skip
    long_terms, short_terms = load_terms(inputs, delay, 0, m), load_terms(inputs, delay, 1, m)
    cooldown = zero
    if COOLS:
        bars_out = tl.load(inputs.number + COOLDOWN, mask=m, other=0.0)
        cooldown = tl.minimum(bars_out, MOST_EXPIRES).to(tl.int32)
    p_entry, p_exit = p_entries + i_p * 2, p_exits + i_p * 2
    exit_long, exit_short = tl.load(p_exit, mask=m, other=-1), tl.load(p_exit + 1, mask=m, other=-1)
    p_cancel = p_cancel_of + i_p * 2
    cancel_long = tl.load(p_cancel, mask=m, other=-1)
    cancel_short = tl.load(p_cancel + 1, mask=m, other=-1)
    BOTH_REST: tl.constexpr = (LONG_ORDER != MARKET) and (SHORT_ORDER != MARKET)
    longs = Orders(zero, zero + NO_ORDER, nothing, nothing, zero, zero)
    shorts = Orders(zero, zero + NO_ORDER, nothing, nothing, zero, zero)
    at = stay_out(zero)
    placed, used, rejected, coarse = zero, zero, zero, zero
    last_long_cancel, last_short_cancel = zero - 1, zero - 1
    # What the close before asked for: entries and exits of both sides.
    was_long, was_short, left_long, left_short = zero != 0, zero != 0, zero != 0, zero != 0
    begin = tl.minimum(tl.min(tl.where(m, first, NO_BAR), 0), end) >> 6
    for base in range(begin * 64, end, 64):
        block = zero + base
        on_long, on_short = load_signals(p_longs, p_shorts, p_entry, n_words, block, first, last, m,
                                         BOTH_REST)  # fmt: skip
        at_long, at_short = load_signals(p_longs, p_shorts, p_entry, n_words, block - 1 - delay,
                                         first, last, m, BOTH_REST)  # fmt: skip
        out_long = load_window(p_leaves, exit_long, n_words, block, m)
        out_short = load_window(p_leaves, exit_short, n_words, block, m)
        has_signal = (on_long | on_short | at_long | at_short) != 0
        stands = (longs.standing != NO_ORDER) | (shorts.standing != NO_ORDER)
        is_busy = m & (has_signal | stands | (at.side != FLAT))
        if CANCELS:
            ends_long = load_window(p_cancels, cancel_long, n_words, block, m)
            ends_short = load_window(p_cancels, cancel_short, n_words, block, m)
            # An order that is late may stand only after blocks that cancel it.
            is_busy = is_busy | (m & (delay > 0))
        stop_bar = tl.minimum(base + 64, end)
        if tl.max(is_busy.to(tl.int32), 0) == 0:
            stop_bar = base
        for j in range(tl.maximum(base, start), stop_bar):
            k = j & 63
            p_bar = p_market + j * 4
            bar = load_bar(p_bar, j, zero == 0, zero == 0)
            today = 0
            if DAYS:
                today = tl.load(p_days + j)
            # 1. The side's condition was true at the last close: flat at the open, as was known a
            # bar before, so that the other side's signal there counts.
            is_short = at.side == 1
            has_position = at.side != FLAT
            is_signal = has_position & tl.where(is_short, left_short, left_long)
            if BOUNDED:
                is_signal = keep_between(inputs, p_market, at, j, is_signal)
            longs = place_since(longs, is_signal & (is_short == 0), j)
            shorts = place_since(shorts, is_signal & is_short, j)
            if not REVERSES:
                longs = place_since(longs, is_signal & is_short, j - 1)
                shorts = place_since(shorts, is_signal & (is_short == 0), j - 1)
                if LONG_ORDER != MARKET:
                    placed += (is_signal & is_short & was_long).to(tl.int32)
                if SHORT_ORDER != MARKET:
                    placed += (is_signal & (is_short == 0) & was_short).to(tl.int32)
            longs = stand_order(inputs, longs, long_terms, is_set(at_long, k), j, today,
                                last_long_cancel, m, 0, LONG_ORDER, HAS_TICK, CANCELS,
                                DAYS)  # fmt: skip
            shorts = stand_order(inputs, shorts, short_terms, is_set(at_short, k), j, today,
                                 last_short_cancel, m, 1, SHORT_ORDER, HAS_TICK, CANCELS,
                                 DAYS)  # fmt: skip
            longs = touch_order(longs, bar, 0, LONG_ORDER)
            shorts = touch_order(shorts, bar, 1, SHORT_ORDER)
            free = m & ((has_position == 0) | is_signal)
            if FINER:
                first_finer, n_finer = count_finer(p_finer_of, j)
                how_long, how_short = longs.how, shorts.how
                is_touched = touches_bar(at, longs, shorts, bar, m)
                # What the whole bar does not touch none of its finer ones does.
                coarse += (is_touched & (n_finer < 0)).to(tl.int32)
                is_parted = (tl.max(is_touched.to(tl.int32), 0) > 0) & (n_finer > 0)
                n_parts = tl.where(is_parted, n_finer, 1)
                for i in range(n_parts):
                    p_part = p_bar
                    if is_parted:
                        p_part = p_finer + (first_finer + i) * 4
                    part = load_bar(p_part, j, zero + i == 0, zero + i == n_parts - 1)
                    longs = touch_order(longs, part, 0, LONG_ORDER)
                    shorts = touch_order(shorts, part, 1, SHORT_ORDER)
                    leaves = is_signal & part.is_first
                    changes = find_changes(rules, at, longs, shorts, part, leaves, m)
                    if tl.max(changes.to(tl.int32), 0) > 0:
                        at, longs, shorts, sums, free, used, rejected = take_part(
                            inputs, scratch, rules, lists, p_market, p_reasons, part, at, longs,
                            shorts, sums, free, used, rejected, leaves, how_long, how_short,
                            cooldown, LONG_ORDER, SHORT_ORDER, REVERSES, MOVES, LADDERS, SLIPS,
                            HAS_TICK, CARRIES, SIZE, COOLS, NAMES, FINER,
                        )  # fmt: skip
                    elif MOVES:
                        at = fold_best(at, part, zero != 0, at.side != FLAT)
            else:
                at, longs, shorts, sums, free, used, rejected = take_part(
                    inputs, scratch, rules, lists, p_market, p_reasons, bar, at, longs, shorts,
                    sums, free, used, rejected, is_signal, longs.how, shorts.how, cooldown,
                    LONG_ORDER, SHORT_ORDER, REVERSES, MOVES, LADDERS, SLIPS, HAS_TICK, CARRIES,
                    SIZE, COOLS, NAMES, FINER,
                )  # fmt: skip
            if MOVES or EVEN_LEG:
                at = move_stops(inputs, scratch, at, j, even_leg, at.side != FLAT, MOVES,
                                EVEN_LEG, LEVELS, EVEN_FORM, HAS_TICK)  # fmt: skip
            was_long, was_short = is_set(on_long, k), is_set(on_short, k)
            if LONG_ORDER != MARKET:
                placed += (was_long & (j >= longs.since)).to(tl.int32)
            if SHORT_ORDER != MARKET:
                placed += (was_short & (j >= shorts.since)).to(tl.int32)
            left_long, left_short = is_set(out_long, k), is_set(out_short, k)
            if CANCELS:
                last_long_cancel = tl.where(is_set(ends_long, k), j, last_long_cancel)
                last_short_cancel = tl.where(is_set(ends_short, k), j, last_short_cancel)
    store_sums(inputs, sums, scratch, p_out, m)
    out = p_out + pair
    tl.store(out + REJECTED * stride, rejected.to(tl.float64), mask=m)
    tl.store(out + ORDERS * stride, placed.to(tl.float64), mask=m)
    tl.store(out + EXPIRED * stride, (placed - used).to(tl.float64), mask=m)
    if FINER:
        tl.store(out + COARSE * stride, coarse.to(tl.float64), mask=m)
