"""A bar on the device, or a finer one by which it is read: what it does to orders and positions."""

import triton
import triton.language as tl

from engine.accounts.ledger import REASONS
from engine.positions.cuda.order_book import (
    MARKET,
    UNTOUCHED,
    WITHIN,
    find_first_touched,
    place_since,
    use_up,
)
from engine.positions.cuda.order_exits import (
    NO_BAR,
    STILL_OPEN,
    STOP_GAP,
    enter,
    fold_best,
    leave_positions,
    pick,
    stay_out,
    want_reversal,
    without,
)
from engine.positions.cuda.order_fills import FLAT, LIMIT_ORDER, Bar, fill_orders, side_sign
from engine.positions.cuda.order_results import REVERSE, STOP, Leave, end_trades

SIGNAL = tl.constexpr(REASONS.index("signal"))


@triton.jit
def load_bar(p_bar, j, is_first, is_last):
    """A bar of the series, or a finer one of bar j, whose prices begin at a pointer."""
    return Bar(
        j, tl.load(p_bar), tl.load(p_bar + 1), tl.load(p_bar + 2), tl.load(p_bar + 3), is_first,
        is_last,
    )  # fmt: skip


@triton.jit
def count_finer(p_finer_of, j):
    """The first of the finer bars of a bar, and how many make it up; -1 where they do not."""
    return tl.load(p_finer_of + 2 * j), tl.load(p_finer_of + 2 * j + 1)


@triton.jit
def touches_bar(at, longs, shorts, bar, m):
    """Where a bar touches an order that stands, or the stop or a target of a position, of m."""
    sign, is_short = side_sign(at.side), at.side == 1
    worst = tl.where(is_short, bar.high, bar.low)
    reach = tl.where(is_short, bar.low, bar.high)
    is_reached = (sign * worst <= sign * at.stop) | (sign * reach >= at.nearest)
    is_met = (longs.how != UNTOUCHED) | (shorts.how != UNTOUCHED)
    return m & (is_met | ((at.side != FLAT) & is_reached))


@triton.jit
def find_changes(rules, at, longs, shorts, bar, is_signal, m):
    """Where a bar or a finer one may change more than the best price, of m.

    is_signal: where a condition ends positions at the open of the bar.
    """
    is_clock, is_at_open = (at.clock >> 1) == bar.j, (at.clock & 1) == 1
    is_end = tl.zeros(at.side.shape, tl.int32) + bar.j == rules.last_bar
    is_end = is_end | (bar.j - at.entry_bar + 1 == rules.hold)
    opens = is_signal | (is_clock & is_at_open)
    closes = is_end | (is_clock & (is_at_open == 0))
    is_over = (bar.is_first & opens) | (bar.is_last & closes)
    return (m & (at.side != FLAT) & is_over) | touches_bar(at, longs, shorts, bar, m)


@triton.jit
def free_orders(orders, how, m, frees, j):
    """After exits in a bar, where m, what it touched is used up.

    how: in which way the whole bar meets them. frees: where the side may place orders from its
    close on.
    """
    orders = use_up(orders, m & (how != UNTOUCHED))
    return place_since(orders, m & frees, j)


@triton.jit
def hold_orders(orders, m, since):
    """A fill ends all orders, where m; the side places them since a bar, or never."""
    return place_since(use_up(orders, m), m, since)


@triton.jit
def fill_touched(inputs, scratch, rules, p_market, bar, longs, shorts, wants, free, reversed_side,
                 LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr, SLIPS: tl.constexpr,
                 HAS_TICK: tl.constexpr, SIZE: tl.constexpr):  # fmt: skip
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
        side = tl.where(wants, reversed_side, first)
        waits = waits & (side >= 0)
        is_short = side == 1
        t = tl.where(is_short, shorts.standing, longs.standing)
        how = tl.where(is_short, shorts.how, longs.how)
        price = tl.where(is_short, shorts.price, longs.price)
        fill = fill_orders(inputs, scratch, p_market, bar, side, t, how, price, waits, LONG_ORDER,
                           SHORT_ORDER, SLIPS, HAS_TICK)  # fmt: skip
        is_worth = waits & fill.is_worth
        opened = enter(inputs, rules, fill, side, t, bar.j, is_worth, SIZE, HAS_TICK)
        entered = pick(is_worth, opened, entered)
        is_inside = tl.where(is_worth, how == WITHIN, is_inside)
        is_entered = is_entered | is_worth
        longs = use_up(longs, waits & (side == 0))
        shorts = use_up(shorts, waits & is_short)
        rests = tl.where(is_short, SHORT_ORDER, LONG_ORDER) != MARKET
        used += (waits & rests).to(tl.int32)
        rejected += (waits & (is_worth == 0)).to(tl.int32)
        waits = waits & (is_worth == 0) & (wants == 0)
    return longs, shorts, entered, is_entered, is_inside, used, rejected


@triton.jit
def take_part(inputs, scratch, rules, lists, p_market, p_reasons, bar, at, longs, shorts, sums,
              free, used, rejected, is_signal, how_long, how_short, cooldown,
              LONG_ORDER: tl.constexpr, SHORT_ORDER: tl.constexpr, REVERSES: tl.constexpr,
              MOVES: tl.constexpr, LADDERS: tl.constexpr, SLIPS: tl.constexpr,
              HAS_TICK: tl.constexpr, CARRIES: tl.constexpr, SIZE: tl.constexpr,
              COOLS: tl.constexpr, NAMES: tl.constexpr, FINER: tl.constexpr):  # fmt: skip
    """Step of orders and positions by a bar or a finer one.

    free: where orders may be filled. is_signal: where a condition ends positions at its open.
    how_long, how_short: how the whole bar meets orders.
    """
    zero = tl.zeros(at.side.shape, tl.int32)
    farthest = -tl.full(at.side.shape, float("inf"), tl.float64)
    wants = zero != 0
    if REVERSES:
        is_clock = ((at.clock & 1) == 1) & ((at.clock >> 1) == bar.j)
        holds = (at.side != FLAT) & (is_signal == 0) & (is_clock == 0)
        wants, at, farthest = want_reversal(inputs, scratch, at, longs, shorts, bar, holds,
                                            LONG_ORDER, SHORT_ORDER, LADDERS)  # fmt: skip
    longs, shorts, entered, is_entered, is_inside, more_used, more_rejected = fill_touched(
        inputs, scratch, rules, p_market, bar, longs, shorts, wants, free, 1 - at.side,
        LONG_ORDER, SHORT_ORDER, SLIPS, HAS_TICK, SIZE,
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
            order = tl.where(at.side == 1, SHORT_ORDER, LONG_ORDER)
            is_late = is_entered & is_inside & (order == LIMIT_ORDER)
            at, leave = leave_positions(inputs, scratch, rules, at, bar, is_entered,
                                        is_entered & is_inside, is_late, farthest,
                                        at.side != FLAT, LADDERS, NAMES,
                                        FINER)  # fmt: skip
            ends = leave.reason != STILL_OPEN
        if tl.max(ends.to(tl.int32), 0) > 0:
            sums = end_trades(inputs, scratch, sums, p_reasons, lists, at, leave, bar.j, ends,
                              LADDERS, SLIPS, HAS_TICK, CARRIES,
                              SIZE)  # fmt: skip
    is_short = at.side == 1
    # A fill ends all other orders; from its bar's close on the other side may reverse.
    other_since = bar.j if REVERSES else NO_BAR
    longs = hold_orders(longs, is_entered, tl.where(is_short, other_since, NO_BAR))
    shorts = hold_orders(shorts, is_entered, tl.where(is_short, NO_BAR, other_since))
    # A signal on the exit bar is known at its close and counts. What the whole bar touches is used
    # up, by whichever of its finer ones.
    if not FINER:
        how_long, how_short = longs.how, shorts.how
    frees_long, frees_short = ends, ends
    if REVERSES:
        frees_long, frees_short = (is_short == 0) | is_entered, is_short | is_entered
    longs = free_orders(longs, how_long, ends, frees_long, bar.j)
    shorts = free_orders(shorts, how_short, ends, frees_short, bar.j)
    if COOLS:
        # After a stop no order stands, and for some bars none is placed.
        is_stop = (leave.reason == STOP) | (leave.reason == STOP_GAP)
        is_stop = is_stop | (leave.reason > REVERSE)
        is_stop = ends & is_stop & (cooldown > 0)
        longs = hold_orders(longs, is_stop, bar.j + cooldown)
        shorts = hold_orders(shorts, is_stop, bar.j + cooldown)
    at = without(at, ends)
    if MOVES:
        at = fold_best(at, bar, is_late, at.side != FLAT)
    return at, longs, shorts, sums, free & (is_entered == 0), used, rejected
