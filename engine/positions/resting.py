"""Orders of an individual after a window's last close: those that rest, and what they wait for.

It reads what the reference reads, and shares no code with the batch engine.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine.positions.exit_spec import DAY_NS, MARKET, STOP_ORDER, SidePlan
from engine.positions.reference import take_bar
from engine.positions.reference_exits import FLAT, HeldPosition, asks_exit, stay_out
from engine.positions.reference_orders import (
    NO_ORDER,
    SINCE,
    STANDING,
    Book,
    SignalSpan,
    asks_entry,
    begin_book,
    order_price,
    touch_level,
)
from engine.positions.reference_stops import move_stop
from engine.positions.reference_trades import ListedTrades, begin_trades
from engine.positions.reference_world import (
    CANCELS,
    EXPIRES,
    FORM,
    NUMBER,
    ORDER_PART,
    World,
    count_targets,
)
from engine.positions.standing import (
    PendingEntry,
    RestingOrder,
    Standing,
    is_void,
    place_stop,
    place_target,
)


def add_orders(
    standing: Standing,
    run: Callable[..., Any],
    world: World,
    sides: tuple[SidePlan, SidePlan],
    span: SignalSpan,
) -> Standing:
    """A standing with the orders that bars to come may fill; as it is where none rest or reverse.

    Args:
        standing: Without them.
        run: Runs a loop on what it is given.
        world: The series and what the individual asks of it.
        sides: What longs do, and what shorts do.
        span: The window; signals of its last bars count too.
    """
    forms = world.parts[:, FORM, ORDER_PART]
    if not world.limits.reverses and (forms == MARKET).all():
        return standing
    book = begin_book(world)
    legs = max(count_targets(world, 0), count_targets(world, 1))
    at = run(take_all, world, span, book, begin_trades(world, span, legs))
    if at.side != FLAT:
        leaves = bool(asks_exit(world, at, span.end - 1))
        standing = standing._replace(next_stop=float(at.stop), leaves=leaves)
        # Of the other side the signal counts at the close at which the exit was known.
        if leaves and not world.limits.reverses:
            book.orders[1 - at.side, SINCE] = span.end - 1
    entries: list[PendingEntry] = []
    resting: list[RestingOrder] = []
    for side, plan in enumerate(sides):
        placed = list(_list_placed(world, span, book, side))
        for number, t in enumerate(placed):
            if is_void(plan, t):
                continue
            wait = max(t + 1 + world.limits.delay - span.end, 0)
            sign, stop = int(plan.side), place_stop(world, plan, side, t)
            levels = stop, place_target(world, plan, side, t)
            if world.parts[side, FORM, ORDER_PART] == MARKET:
                entries.append(PendingEntry(t, wait, sign, *levels))
            # Without a price it replaces the order before, and is never touched.
            elif 0.0 < touch_level(world, side, t) < math.inf:
                left = _count_left(world, side, t, placed[number + 1 :], span.end)
                is_stop = world.parts[side, FORM, ORDER_PART] == STOP_ORDER
                price, needed = order_price(world, side, t), touch_level(world, side, t)
                kind, is_day = "stop" if is_stop else "limit", len(world.local_ns) > 0
                resting.append(
                    RestingOrder(t, wait, left, is_day, sign, kind, price, needed, *levels)
                )
    entries.sort(key=lambda entry: entry.signal_bar)
    first = next(iter(entries), None)
    return standing._replace(pending=first, orders=tuple(resting))


def take_all(world: World, span: SignalSpan, book: Book, trades: ListedTrades) -> HeldPosition:
    """Take the signals of a window as if bars came behind it; the position after its last close."""
    position, longer = stay_out(), SignalSpan(span.first, span.last, span.end + 1)
    for j in range(span.first, span.end):
        position = take_bar(world, longer, book, trades, position, j)
        if position.side != FLAT:
            position = move_stop(world, book, position, j)
    return position


def _list_placed(world: World, span: SignalSpan, book: Book, side: int) -> Iterator[int]:
    """Signal bars of a side's orders from the next bar on, each replaced by the one behind it."""
    end, newest = span.end, span.end - 1 - world.limits.delay
    since, before = int(book.orders[side, SINCE]), int(book.orders[side, STANDING])
    signal_bars = [t for t in range(max(newest, since), end) if asks_entry(world, span, side, t)]
    if before != NO_ORDER and newest not in signal_bars:
        signal_bars.insert(0, before)
    yield from (t for t in signal_bars if _stands(world, side, t, end))


def _stands(world: World, side: int, t: int, end: int) -> bool:
    """Whether the order of a signal at bar t may stand in a bar that has not come yet."""
    first = t + 1 + world.limits.delay
    if world.parts[side, FORM, ORDER_PART] == MARKET:
        return first >= end
    expires = world.parts[side, NUMBER, EXPIRES]
    if (expires > 0.0 and end >= first + expires) or world.marks[CANCELS, t + 1 : end].any():
        return False
    # The next bar opens no earlier than the last one closes.
    local_ns = world.local_ns
    if len(local_ns) == 0 or first >= end:
        return True
    return bool((local_ns[end - 1] + world.bar_ns) // DAY_NS == local_ns[first] // DAY_NS)


def _count_left(world: World, side: int, t: int, later: Sequence[int], end: int) -> int | None:
    """Bars from the next one on, or from its first, in which an order stands at most."""
    first, expires = t + 1 + world.limits.delay, world.parts[side, NUMBER, EXPIRES]
    ends = [other + 1 + world.limits.delay for other in later[:1]]
    if expires > 0.0:
        ends.append(first + int(expires))
    return min(ends) - max(first, end) if ends else None
