"""Trades by the letter of the law: orders of both sides, one position, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. They go from bar to bar: orders that
stand are met, a position is left, another is entered, and at the close stops move and signals place
orders. A bar that is made up of finer ones is read by these in turn. What a bar does to an order is
in `reference_orders`, to a position in `reference_exits`.
"""

import numpy as np

from engine.positions.exit_spec import DAY_NS, MARKET, Limits, SidePlan
from engine.positions.reference_exits import (
    FLAT,
    NOT_REACHED,
    SIGNAL,
    STILL_OPEN,
    HeldPosition,
    fill_first,
    is_stop,
    leave_bar,
    leave_fill_bar,
    stay_out,
)
from engine.positions.reference_orders import (
    COARSE,
    HOW,
    LEG_BARS,
    LEG_LEVELS,
    NO_ORDER,
    STANDING,
    UNTOUCHED,
    Book,
    SignalSpan,
    count_placed,
    free_at_open,
    free_sides,
    hold_sides,
    meet_orders,
    stand_orders,
)
from engine.positions.reference_stops import (
    fold_best,
    follow_prices,
    move_stop,
    with_best,
)
from engine.positions.reference_trades import ListedTrades, list_trade
from engine.positions.reference_world import (
    ENTRIES,
    EXITS,
    HIGH,
    LOW,
    BarPart,
    Ints,
    World,
    count_finer,
    count_targets,
    find_sign,
    read_bar,
    read_finer_bar,
)


def find_signal_range(start: int, end: int, warm_up: int, limits: Limits) -> slice:
    """Bars of a window, from its start to one before its end, that may signal."""
    # None before everything is known, and none without a bar in the window to be entered on.
    first = max(start, warm_up)
    return slice(first, max(first, end - 1 - limits.delay))


def list_signals(longs: SidePlan, shorts: SidePlan, bars: slice) -> Ints:
    """Bars [S] of those that may signal at which a side asks for an entry, ascending."""
    asks = longs.signals[bars] | shorts.signals[bars]
    # Where both sides signal neither does: the idea contradicts itself. Two resting orders do not.
    if longs.order.form == MARKET or shorts.order.form == MARKET:
        asks = longs.signals[bars] != shorts.signals[bars]
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
    """Events of a bar, by the finer bars of which it is made up; the position at its close."""
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
    """Whether a bar touches an order that stands, or the stop or a target of a position."""
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
    """The bar at whose close a position ends at the latest, by its hold or its window's end."""
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
    """Whether the clock ends a position in a bar, at its open or at its close."""
    today, entered = world.local_ns[j], world.local_ns[entry_bar]
    is_late = today % DAY_NS + world.bar_ns >= world.minute_ns
    return bool(today // DAY_NS != entered // DAY_NS or is_late)
