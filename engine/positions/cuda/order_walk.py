"""Orders and positions of both sides on the device, bar by bar: a lane a pair, in one walk.

All lanes of a program are at one bar of one window, so that prices are loaded once for all of them.
Orders that stand are met, a position is left, another is entered, and at the close stops move and
signals place orders, as the law has it. Blocks of 64 bars in which no lane has anything to do are
passed over. What a strategy does not say costs nothing: kernels are compiled without it.
"""

import triton
import triton.language as tl

from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.positions.cuda.order_book import (
    MARKET,
    NO_ORDER,
    UNTOUCHED,
    WITHIN,
    Orders,
    Terms,
    find_first_touched,
    is_set,
    load_signals,
    load_window,
    meet_order,
    place_since,
    use_up,
)
from engine.positions.cuda.order_exits import (
    NO_BAR,
    STILL_OPEN,
    STOP_GAP,
    ExitRules,
    enter,
    keep_between,
    leave_positions,
    move_stops,
    pick,
    stay_out,
    want_reversal,
    without,
)
from engine.positions.cuda.order_fills import (
    COOLDOWN,
    EXPIRES_NUMBER,
    FLAT,
    LIMIT_ORDER,
    THROUGH_NUMBER,
    TICK_OVER,
    TICK_UNDER,
    Bar,
    LaneInputs,
    Scratch,
    fill_orders,
)
from engine.positions.cuda.order_money import find_rest
from engine.positions.cuda.order_results import (
    REVERSE,
    STOP,
    LaneLists,
    Leave,
    begin_sums,
    end_trades,
    store_sums,
)

SIGNAL = tl.constexpr(REASONS.index("signal"))

REJECTED = tl.constexpr(ACCUMULATOR_INDEX["rejected"])
ORDERS = tl.constexpr(ACCUMULATOR_INDEX["orders"])
EXPIRED = tl.constexpr(ACCUMULATOR_INDEX["expired"])

MOST_EXPIRES = tl.constexpr(2.0**29)
"""Bars; longer than any series."""


@triton.jit
def free_orders(orders, m, frees, j):
    """After exits in a bar, where m, what it touched is used up.

    frees: where the side may place orders from its close on.
    """
    orders = use_up(orders, m & (orders.how != UNTOUCHED))
    return place_since(orders, m & frees, j)


@triton.jit
def hold_orders(orders, m, since):
    """A fill ends all orders, where m; the side places them since a bar, or never."""
    return place_since(use_up(orders, m), m, since)


@triton.jit
def fill_touched(inputs, scratch, rules, p_market, bar, longs, shorts, wants, free, reversed_place,
                 LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr, SLIPS: tl.constexpr,
                 HAS_TICK: tl.constexpr):  # fmt: skip
    """Fill the first touched order that is worth it, where free; the other side's, where wants.

    Returns the orders that are left, the positions that were opened and where, which of them
    within the bar, and what was used and rejected.
    """
    zero = tl.zeros(longs.standing.shape, tl.int32)
    entered = stay_out(zero)
    is_entered, is_inside = zero != 0, zero != 0
    used, rejected = zero, zero
    waits = wants | (free & ((longs.how != UNTOUCHED) | (shorts.how != UNTOUCHED)))
    while tl.max(waits.to(tl.int32), 0) > 0:
        first = find_first_touched(longs, shorts, bar, LONG_ORDER, SHORT_ORDER)
        place = tl.where(wants, reversed_place, first)
        waits = waits & (place >= 0)
        is_short = place == 1
        t = tl.where(is_short, shorts.standing, longs.standing)
        how = tl.where(is_short, shorts.how, longs.how)
        price = tl.where(is_short, shorts.price, longs.price)
        fill = fill_orders(inputs, scratch, p_market, bar, place, t, how, price, waits, LONG_ORDER,
                           SHORT_ORDER, SLIPS, HAS_TICK)  # fmt: skip
        is_worth = waits & fill.is_worth
        opened = enter(inputs, rules, fill, place, t, bar.j, is_worth)
        entered = pick(is_worth, opened, entered)
        is_inside = tl.where(is_worth, how == WITHIN, is_inside)
        is_entered = is_entered | is_worth
        longs = use_up(longs, waits & (place == 0))
        shorts = use_up(shorts, waits & is_short)
        rests = tl.where(is_short, SHORT_ORDER, LONG_ORDER) != MARKET
        used += (waits & rests).to(tl.int32)
        rejected += (waits & (is_worth == 0)).to(tl.int32)
        waits = waits & (is_worth == 0) & (wants == 0)
    return longs, shorts, entered, is_entered, is_inside, used, rejected


@triton.jit
def load_terms(inputs, delay, place: tl.constexpr, m):
    """How long orders of a side stand."""
    expires = tl.load(inputs.number + 2 * EXPIRES_NUMBER + place, mask=m, other=0.0)
    through = tl.load(inputs.number + 2 * THROUGH_NUMBER + place, mask=m, other=0.0)
    over, under = tl.load(inputs.charges + TICK_OVER), tl.load(inputs.charges + TICK_UNDER)
    # What is longer than any series is without end.
    expires = tl.minimum(expires, MOST_EXPIRES).to(tl.int32)
    return Terms(expires, through * over / under, delay)


@triton.jit(do_not_specialize=["n_members", "n_bars", "n_words", "n_genes", "n_rows", "n_numbers",
                               "n_long", "n_short", "even_leg", "capacity",
                               "n_listed"])  # fmt: skip
def walk_kernel(p_market, p_code, p_constants, p_reads, p_forms, p_rows, p_slots, p_genomes,
                p_numbers, p_carried, p_carried_of, p_charges, p_longs, p_shorts, p_entries,
                p_leaves, p_exits, p_cancels, p_cancel_of, p_bars, p_sessions, p_session_of, p_days,
                p_windows, p_levels, p_leg_bars, p_reasons, p_out, p_whole, p_figures,
                n_members, n_bars, n_words, n_genes, n_rows, n_numbers, n_long, n_short, even_leg,
                capacity, n_listed,
                LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr, REVERSES: tl.constexpr,
                CANCELS: tl.constexpr, DAYS: tl.constexpr, MOVES: tl.constexpr,
                EVEN_LEG: tl.constexpr, LADDERS: tl.constexpr, SLIPS: tl.constexpr,
                HAS_TICK: tl.constexpr, CARRIES: tl.constexpr, SIZE: tl.constexpr,
                COOLS: tl.constexpr, LEVELS: tl.constexpr, EVEN_FORM: tl.constexpr,
                NAMES: tl.constexpr, BOUNDED: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Walk every pair through its window; grid (blocks of LANES individuals, windows).

    p_market: [B, 4] prices. p_code to p_rows, p_slots [P, n_rows], p_genomes [P, n_genes],
    p_numbers [P, n_numbers], p_carried, p_carried_of [P, 5], p_charges: as `LaneInputs`.
    p_longs, p_shorts, p_leaves, p_cancels: [n, n_words] conditions; p_entries, p_exits [P, 2],
    p_cancel_of [P] which of them, -1 for none. p_bars: [P, 3] longest hold, delay, and first bar
    that may signal. p_sessions: [q, n_bars] by entry bar twice the bar at which the clock ends a
    position, plus 1 at its open; p_session_of: [P] which, or -1. p_days: [n_bars] number of each
    bar's session, if DAYS. p_windows: [W, 2] start and end. p_levels, p_leg_bars: as `Scratch`.
    p_reasons: [reasons, W, P] int32 of zeros, receives trades by their reasons. p_out: [A, W, P]
    receives all other accumulators. p_whole, p_figures: as `LaneLists`, of [W, P] pairs; lists that
    are too short are filled as far as they go. even_leg: target after which stops move.
    """
    o_lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    m = o_lane < n_members
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
    start, end = tl.load(p_windows + i_w * 2), tl.load(p_windows + i_w * 2 + 1)
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
    cancel_row = tl.load(p_cancel_of + i_p, mask=m, other=-1)
    BOTH_REST: tl.constexpr = (LONG_ORDER != MARKET) and (SHORT_ORDER != MARKET)
    longs = Orders(zero, zero + NO_ORDER, nothing, nothing, zero, zero)
    shorts = Orders(zero, zero + NO_ORDER, nothing, nothing, zero, zero)
    at = stay_out(zero)
    placed, used, rejected = zero, zero, zero
    last_cancel = zero - 1
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
        is_busy = m & (has_signal | stands | (at.place != FLAT))
        if CANCELS:
            cancels = load_window(p_cancels, cancel_row, n_words, block, m)
            # An order that is late may stand only after blocks that cancel it.
            is_busy = is_busy | (m & (delay > 0))
        stop_bar = tl.minimum(base + 64, end)
        if tl.max(is_busy.to(tl.int32), 0) == 0:
            stop_bar = base
        for j in range(tl.maximum(base, start), stop_bar):
            k = j & 63
            p_bar = p_market + j * 4
            bar = Bar(j, tl.load(p_bar), tl.load(p_bar + 1), tl.load(p_bar + 2), tl.load(p_bar + 3))
            today = 0
            if DAYS:
                today = tl.load(p_days + j)
            # 1. The side's condition was true at the last close: flat at the open, as was known a
            # bar before, so that the other side's signal there counts.
            is_short = at.place == 1
            has_position = at.place != FLAT
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
            longs = meet_order(inputs, longs, long_terms, is_set(at_long, k), bar, today,
                               last_cancel, m, 0, LONG_ORDER, HAS_TICK, CANCELS, DAYS)  # fmt: skip
            shorts = meet_order(inputs, shorts, short_terms, is_set(at_short, k), bar, today,
                                last_cancel, m, 1, SHORT_ORDER, HAS_TICK, CANCELS,
                                DAYS)  # fmt: skip
            free = m & ((has_position == 0) | is_signal)
            farthest = -tl.full([LANES], float("inf"), tl.float64)
            wants = zero != 0
            if REVERSES:
                is_clock = ((at.clock & 1) == 1) & ((at.clock >> 1) == j)
                holds = has_position & (is_signal == 0) & (is_clock == 0)
                wants, at, farthest = want_reversal(inputs, scratch, at, longs, shorts, bar, holds,
                                                    LONG_ORDER, SHORT_ORDER, LADDERS)  # fmt: skip
            longs, shorts, entered, is_entered, is_inside, more_used, more_rejected = fill_touched(
                inputs, scratch, rules, p_market, bar, longs, shorts, wants, free, 1 - at.place,
                LONG_ORDER, SHORT_ORDER, SLIPS, HAS_TICK,
            )  # fmt: skip
            used += more_used
            rejected += more_rejected
            is_reversed = wants & is_entered
            ends = is_signal | is_reversed
            leave = Leave(tl.where(is_reversed, REVERSE, SIGNAL),
                          tl.where(is_reversed, entered.entry, bar.open), ends)  # fmt: skip
            is_late = zero != 0
            # First what ends before an entry of the bar, then what the bar does to positions.
            for step in range(2):
                if step == 1:
                    at = pick(is_entered, entered, without(at, ends))
                    order = tl.where(at.place == 1, SHORT_ORDER, LONG_ORDER)
                    is_late = is_entered & is_inside & (order == LIMIT_ORDER)
                    at, leave = leave_positions(inputs, scratch, rules, at, bar, is_entered,
                                                is_entered & is_inside, is_late, farthest,
                                                at.place != FLAT, LADDERS,
                                                NAMES)  # fmt: skip
                    ends = leave.reason != STILL_OPEN
                if tl.max(ends.to(tl.int32), 0) > 0:
                    sums = end_trades(inputs, scratch, sums, p_reasons, lists, at, leave, j, ends,
                                      LADDERS, SLIPS, HAS_TICK, CARRIES,
                                      SIZE)  # fmt: skip
            is_short = at.place == 1
            # A fill ends all other orders; from its bar's close on the other side may reverse.
            other_since = j if REVERSES else NO_BAR
            longs = hold_orders(longs, is_entered, tl.where(is_short, other_since, NO_BAR))
            shorts = hold_orders(shorts, is_entered, tl.where(is_short, NO_BAR, other_since))
            # A signal on the exit bar is known at its close and counts.
            longs = free_orders(longs, ends, (is_short == 0) | is_entered if REVERSES else m, j)
            shorts = free_orders(shorts, ends, is_short | is_entered if REVERSES else m, j)
            if COOLS:
                # After a stop no order stands, and for some bars none is placed.
                is_stop = (leave.reason == STOP) | (leave.reason == STOP_GAP)
                is_stop = is_stop | (leave.reason > REVERSE)
                is_stop = ends & is_stop & (cooldown > 0)
                longs = hold_orders(longs, is_stop, j + cooldown)
                shorts = hold_orders(shorts, is_stop, j + cooldown)
            at = without(at, ends)
            if MOVES or EVEN_LEG:
                at = move_stops(inputs, scratch, at, bar, is_late, even_leg, at.place != FLAT,
                                MOVES, EVEN_LEG, LEVELS, EVEN_FORM, HAS_TICK)  # fmt: skip
            was_long, was_short = is_set(on_long, k), is_set(on_short, k)
            if LONG_ORDER != MARKET:
                placed += (was_long & (j >= longs.since)).to(tl.int32)
            if SHORT_ORDER != MARKET:
                placed += (was_short & (j >= shorts.since)).to(tl.int32)
            left_long, left_short = is_set(out_long, k), is_set(out_short, k)
            if CANCELS:
                last_cancel = tl.where(is_set(cancels, k), j, last_cancel)
    store_sums(inputs, sums, scratch, p_out, m)
    out = p_out + pair
    tl.store(out + REJECTED * stride, rejected.to(tl.float64), mask=m)
    tl.store(out + ORDERS * stride, placed.to(tl.float64), mask=m)
    tl.store(out + EXPIRED * stride, (placed - used).to(tl.float64), mask=m)
