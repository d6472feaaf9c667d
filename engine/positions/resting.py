"""Orders of an individual after a window's last close: those that rest, and what they wait for.

It reads what the reference reads, and shares no code with the batch engine.
"""

import math
from collections.abc import Iterator, Sequence

from engine.positions.entry_plans import PendingEntry, RestingOrder, is_void, plan_entry
from engine.positions.exit_spec import DAY_NS, MARKET, STOP_ORDER
from engine.positions.reference_orders import (
    NO_ORDER,
    SINCE,
    STANDING,
    Book,
    SignalSpan,
    asks_entry,
    order_price,
    touch_level,
)
from engine.positions.reference_world import CANCELS, EXPIRES, FORM, NUMBER, ORDER_PART, World
from engine.positions.standing import AskedWorld, Standing, Walked


def add_orders(standing: Standing, walked: Walked, asked: AskedWorld, span: SignalSpan) -> Standing:
    """A standing with the orders that bars to come may fill.

    Args:
        standing: Without them.
        walked: Of the window.
        asked: By the individual.
        span: The window; signals of its last bars count too.
    """
    (book, at), world, end = walked, asked.world, span.end
    # Of the other side the signal counts at the close at which the exit was known.
    if standing.leaves and not world.limits.reverses:
        book.orders[1 - at.side, SINCE] = end - 1
    entries: list[PendingEntry] = []
    resting: list[RestingOrder] = []
    for side, plan in enumerate(asked.sides):
        placed = list(_list_placed(world, span, book, side))
        for number, t in enumerate(placed):
            if is_void(plan, t):
                continue
            entry = plan_entry(world, plan, t, end)
            needed = float(touch_level(world, side, t))
            if plan.order.form == MARKET:
                entries.append(entry)
            # Without a price it replaces the order before, and is never touched.
            elif 0.0 < needed < math.inf:
                order = RestingOrder(
                    **vars(entry),
                    kind="stop" if plan.order.form == STOP_ORDER else "limit",
                    price=float(order_price(world, side, t)),
                    needed=needed,
                    bars_left=_count_left(world, side, t, placed[number + 1 :], end),
                    is_day=len(world.local_ns) > 0,
                    is_new=t + 1 + world.limits.delay == end,
                )
                resting.append(order)
    first = min(entries, key=lambda entry: entry.signal_bar, default=None)
    return standing._replace(pending=first, orders=tuple(resting))


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
    if expires > 0.0 and end >= first + expires:
        return False
    if world.marks[CANCELS + side, t + 1 : end].any():
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
