"""Trades by the letter of the law: orders of both sides, one position, exits in their order.

It shares no code with the batch engine. Its loops are functions over arrays and numbers, which run
as plain Python reads them, or compiled in the same words. They go from bar to bar: orders that
stand are met, a position is left, another is entered, and at the close stops move and signals place
orders. What a bar does to an order is in `reference_orders`, to a position in `reference_exits`.
"""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import Ledger
from engine.positions.exit_spec import DAY_NS, MARKET, Limits, SidePlan
from engine.positions.reference_exits import (
    NOBODY,
    NOT_REACHED,
    REVERSE,
    SIGNAL,
    STILL_OPEN,
    TARGET,
    Exit,
    Position,
    compute_net_r,
    fill_first,
    follow_prices,
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
    Span,
    count_placed,
    free_at_open,
    free_sides,
    hold_sides,
    meet_orders,
    slip_price,
)
from engine.positions.reference_world import (
    ENTRIES,
    EXITS,
    HIGH,
    LOW,
    Floats,
    Ints,
    World,
    count_targets,
    sign_of,
)


class Trades(NamedTuple):
    """Trades in the order of time; there is room for more."""

    listed: Ints  # [1] how many
    whole: Ints  # [6, S] signal bar, entry bar, exit bar, reason, side and bars held
    numbers: Floats  # [6, S] entry, stop, target, exit, r and last stop
    leg_bars: Ints  # [S, L] bar in which each target was reached, or -1
    leg_prices: Floats  # [S, L] its price, or NaN


def build_ledger(trades: Trades, counts: Ints, scales: Floats | None = None) -> Ledger:
    """The ledger of what `take_signals` found; `scales` [T] is what sizes are measured by."""
    some = slice(int(trades.listed[0]))
    signal_bar, entry_bar, exit_bar, reason, side, held = trades.whole[:, some].copy()
    entry, stop, target, leave, r, last_stop = trades.numbers[:, some].copy()
    rejected, orders, used = counts.tolist()
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held, trades.leg_bars[some], trades.leg_prices[some],
        np.empty((len(r), 0)) if scales is None else scales[signal_bar][:, None],
        rejected, orders, orders - used,
    )  # fmt: skip


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


def take_signals(world: World, span: Span, book: Book, trades: Trades) -> None:
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
                    free_sides(world, book, position.place, j)
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
                free_sides(world, book, entered.place, j)
        if position.place != NOBODY:
            position = move_stop(world, book, position, j)
        count_placed(world, span, book, j)
        position, j = pass_quiet_bars(world, span, book, position, j + 1)


def begin_trades(world: World, span: Span, legs: int = 0) -> Trades:
    """Room for as many trades as there may be; `legs`: targets of a ladder."""
    # Each trade has a signal of its own.
    room = int(world.marks[ENTRIES : ENTRIES + 2, span.first : span.last].sum())
    return Trades(
        np.zeros(1, np.int64), np.empty((6, room), np.int64), np.empty((6, room)),
        np.full((room, legs), NOT_REACHED), np.full((room, legs), np.nan),
    )  # fmt: skip


def pass_quiet_bars(
    world: World, span: Span, book: Book, at: Position, j: int
) -> tuple[Position, int]:
    """Go on to the next bar in which more may happen than that a stop follows prices.

    Every other bar could be looked at as well: nothing would come of it.
    """
    if book.orders[0, STANDING] != NO_ORDER or book.orders[1, STANDING] != NO_ORDER:
        return at, j
    marks, prices, ago = world.marks, world.table, 1 + world.limits.delay
    if at.place == NOBODY:
        longs, shorts = marks[ENTRIES], marks[ENTRIES + 1]
        while j < span.end and not (longs[j] or shorts[j] or longs[j - ago] or shorts[j - ago]):
            j += 1
        return at, j
    side, against, leaves = (
        sign_of(at.place),
        marks[ENTRIES + 1 - at.place],
        marks[EXITS + at.place],
    )
    last, nearest = find_last_bar(world, span, at), find_nearest_target(world, book, at.place)
    stop, best = at.stop, at.best
    worst, reach = (prices[LOW], prices[HIGH]) if side > 0 else (prices[HIGH], prices[LOW])
    while j < last and not leaves[j - 1]:
        if world.limits.reverses and (against[j] or against[j - ago]):
            break
        if len(world.local_ns) > 0 and is_clock_over(world, at.entry_bar, j):
            break
        if side * worst[j] <= side * stop or side * reach[j] >= nearest:
            break
        best = max(best, reach[j]) if side > 0 else min(best, reach[j])
        stop = follow_prices(world, at, stop, best)
        j += 1
    return with_stop(at, stop, best), j


def find_last_bar(world: World, span: Span, at: Position) -> int:
    """The bar at whose close a position ends at the latest, whatever the clock says."""
    if world.limits.max_hold > 0:
        return min(span.end - 1, at.entry_bar + world.limits.max_hold - 1)
    return span.end - 1


def find_nearest_target(world: World, book: Book, place: int) -> float:
    """The nearest target that was not reached, times the side; infinity where there is none."""
    nearest = np.inf
    for leg in range(count_targets(world, place)):
        if book.orders[place, LEG_BARS + leg] == NOT_REACHED:
            nearest = min(nearest, sign_of(place) * book.levels[place, LEG_LEVELS + leg])
    return nearest


def is_clock_over(world: World, entry_bar: int, j: int) -> bool:
    """Whether the clock ends a position in a bar, at its open or at its close."""
    today, entered = world.local_ns[j], world.local_ns[entry_bar]
    is_late = today % DAY_NS + world.bar_ns >= world.minute_ns
    return bool(today // DAY_NS != entered // DAY_NS or is_late)


def list_trade(world: World, book: Book, trades: Trades, at: Position, leave: Exit, j: int) -> None:
    """Note a trade that ends in a bar."""
    place, side, k, price = at.place, sign_of(at.place), trades.listed[0], leave.price
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    if leave.reason != TARGET and leave.reason != REVERSE:
        price = slip_price(world, place, price, j, side < 0)
    whole, numbers = trades.whole, trades.numbers
    whole[0, k], whole[1, k], whole[2, k] = at.signal_bar, at.entry_bar, j
    whole[3, k], whole[4, k] = leave.reason, int(side)
    # The exit bar counts where the position lasts beyond its open, or its own part of it.
    whole[5, k] = j - at.entry_bar + (0 if leave.is_at_open else 1)
    numbers[0, k], numbers[1, k], numbers[3, k] = at.entry, at.first_stop, price
    numbers[2, k] = find_farthest_target(world, book, place)
    numbers[4, k], numbers[5, k] = compute_net_r(world, book, at, j, price), at.stop
    if trades.leg_bars.shape[1] > 0:
        for leg in range(count_targets(world, place)):
            trades.leg_bars[k, leg] = book.orders[place, LEG_BARS + leg]
            if book.orders[place, LEG_BARS + leg] != NOT_REACHED:
                trades.leg_prices[k, leg] = book.levels[place, LEG_LEVELS + leg]
    trades.listed[0] += 1


def find_farthest_target(world: World, book: Book, place: int) -> float:
    """The target that lies farthest; infinite where there is none."""
    count, side = count_targets(world, place), sign_of(place)
    farthest = -np.inf if count > 0 else np.inf
    for leg in range(count):
        farthest = max(farthest, side * book.levels[place, LEG_LEVELS + leg])
    return side * farthest
