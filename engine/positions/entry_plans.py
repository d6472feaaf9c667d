"""Entries that bars to come may fill: prices and levels of each, as far as they are known.

It reads what the reference reads, and shares no code with the batch engine.
"""

import math
from dataclasses import dataclass

from engine.positions.exit_spec import (
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    MARKET,
    NONE,
    R_MULTIPLE,
    SHARE,
    ExitForm,
    SidePlan,
)
from engine.positions.reference_exits import MARGIN, HeldPosition, is_worth, open_position
from engine.positions.reference_orders import AT_OPEN, LEG_LEVELS, WITHIN, begin_book
from engine.positions.reference_stops import find_even_price
from engine.positions.reference_world import CLOSE, BarPart, World

LEVEL_KINDS = {SHARE: "share", FROM_ENTRY: "distance", R_MULTIPLE: "times_risk", NONE: "none"}
"""Kinds of a level that depends on the entry, by its form."""


@dataclass(frozen=True)
class EntryLevel:
    """A stop or a target of an entry."""

    # ``price`` itself, or how far from the entry: a ``distance``, a ``share`` of it, or
    # ``times_risk``; ``none`` at the entry.
    kind: str
    value: float
    price: float | None  # where the entry's price is known, or it hangs on none


@dataclass(frozen=True)
class EntryTarget(EntryLevel):
    """A target of an entry."""

    share: float  # of the position


@dataclass(frozen=True)
class EvenLevel(EntryLevel):
    """Where a stop moves, the entry or beyond it, and when."""

    gain: float | None  # in units of risk; None where it hangs on a target
    after_target: int | None  # number of the target, from 1; None where it hangs on a gain


@dataclass(frozen=True)
class StopTrail:
    """How a stop follows."""

    kind: str  # behind the best price by a ``distance`` or a ``share`` of it; or at a ``row``
    value: float | None  # of a row the newest
    after: float  # gain from which on it follows, in units of risk
    begins: float | None  # best price from which on it follows, where the entry is known


@dataclass(frozen=True, kw_only=True)
class EntryLevels:
    """What follows from a fill."""

    stop: EntryLevel
    margin_stop: float | None  # nearer stop in force at which all of the account is lost
    targets: tuple[EntryTarget, ...]
    rest: float  # share of the position that no target takes
    trail: StopTrail | None
    break_even: EvenLevel | None


@dataclass(frozen=True, kw_only=True)
class PendingEntry(EntryLevels):
    """A signal that counts, whose entry comes at the open of a bar to come.

    At the market prices are those of an open at the newest close.
    """

    signal_bar: int
    bars_to_wait: int  # before its first bar; 0: it is the next one
    side: int  # 1 for a long, -1 for a short
    entry: float  # its own price with slippage, or the newest close's
    risk: float
    is_taken: bool  # whether it is worth it there


@dataclass(frozen=True, kw_only=True)
class OrderTerms:
    """Terms of an order that waits for a price."""

    kind: str  # ``stop`` or ``limit``
    price: float  # on the tick
    needed: float  # price that must be reached; beyond `price` where a limit asks for more
    bars_left: int | None  # in which it stands at most; None: until it is filled or replaced
    is_day: bool  # whether it ends with the session of its first bar
    is_new: bool  # whether the newest close placed it


@dataclass(frozen=True, kw_only=True)
class RestingOrder(OrderTerms, PendingEntry):
    """An order that may stand in bars to come."""


def plan_entry(world: World, plan: SidePlan, t: int, end: int) -> PendingEntry:
    """The entry of a signal at bar t after bar `end - 1`, with the levels of its fill."""
    side, is_known, book = int(plan.side < 0), plan.order.form != MARKET, begin_book(world)
    close = float(world.prices[CLOSE, end - 1])
    bar = BarPart(end, True, True, close, close, close, close)
    at = open_position(world, book, side, t, WITHIN if is_known else AT_OPEN, bar)
    targets = zip(list_targets(plan), book.levels[side, LEG_LEVELS:].tolist(), strict=False)
    return PendingEntry(
        signal_bar=t,
        bars_to_wait=max(t + 1 + world.limits.delay - end, 0),
        side=int(plan.side),
        entry=float(at.entry),
        risk=float(at.risk),
        is_taken=bool(is_worth(world, book, at)),
        stop=EntryLevel(*place_level(plan.stop, t, at.first_stop, is_known)),
        margin_stop=float(at.stop) if at.mover == MARGIN else None,
        targets=tuple(
            EntryTarget(*place_level(form, t, price, is_known), share)
            for (form, share), price in targets
        ),
        rest=plan.legs.rest,
        trail=find_trail(plan, at, end, is_known=is_known),
        break_even=find_break_even(world, at, is_known=is_known),
    )


def place_level(
    form: ExitForm, t: int, price: float, is_known: bool
) -> tuple[str, float, float | None]:
    """Kind, value and price of a level, which lies at a price if the entry is where it is held."""
    if form.form in (BEYOND_BAR, LEVEL):
        return "price", float(price), float(price)
    return *read_form(form, t), float(price) if is_known else None


def read_form(form: ExitForm, t: int) -> tuple[str, float]:
    """Kind and value of what hangs on the entry of a signal at bar t."""
    value = form.row[t] if form.form == FROM_ENTRY else form.number
    return LEVEL_KINDS[form.form], float(value)


def list_targets(plan: SidePlan) -> list[tuple[ExitForm, float]]:
    """Targets of a side, and the share that each takes."""
    legs = plan.legs
    columns = zip(legs.forms.tolist(), legs.numbers.tolist(), legs.rows, strict=True)
    forms = [ExitForm(*column) for column in columns]
    return list(zip(forms, legs.shares.tolist(), strict=True))


def find_trail(
    plan: SidePlan, at: HeldPosition, end: int, *, is_known: bool = True
) -> StopTrail | None:
    """How the stop of a position follows after bar `end - 1`."""
    form = plan.trail
    if form.form == NONE:
        return None
    begins = float(at.entry + plan.side * (plan.after * at.risk)) if is_known else None
    if form.form == LEVEL:
        newest = float(form.row[end - 1])
        return StopTrail("row", None if math.isnan(newest) else newest, plan.after, begins)
    return StopTrail(*read_form(form, at.signal_bar), plan.after, begins)


def find_break_even(world: World, at: HeldPosition, *, is_known: bool = True) -> EvenLevel | None:
    """When and where the stop of a position moves to the entry."""
    limits = world.limits
    gain = None if math.isnan(limits.break_even) else float(limits.break_even)
    if gain is None and not limits.even_leg:
        return None
    price, kind = float(find_even_price(world, at)), LEVEL_KINDS[limits.even_form]
    number, leg = float(limits.even_number), int(limits.even_leg) or None
    return EvenLevel(kind, number, price if is_known else None, gain, leg)


def is_void(plan: SidePlan, t: int) -> bool:
    """Whether a level that a signal reads is unknown, or on the wrong side at any entry."""
    forms = [plan.stop, *(form for form, _ in list_targets(plan))]
    # A level that a stop follows may be known later.
    if plan.trail.form != LEVEL:
        forms.append(plan.trail)
    return any(_is_wrong(form, t) for form in forms)


def _is_wrong(form: ExitForm, t: int) -> bool:
    if form.form in (NONE, SHARE, R_MULTIPLE):
        return False
    value = float(form.row[t])
    return math.isnan(value) or (form.form == FROM_ENTRY and not value > 0)
