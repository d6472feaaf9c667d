"""How an individual stands after a window's last close: in a trade, about to enter, or flat.

It reads what the reference reads, and shares no code with the batch engine.
"""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import REASONS, Ledger, Trade
from engine.positions.entry_plans import (
    BreakEven,
    PendingEntry,
    RestingOrder,
    StopTrail,
    count_sides,
    find_break_even,
    find_trail,
    is_void,
    plan_entry,
)
from engine.positions.exit_spec import DAY_NS, MARKET, SidePlan
from engine.positions.reference import find_free_bars, take_bar
from engine.positions.reference_exits import (
    END,
    FLAT,
    NOT_REACHED,
    SIGNAL,
    HeldPosition,
    asks_exit,
    stay_out,
)
from engine.positions.reference_orders import (
    LEG_BARS,
    LEG_LEVELS,
    Book,
    SignalSpan,
    begin_book,
)
from engine.positions.reference_stops import find_even_price, move_stop
from engine.positions.reference_trades import ListedTrades, begin_trades, compute_net
from engine.positions.reference_world import FORM, ORDER_PART, Ints, World
from strategy.rows import LoopRunner


class OpenPosition(NamedTuple):
    """An open position after a close, beside its trade."""

    stop: float  # in force from the next bar on
    stop_kind: str  # ``stop`` that never moved, or ``trail``, ``break_even``, ``margin``
    locked_r: float  # of targets that were reached, net
    trail: StopTrail | None
    even: BreakEven | None  # None where the stop has moved there, or beyond
    session_left_ns: int | None  # from the newest bar's open until the session ends


class Standing(NamedTuple):
    """State after a window's last close."""

    trade: Trade | None  # that is open, as if closed at that close; None where flat
    position: OpenPosition | None  # of that trade
    bars_left: int | None  # until it is left by time at the latest; None without such a limit
    leaves: bool  # whether its exit condition holds, so that the next open ends it
    pending: PendingEntry | None
    orders: tuple[RestingOrder, ...] = ()


class Walked(NamedTuple):
    """Orders and position after a window's last close, as if bars came behind it."""

    book: Book
    at: HeldPosition


def has_resting(world: World) -> bool:
    """Whether orders rest or reverse, so that the book hangs on all bars of a window."""
    return bool(world.limits.reverses or (world.parts[:, FORM, ORDER_PART] != MARKET).any())


def walk_window(form: LoopRunner, world: World, span: SignalSpan) -> Walked:
    """Orders and position of all signals of a window; `form` is how loops run."""
    book = begin_book(world)
    trades = begin_trades(world, span, count_sides(world))
    return Walked(book, form(take_all)(world, span, book, trades))


def walk_trade(world: World, trade: Trade, end: int) -> Walked:
    """Targets and position of one trade that was entered at the market and is open."""
    span, book = SignalSpan(trade.signal_bar, trade.signal_bar + 1, end), begin_book(world)
    # NaN is a value like others; numbers of a compiled loop do not warn either.
    with np.errstate(all="ignore"):
        at = take_all(world, span, book, begin_trades(world, span, count_sides(world)))
    return Walked(book, at)


def take_all(world: World, span: SignalSpan, book: Book, trades: ListedTrades) -> HeldPosition:
    """Take the signals of a window as if bars came behind it; the position after its last close."""
    position, longer = stay_out(), SignalSpan(span.first, span.last, span.end + 1)
    for j in range(span.first, span.end):
        position = take_bar(world, longer, book, trades, position, j)
        if position.side != FLAT:
            position = move_stop(world, book, position, j)
    return position


def build_standing(
    world: World,
    sides: tuple[SidePlan, SidePlan],
    ledger: Ledger,
    signals: Ints,
    end: int,
    *,
    held: tuple[World, tuple[SidePlan, SidePlan]],
    walked: Walked | None = None,
) -> Standing:
    """How an individual stands after bar `end - 1`, but for orders that rest.

    Args:
        world: The series and what the individual asks of it.
        sides: What longs do, and what shorts do.
        ledger: Its trades until then.
        signals: Bars at which one side asks for an entry that no bar has brought yet, ascending.
        end: One past the last bar.
        held: World and sides of the genes that entered an open position.
        walked: Of the window where orders rest or reverse; else None.
    """
    last = ledger.trade(len(ledger) - 1) if len(ledger) else None
    if last is None or last.reason != END:
        free = (0, 0)
        if last is not None:
            cooldown = world.limits.cooldown
            free = find_free_bars(last.exit_bar, last.reason, last.side, cooldown)
        pending = _find_pending(world, sides, signals, free, end)
        return Standing(None, None, None, False, pending)
    held_world, held_sides = held
    known = walk_trade(held_world, last, end) if walked is None else walked
    hold, leaves = held_world.limits.max_hold, bool(asks_exit(held_world, known.at, end - 1))
    # What leaves at the next open may reverse there.
    free = find_free_bars(end, SIGNAL, last.side, 0)
    return Standing(
        last,
        describe_position(held_world, held_sides[known.at.side], known, end),
        last.entry_bar + hold - end if hold else None,
        leaves,
        _find_pending(world, sides, signals, free, end) if leaves else None,
    )


def describe_position(world: World, plan: SidePlan, walked: Walked, end: int) -> OpenPosition:
    """An open position after bar `end - 1`."""
    (book, at), locked = walked, 0.0
    reached = book.orders[at.side, LEG_BARS:].tolist()
    prices = book.levels[at.side, LEG_LEVELS:].tolist()
    for share, bar, price in zip(plan.legs.shares.tolist(), reached, prices, strict=False):
        if bar != NOT_REACHED:
            locked += share * (compute_net(world, at, bar, price) / at.risk)
    even, price = find_break_even(world.limits), float(find_even_price(world, at))
    if even is not None:
        is_there = plan.side * at.stop >= plan.side * price
        even = None if is_there else even._replace(level=even.level._replace(price=price))
    local_ns = world.local_ns
    return OpenPosition(
        float(at.stop),
        REASONS[at.mover],
        float(locked),
        find_trail(plan, at.entry, at.risk, at.signal_bar, end),
        even,
        int(world.minute_ns - local_ns[end - 1] % DAY_NS) if len(local_ns) else None,
    )


def _find_pending(
    world: World,
    sides: tuple[SidePlan, SidePlan],
    signals: Ints,
    free: tuple[int, int],
    end: int,
) -> PendingEntry | None:
    """The first signal that counts, but for those that no open would make a trade of."""
    for bar in signals:
        t = int(bar)
        side = 0 if sides[0].signals[t] else 1
        plan = sides[side]
        if t >= free[side] and not is_void(plan, t):
            wait = t + 1 + world.limits.delay - end
            return PendingEntry(t, wait, int(plan.side), plan_entry(world, plan, side, t, end))
    return None
