"""How an individual stands after a window's last close: in a trade, about to enter, or flat.

It reads what the reference reads, and shares no code with the batch engine.
"""

from dataclasses import dataclass
from typing import NamedTuple

from engine.accounts.ledger import REASONS, Ledger, Trade
from engine.positions.entry_plans import (
    EvenLevel,
    PendingEntry,
    RestingOrder,
    StopTrail,
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
from engine.positions.reference_orders import LEG_BARS, LEG_LEVELS, Book, SignalSpan, begin_book
from engine.positions.reference_stops import find_even_price, move_stop
from engine.positions.reference_trades import ListedTrades, begin_trades, compute_net
from engine.positions.reference_world import FORM, ORDER_PART, Ints, World, count_targets
from strategy.rows import LoopRunner


@dataclass(frozen=True)
class HeldLevels:
    """An open position after a close, beside its trade."""

    stop: float  # in force from the next bar on
    stop_kind: str  # ``stop`` that never moved, ``trail``, ``break_even`` or ``margin``
    locked_r: float  # of targets that were reached, net
    trail: StopTrail | None
    break_even: EvenLevel | None  # None where the stop is there already, or beyond


class AskedWorld(NamedTuple):
    """A series and what an individual asks of it."""

    world: World
    sides: tuple[SidePlan, SidePlan]  # what longs do, and what shorts do


class Standing(NamedTuple):
    """State after a window's last close; flat by default."""

    trade: Trade | None = None  # that is open, as if closed at that close
    position: HeldLevels | None = None  # of that trade
    bars_left: int | None = None  # until it is left by time at the latest
    session_left_ns: int | None = None  # from the newest bar's open until its session ends
    leaves: bool = False  # whether its exit condition holds, so that the next open ends it
    pending: PendingEntry | None = None
    orders: tuple[RestingOrder, ...] = ()


class Walked(NamedTuple):
    """Orders and position after a window's last close, as if bars came behind it."""

    book: Book
    at: HeldPosition


def has_resting(world: World) -> bool:
    """Whether orders rest or reverse, so that the book hangs on all bars of a window."""
    return bool(world.limits.reverses or (world.parts[:, FORM, ORDER_PART] != MARKET).any())


def walk_signals(form: LoopRunner, world: World, span: SignalSpan) -> Walked:
    """Orders and position of all signals of a window; `form` is how loops run."""
    book = begin_book(world)
    trades = begin_trades(world, span, max(count_targets(world, 0), count_targets(world, 1)))
    return Walked(book, form(take_all)(world, span, book, trades))


def take_all(world: World, span: SignalSpan, book: Book, trades: ListedTrades) -> HeldPosition:
    """Take the signals of a window as if bars came behind it; the position after its last close."""
    position, longer = stay_out(), SignalSpan(span.first, span.last, span.end + 1)
    for j in range(span.first, span.end):
        position = take_bar(world, longer, book, trades, position, j)
        if position.side != FLAT:
            position = move_stop(world, book, position, j)
    return position


def find_open(ledger: Ledger) -> Trade | None:
    """The open trade with which a ledger ends."""
    last = ledger.trade(len(ledger) - 1) if len(ledger) else None
    return last if last is not None and last.reason == END else None


def describe_trade(held: AskedWorld, trade: Trade, walked: Walked, end: int) -> Standing:
    """The standing of an open trade after bar `end - 1`, without what is to be entered."""
    world, (book, at), locked = held.world, walked, 0.0
    plan, hold, local_ns = held.sides[at.side], world.limits.max_hold, world.local_ns
    reached = book.orders[at.side, LEG_BARS:].tolist()
    prices = book.levels[at.side, LEG_LEVELS:].tolist()
    for share, bar, price in zip(plan.legs.shares.tolist(), reached, prices, strict=False):
        if bar != NOT_REACHED:
            locked += share * (compute_net(world, at, bar, price) / at.risk)
    is_even = plan.side * at.stop >= plan.side * find_even_price(world, at)
    return Standing(
        trade,
        HeldLevels(
            float(at.stop),
            REASONS[at.mover],
            float(locked),
            find_trail(plan, at, end),
            None if is_even else find_break_even(world, at),
        ),
        trade.entry_bar + hold - end if hold else None,
        int(world.minute_ns - local_ns[end - 1] % DAY_NS) if len(local_ns) else None,
        asks_exit(world, at, end - 1),
    )


def find_pending(asked: AskedWorld, ledger: Ledger, signals: Ints, end: int) -> PendingEntry | None:
    """The first signal that counts, but for those that no open would make a trade of.

    Args:
        asked: By the individual.
        ledger: Trades until then; one that is open leaves at the next open.
        signals: Bars at which one side asks for an entry that no bar has brought yet, ascending.
        end: One past the last bar.
    """
    world, free = asked.world, (0, 0)
    if len(ledger):
        last = ledger.trade(len(ledger) - 1)
        free = find_free_bars(last.exit_bar, last.reason, last.side, world.limits.cooldown)
        # What leaves at the next open may reverse there.
        if last.reason == END:
            free = find_free_bars(end, SIGNAL, last.side, 0)
    for t in signals.tolist():
        side = 0 if asked.sides[0].signals[t] else 1
        if t >= free[side] and not is_void(asked.sides[side], t):
            return plan_entry(world, asked.sides[side], t, end)
    return None
