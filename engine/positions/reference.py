"""Trades by the letter of the law: orders of both sides, one position, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. They go from bar to bar: orders that
stand are met, a position is left, another is entered, and at the close stops move and signals place
orders. A bar with finer ones is read by these in turn. The effect of a bar on an order is
in `reference_orders`, on a position in `reference_exits`.
"""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import Ledger
from engine.positions.exit_spec import DAY_NS, Limits
from engine.positions.reference_exits import (
    FLAT,
    NOT_REACHED,
    REVERSE,
    SIGNAL,
    STILL_OPEN,
    TARGET,
    Exit,
    HeldPosition,
    fill_first,
    fold_best,
    follow_prices,
    is_stop,
    leave_bar,
    leave_fill_bar,
    move_stop,
    stay_out,
    with_best,
)
from engine.positions.reference_orders import (
    BORROW_PART,
    COARSE,
    ENTRIES,
    EXITS,
    FIRST_LEG,
    FUNDING_PART,
    HIGH,
    HOW,
    LEG_BARS,
    LEG_LEVELS,
    LOW,
    NO_ORDER,
    NOWHERE,
    NUMBER,
    REST,
    ROW,
    STANDING,
    UNTOUCHED,
    BarPart,
    Book,
    Floats,
    Ints,
    SignalSpan,
    World,
    both_rest,
    count_finer,
    count_placed,
    count_targets,
    find_sign,
    free_at_open,
    free_sides,
    hold_sides,
    meet_orders,
    read_bar,
    read_finer_bar,
    read_row,
    slip_price,
    stand_orders,
)
from engine.positions.reference_orders import SHARE as SHARES


class ListedTrades(NamedTuple):
    """Trades in the order of time; there is room for more."""

    listed: Ints  # [1] how many
    whole: Ints  # [6, S] signal bar, entry bar, exit bar, reason, side and bars held
    numbers: Floats  # [6, S] entry, stop, target, exit, r and last stop
    leg_bars: Ints  # [S, L] bar in which each target was reached, or -1
    leg_prices: Floats  # [S, L] its price, or NaN


def build_ledger(trades: ListedTrades, counts: Ints, scales: Floats | None = None) -> Ledger:
    """The ledger of what `take_signals` found; `scales` [T] is what sizes are measured by."""
    some = slice(int(trades.listed[0]))
    signal_bar, entry_bar, exit_bar, reason, sign, held = trades.whole[:, some].copy()
    entry, stop, target, leave, r, last_stop = trades.numbers[:, some].copy()
    rejected, orders, used, coarse = counts.tolist()
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        sign.astype(np.int8), last_stop, held, trades.leg_bars[some], trades.leg_prices[some],
        np.empty((len(r), 0)) if scales is None else scales[signal_bar][:, None],
        rejected=rejected, orders=orders, expired=orders - used, coarse=coarse,
    )  # fmt: skip


def begin_trades(world: World, span: SignalSpan, legs: int = 0) -> ListedTrades:
    """Room for as many trades as there may be; `legs`: targets of a ladder."""
    # Each trade has a signal of its own.
    room = int(np.count_nonzero(world.marks[ENTRIES : ENTRIES + 2, span.first : span.last]))
    return make_room(room, legs)


def make_room(room: int, legs: int) -> ListedTrades:
    """Room for some trades, of so many targets each."""
    return ListedTrades(
        np.zeros(1, np.int64), np.empty((6, room), np.int64), np.empty((6, room)),
        np.full((room, legs), NOT_REACHED), np.full((room, legs), np.nan),
    )  # fmt: skip


def list_trade(
    world: World, book: Book, trades: ListedTrades, at: HeldPosition, leave: Exit, j: int
) -> None:
    """Note a trade that ends in a bar."""
    side, sign, k, price = at.side, find_sign(at.side), trades.listed[0], leave.price
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    if leave.reason != TARGET and leave.reason != REVERSE:
        price = slip_price(world, side, price, j, sign < 0)
    whole, numbers = trades.whole, trades.numbers
    whole[0, k], whole[1, k], whole[2, k] = at.signal_bar, at.entry_bar, j
    whole[3, k], whole[4, k] = leave.reason, int(sign)
    # The exit bar counts where the position lasts beyond its open, or its own part of it.
    whole[5, k] = j - at.entry_bar + (0 if leave.is_at_open else 1)
    numbers[0, k], numbers[1, k], numbers[3, k] = at.entry, at.first_stop, price
    numbers[2, k] = find_farthest_target(world, book, side)
    numbers[4, k], numbers[5, k] = compute_net_r(world, book, at, j, price), at.stop
    if trades.leg_bars.shape[1] > 0:
        for leg in range(count_targets(world, side)):
            trades.leg_bars[k, leg] = book.orders[side, LEG_BARS + leg]
            if book.orders[side, LEG_BARS + leg] != NOT_REACHED:
                trades.leg_prices[k, leg] = book.levels[side, LEG_LEVELS + leg]
    trades.listed[0] += 1


def find_farthest_target(world: World, book: Book, side: int) -> float:
    """The target that lies farthest; infinite where there is none."""
    count, sign = count_targets(world, side), find_sign(side)
    farthest = -np.inf if count > 0 else np.inf
    for leg in range(count):
        farthest = max(farthest, sign * book.levels[side, LEG_LEVELS + leg])
    return sign * farthest


def compute_net_r(world: World, book: Book, at: HeldPosition, bar: int, leave: float) -> float:
    """R of a trade, net: of each reached target and of the rest."""
    side, rest = at.side, world.parts[at.side, NUMBER, REST]
    count = count_targets(world, side)
    # One target that takes all is the exit.
    if count == 0 or (count == 1 and rest == 0.0):
        return compute_net(world, at, bar, leave) / at.risk
    r = 0.0
    for leg in range(count):
        x, price = bar, leave
        if book.orders[side, LEG_BARS + leg] != NOT_REACHED:
            x, price = int(book.orders[side, LEG_BARS + leg]), book.levels[side, LEG_LEVELS + leg]
        r = r + world.parts[side, SHARES, FIRST_LEG + leg] * (
            compute_net(world, at, x, price) / at.risk
        )
    if rest > 0.0:
        r = r + rest * (compute_net(world, at, bar, leave) / at.risk)
    return r


def compute_net(world: World, at: HeldPosition, x: int, leave: float) -> float:
    """Gain of one unit that leaves in bar x: both sides pay on traded notional."""
    side, limits, e = at.side, world.limits, at.entry_bar
    gross = find_sign(side) * (leave - at.entry)
    net = gross - limits.per_side * (at.entry + leave)
    if limits.unit_fee > 0.0:
        net = net - (limits.unit_fee + limits.unit_fee)
    if world.parts[side, ROW, FUNDING_PART] != NOWHERE:
        paid = read_row(world, side, FUNDING_PART, x) - read_row(world, side, FUNDING_PART, e)
        net = net - find_sign(side) * paid
    if world.parts[side, ROW, BORROW_PART] != NOWHERE:
        paid = read_row(world, side, BORROW_PART, x) - read_row(world, side, BORROW_PART, e)
        net = net - paid
    return net


def find_signal_range(start: int, end: int, warm_up: int, limits: Limits) -> slice:
    """Bars of a window, from its start to one before its end, that may signal."""
    # None before everything is known, and none without a bar in the window to be entered on.
    first = max(start, warm_up)
    return slice(first, max(first, end - 1 - limits.delay))


def list_signals(world: World, bars: slice) -> Ints:
    """Bars [S] with an entry signal of a side, among allowed bars, ascending."""
    longs, shorts = world.marks[ENTRIES : ENTRIES + 2, bars]
    # Where both sides signal neither does: the idea contradicts itself. Two resting orders do not.
    asks = longs | shorts if both_rest(world) else longs != shorts
    signals: Ints = bars.start + np.flatnonzero(asks)
    return signals


def find_free_bars(exit_bar: int, reason: int, sign: int, cooldown: int) -> tuple[int, int]:
    """First bars at which signals of longs and of shorts count again after a trade."""
    if is_stop(reason):
        return exit_bar + cooldown, exit_bar + cooldown
    # Flat at the exit bar's open already, as was known a bar before: the other side may reverse.
    longs = exit_bar - int(reason == SIGNAL and sign < 0)
    return longs, exit_bar - int(reason == SIGNAL and sign > 0)


def take_signals(
    world: World, span: SignalSpan, book: Book, trades: ListedTrades, most: int
) -> None:
    """Take signals of both sides, one position at a time; `trades` receives what comes of them.

    It ends with the bar in which there are `most` trades.
    """
    position, j = stay_out(), span.first
    while j < span.end and trades.listed[0] < most:
        position = take_bar(world, span, book, trades, position, j)
        if position.side != FLAT:
            position = move_stop(world, book, position, j)
        count_placed(world, span, book, j)
        position, j = pass_quiet_bars(world, span, book, position, j + 1)


def take_bar(
    world: World, span: SignalSpan, book: Book, trades: ListedTrades, at: HeldPosition, j: int
) -> HeldPosition:
    """Events of a bar, by its finer bars; the position at its close."""
    stand_orders(world, span, book, j)
    is_touched, is_free, count = touches_bar(world, book, at, j), at.side == FLAT, 1
    is_whole = count_finer(world, j) == 0
    if not is_whole:
        count = count_finer(world, j)
    for side in range(count):
        bar, entered = read_bar(world, j), stay_out()
        if not is_whole:
            bar = read_finer_bar(world, j, side)
        meet_orders(world, book, bar)
        if at.side != FLAT:
            at, entered, is_free = leave_part(world, span, book, trades, at, bar)
            if is_free:
                is_touched = is_touched or touches_bar(world, book, at, j)
                meet_orders(world, book, bar)
        if is_free:
            entered = fill_first(world, book, bar)
        if entered.side != FLAT:
            at, is_free = enter_part(world, span, book, trades, entered, bar), False
        # Any exit but these by a signal or by a reversal is the last of what its bar does.
        if at.side == FLAT and not is_free:
            break
    if is_whole and is_touched and world.spans.shape[1] > 0:
        book.counts[COARSE] += 1
    return at


def leave_part(
    world: World, span: SignalSpan, book: Book, trades: ListedTrades, at: HeldPosition, bar: BarPart
) -> tuple[HeldPosition, HeldPosition, bool]:
    """Step of a position by a bar or a part of one.

    The position after it, that of the other side which ends it, and whether orders may be filled.
    """
    leave = leave_bar(world, span, book, at, bar)
    if leave.reason == STILL_OPEN:
        return fold_best(world, at, bar, False), stay_out(), False
    list_trade(world, book, trades, at, leave, bar.number)
    # Flat at the open, as was known a bar before: orders may fill in this bar.
    if leave.reason == SIGNAL:
        free_at_open(world, span, book, at.side, bar.number)
        return stay_out(), stay_out(), True
    free_sides(world, book, at.side, bar.number, is_stop(leave.reason))
    return stay_out(), leave.following, False


def enter_part(
    world: World, span: SignalSpan, book: Book, trades: ListedTrades, at: HeldPosition, bar: BarPart
) -> HeldPosition:
    """Step of a position by the bar, or the part of one, that fills it; the position after it."""
    hold_sides(world, book, at.side, bar.number)
    leave = leave_fill_bar(world, span, book, at, bar)
    if leave.reason == STILL_OPEN:
        return fold_best(world, at, bar, True)
    list_trade(world, book, trades, at, leave, bar.number)
    free_sides(world, book, at.side, bar.number, is_stop(leave.reason))
    return stay_out()


def touches_bar(world: World, book: Book, at: HeldPosition, j: int) -> bool:
    """True if a bar touches an order that stands, or the stop or a target of a position."""
    bar = read_bar(world, j)
    meet_orders(world, book, bar)
    if book.orders[0, HOW] != UNTOUCHED or book.orders[1, HOW] != UNTOUCHED:
        return True
    if at.side == FLAT:
        return False
    sign, nearest = find_sign(at.side), find_nearest_target(world, book, at.side)
    worst, reach = (bar.low, bar.high) if sign > 0 else (bar.high, bar.low)
    return bool(sign * worst <= sign * at.stop or sign * reach >= nearest)


def pass_quiet_bars(
    world: World, span: SignalSpan, book: Book, at: HeldPosition, j: int
) -> tuple[HeldPosition, int]:
    """Go on to the next bar in which more may happen than that a stop follows prices.

    Every other bar could be looked at as well: nothing would come of it.
    """
    if book.orders[0, STANDING] != NO_ORDER or book.orders[1, STANDING] != NO_ORDER:
        return at, j
    marks, prices, ago = world.marks, world.prices, 1 + world.limits.delay
    if at.side == FLAT:
        if j >= span.last + ago:
            return at, span.end
        longs, shorts, first = marks[ENTRIES], marks[ENTRIES + 1], j
        while j < span.end and not (longs[j] or shorts[j]):
            # None asked from the first of these on, and before bar 0 is none that could have.
            if j - ago < first and (longs[max(j - ago, 0)] or shorts[max(j - ago, 0)]):
                break
            j += 1
        return at, j
    sign, against, leaves = (
        find_sign(at.side),
        marks[ENTRIES + 1 - at.side],
        marks[EXITS + at.side],
    )
    last, nearest = find_last_bar(world, span, at), find_nearest_target(world, book, at.side)
    worst, reach = (prices[LOW], prices[HIGH]) if sign > 0 else (prices[HIGH], prices[LOW])
    while j < last and not leaves[j - 1]:
        if world.limits.reverses and (against[j] or against[max(j - ago, 0)]):
            break
        if len(world.local_ns) > 0 and leaves_by_clock(world, at.entry_bar, j):
            break
        if sign * worst[j] <= sign * at.stop or sign * reach[j] >= nearest:
            break
        best = max(at.best, reach[j]) if sign > 0 else min(at.best, reach[j])
        at = follow_prices(world, with_best(at, best), j)
        j += 1
    return at, j


def find_last_bar(world: World, span: SignalSpan, at: HeldPosition) -> int:
    """The bar with the latest close of a position, by its hold or its window's end."""
    if world.limits.max_hold > 0:
        return min(span.end - 1, at.entry_bar + world.limits.max_hold - 1)
    return span.end - 1


def find_nearest_target(world: World, book: Book, side: int) -> float:
    """The nearest target that was not reached, times the side; infinity where there is none."""
    nearest = np.inf
    for leg in range(count_targets(world, side)):
        if book.orders[side, LEG_BARS + leg] == NOT_REACHED:
            nearest = min(nearest, find_sign(side) * book.levels[side, LEG_LEVELS + leg])
    return nearest


def leaves_by_clock(world: World, entry_bar: int, j: int) -> bool:
    """True if the clock ends a position in a bar, at its open or at its close."""
    today, entered = world.local_ns[j], world.local_ns[entry_bar]
    is_late = today % DAY_NS + world.bar_ns >= world.minute_ns
    return bool(today // DAY_NS != entered // DAY_NS or is_late)
