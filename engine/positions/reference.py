"""Trades by the letter of the law: orders of both sides, one position, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. They go from bar to bar: orders that
stand are met, a position is left, another is entered, and at the close stops move and signals place
orders. What a bar does to an order is in `reference_orders`, to a position in `reference_exits`.
"""

import numpy as np

from engine.positions.exit_spec import DAY_NS, MARKET, Limits, SidePlan
from engine.positions.reference_exits import (
    NOBODY,
    NOT_REACHED,
    SIGNAL,
    STILL_OPEN,
    HeldPosition,
    fill_first,
    follow_prices,
    is_stop,
    leave_bar,
    leave_entry_bar,
    move_stop,
    stay_out,
    with_stop,
)
from engine.positions.reference_orders import (
    LEG_BARS,
    LEG_LEVELS,
    NO_ORDER,
    STANDING,
    Book,
    SignalSpan,
    count_placed,
    free_at_open,
    free_sides,
    hold_sides,
    meet_orders,
)
from engine.positions.reference_trades import ListedTrades, list_trade
from engine.positions.reference_world import (
    ENTRIES,
    EXITS,
    HIGH,
    LOW,
    Ints,
    World,
    count_targets,
    find_sign,
)


def find_signal_range(start: int, end: int, warm_up: int, limits: Limits) -> slice:
    """Bars of a window, from its start to one before its end, that may signal."""
    # None before everything is known, and none without a bar in the window to be entered on.
    first = max(start, warm_up)
    return slice(first, max(first, end - 1 - limits.delay))


def list_signals(longs: SidePlan, shorts: SidePlan, bars: slice) -> Ints:
    """Bars [S] of those that may signal at which a side asks for an entry, ascending."""
    asked = longs.signals[bars] | shorts.signals[bars]
    # Where both sides signal neither does: the idea contradicts itself. Two resting orders do not.
    if longs.order.form == MARKET or shorts.order.form == MARKET:
        asked = longs.signals[bars] != shorts.signals[bars]
    signals: Ints = bars.start + np.flatnonzero(asked)
    return signals


def find_free_bars(exit_bar: int, reason: int, side: int, cooldown: int) -> tuple[int, int]:
    """First bars at which signals of longs and of shorts count again after a trade."""
    if is_stop(reason):
        return exit_bar + cooldown, exit_bar + cooldown
    # Flat at the exit bar's open already, as was known a bar before: the other side may reverse.
    longs = exit_bar - int(reason == SIGNAL and side < 0)
    return longs, exit_bar - int(reason == SIGNAL and side > 0)


def take_signals(world: World, span: SignalSpan, book: Book, trades: ListedTrades) -> None:
    """Take signals of both sides, one position at a time; `trades` receives what comes of them."""
    position, j = stay_out(), span.first
    while j < span.end:
        meet_orders(world, span, book, j)
        is_free, entered = position.place == NOBODY, stay_out()
        if position.place != NOBODY:
            leave = leave_bar(world, span, book, position, j)
            if leave.reason != STILL_OPEN:
                list_trade(world, book, trades, position, leave, j)
                # Flat at the open, as was known a bar before: orders may fill in this bar.
                is_free = leave.reason == SIGNAL
                if is_free:
                    free_at_open(world, span, book, position.place, j)
                else:
                    free_sides(world, book, position.place, j, is_stop(leave.reason))
                position, entered = stay_out(), leave.following
        if is_free:
            entered = fill_first(world, book, j)
        if entered.place != NOBODY:
            hold_sides(world, book, entered.place, j)
            leave = leave_entry_bar(world, span, book, entered, j)
            if leave.reason == STILL_OPEN:
                position = entered
            else:
                list_trade(world, book, trades, entered, leave, j)
                free_sides(world, book, entered.place, j, is_stop(leave.reason))
        if position.place != NOBODY:
            position = move_stop(world, book, position, j)
        count_placed(world, span, book, j)
        position, j = pass_quiet_bars(world, span, book, position, j + 1)


def pass_quiet_bars(
    world: World, span: SignalSpan, book: Book, at: HeldPosition, j: int
) -> tuple[HeldPosition, int]:
    """Go on to the next bar in which more may happen than that a stop follows prices.

    Every other bar could be looked at as well: nothing would come of it.
    """
    if book.orders[0, STANDING] != NO_ORDER or book.orders[1, STANDING] != NO_ORDER:
        return at, j
    marks, prices, ago = world.marks, world.table, 1 + world.limits.delay
    if at.place == NOBODY:
        longs, shorts = marks[ENTRIES], marks[ENTRIES + 1]
        while j < span.end and not (longs[j] or shorts[j]):
            # Before the first bar is none that could have asked for an order.
            if longs[max(j - ago, 0)] or shorts[max(j - ago, 0)]:
                break
            j += 1
        return at, j
    side, against, leaves = (
        find_sign(at.place),
        marks[ENTRIES + 1 - at.place],
        marks[EXITS + at.place],
    )
    last, nearest = find_last_bar(world, span, at), find_nearest_target(world, book, at.place)
    stop, best = at.stop, at.best
    worst, reach = (prices[LOW], prices[HIGH]) if side > 0 else (prices[HIGH], prices[LOW])
    while j < last and not leaves[j - 1]:
        if world.limits.reverses and (against[j] or against[max(j - ago, 0)]):
            break
        if len(world.local_ns) > 0 and leaves_by_clock(world, at.entry_bar, j):
            break
        if side * worst[j] <= side * stop or side * reach[j] >= nearest:
            break
        best = max(best, reach[j]) if side > 0 else min(best, reach[j])
        stop = follow_prices(world, at, stop, best)
        j += 1
    return with_stop(at, stop, best), j


def find_last_bar(world: World, span: SignalSpan, at: HeldPosition) -> int:
    """The bar at whose close a position ends at the latest, whatever the clock says."""
    if world.limits.max_hold > 0:
        return min(span.end - 1, at.entry_bar + world.limits.max_hold - 1)
    return span.end - 1


def find_nearest_target(world: World, book: Book, place: int) -> float:
    """The nearest target that was not reached, times the side; infinity where there is none."""
    nearest = np.inf
    for leg in range(count_targets(world, place)):
        if book.orders[place, LEG_BARS + leg] == NOT_REACHED:
            nearest = min(nearest, find_sign(place) * book.levels[place, LEG_LEVELS + leg])
    return nearest


def leaves_by_clock(world: World, entry_bar: int, j: int) -> bool:
    """Whether the clock ends a position in a bar, at its open or at its close."""
    today, entered = world.local_ns[j], world.local_ns[entry_bar]
    is_late = today % DAY_NS + world.bar_ns >= world.minute_ns
    return bool(today // DAY_NS != entered // DAY_NS or is_late)
