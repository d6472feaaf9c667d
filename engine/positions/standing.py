"""How an individual stands after a window's last close: in a trade, about to enter, or flat.

It reads what the reference reads, and shares no code with the batch engine.
"""

import math
from typing import NamedTuple

from engine.accounts.ledger import Ledger, Trade
from engine.positions.exit_spec import (
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    NONE,
    R_MULTIPLE,
    SHARE,
    ExitForm,
    SidePlan,
)
from engine.positions.reference import find_free_bars
from engine.positions.reference_exits import (
    END,
    NOT_REACHED,
    SIGNAL,
    HeldPosition,
    asks_exit,
    begin_position,
    find_first_stop,
    find_target,
)
from engine.positions.reference_orders import LEG_BARS, begin_book, on_tick
from engine.positions.reference_stops import fold_best, move_stop
from engine.positions.reference_world import (
    Ints,
    World,
    count_targets,
    read_bar,
)

LEVEL_KINDS = {SHARE: "share", FROM_ENTRY: "distance", R_MULTIPLE: "times_risk"}
"""Kinds of a level that depends on the entry, by its form."""


class EntryLevel(NamedTuple):
    """A stop or a target before the entry is known."""

    # ``price`` itself, or how far from the entry: a ``distance``, a ``share`` of it, or
    # ``times_risk``; ``none`` where there is none.
    kind: str
    value: float


class PendingEntry(NamedTuple):
    """A signal that counts, and is entered at the open of a bar that has not come yet."""

    signal_bar: int
    bars_to_wait: int  # 0: at the next open
    side: int  # 1 for a long, -1 for a short
    stop: EntryLevel
    target: EntryLevel


class RestingOrder(NamedTuple):
    """An order that waits for a price from a bar on that has not come yet."""

    signal_bar: int
    bars_to_wait: int  # before its first bar; 0: it stands in the next one
    bars_left: int | None  # in which it stands at most; None without a known end
    is_day: bool  # whether it ends with the session of its first bar
    side: int  # 1 for a long, -1 for a short
    kind: str  # ``stop`` or ``limit``
    price: float  # on the tick
    needed: float  # price that must be reached; beyond `price` where a limit asks for more
    stop: EntryLevel
    target: EntryLevel


class Standing(NamedTuple):
    """State after a window's last close."""

    trade: Trade | None  # that is open, as if closed at that close; None where flat
    next_stop: float  # in force from the next bar on; NaN where flat
    bars_left: int | None  # until it is left by time at the latest; None without such a limit
    leaves: bool  # whether its exit condition holds, so that the next open ends it
    pending: PendingEntry | None
    orders: tuple[RestingOrder, ...] = ()


def find_standing(
    world: World,
    sides: tuple[SidePlan, SidePlan],
    ledger: Ledger,
    signals: Ints,
    end: int,
    *,
    held: World,
) -> Standing:
    """How an individual stands after bar `end - 1`.

    Args:
        world: The series and what the individual asks of it.
        sides: What longs do, and what shorts do.
        ledger: Its trades until then.
        signals: Bars at which one side asks for an entry that no bar has brought yet, ascending.
        end: One past the last bar.
        held: The same series as the genes ask for it that entered an open position.
    """
    last = ledger.trade(len(ledger) - 1) if len(ledger) else None
    if last is None or last.reason != END:
        free = (0, 0)
        if last is not None:
            cooldown = world.limits.cooldown
            free = find_free_bars(last.exit_bar, last.reason, last.side, cooldown)
        return Standing(
            None, math.nan, None, False, _find_pending(world, sides, signals, free, end)
        )
    hold, at = held.limits.max_hold, _follow_position(held, ledger, end)
    leaves = asks_exit(held, at, end - 1)
    # What leaves at the next open may reverse there.
    free = find_free_bars(end, SIGNAL, last.side, 0)
    return Standing(
        last,
        float(at.stop),
        last.entry_bar + hold - end if hold else None,
        leaves,
        _find_pending(world, sides, signals, free, end) if leaves else None,
    )


def _follow_position(world: World, ledger: Ledger, end: int) -> HeldPosition:
    """The open position with which a ledger ends, its stop as it stands from bar `end` on."""
    trade, book = ledger.trade(len(ledger) - 1), begin_book(world)
    side = 0 if trade.side > 0 else 1
    at = begin_position(
        world, side, trade.signal_bar, trade.entry_bar, False, trade.entry, trade.stop
    )
    for j in range(trade.entry_bar, end):
        # A ledger has as many columns as the side with most targets.
        for leg, bar in enumerate(ledger.leg_bar[-1, : count_targets(world, side)].tolist()):
            is_reached = NOT_REACHED < bar <= j
            book.orders[side, LEG_BARS + leg] = bar if is_reached else NOT_REACHED
        at = fold_best(world, at, read_bar(world, j), j == trade.entry_bar)
        at = move_stop(world, book, at, j)
    return at


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
        if t < free[side] or is_void(plan, t):
            continue
        stop, target = place_stop(world, plan, side, t), place_target(world, plan, side, t)
        return PendingEntry(t, t + 1 + world.limits.delay - end, int(plan.side), stop, target)
    return None


def is_void(plan: SidePlan, t: int) -> bool:
    """Whether a level that a signal reads is unknown, or on the wrong side at any entry."""
    forms = [plan.stop, *_list_targets(plan)]
    # A level that a stop follows may be known later.
    if plan.trail.form != LEVEL:
        forms.append(plan.trail)
    return any(_is_wrong(form, t) for form in forms if form.form != NONE)


def _list_targets(plan: SidePlan) -> list[ExitForm]:
    """The targets of a side."""
    legs = plan.legs
    columns = zip(legs.forms.tolist(), legs.numbers.tolist(), legs.rows, strict=True)
    return [ExitForm(*column) for column in columns]


def _is_wrong(form: ExitForm, t: int) -> bool:
    if form.form in (SHARE, R_MULTIPLE):
        return False
    value = float(form.row[t])
    return math.isnan(value) or (form.form == FROM_ENTRY and not value > 0)


def place_stop(world: World, plan: SidePlan, side: int, t: int) -> EntryLevel:
    """The stop of a signal at bar t, as far as it is known."""
    if plan.stop.form in (BEYOND_BAR, LEVEL):
        stop = find_first_stop(world, side, t, math.nan)
        return EntryLevel("price", float(on_tick(world.limits, stop, side == 1)))
    return _place_level(plan.stop, t)


def place_target(world: World, plan: SidePlan, side: int, t: int) -> EntryLevel:
    """The first target of a signal at bar t, as far as it is known."""
    targets = _list_targets(plan)
    if not targets:
        return EntryLevel("none", math.nan)
    if targets[0].form == LEVEL:
        target = find_target(world, side, 0, t, math.nan, math.nan)
        return EntryLevel("price", float(on_tick(world.limits, target, side == 0)))
    return _place_level(targets[0], t)


def _place_level(form: ExitForm, t: int) -> EntryLevel:
    value = form.row[t] if form.form == FROM_ENTRY else form.number
    return EntryLevel(LEVEL_KINDS[form.form], float(value))
