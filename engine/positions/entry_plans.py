"""Entries that bars to come may fill: prices and levels of each, as far as they are known.

It reads what the reference reads, and shares no code with the batch engine.
"""

import math
from typing import NamedTuple

from engine.positions.exit_spec import (
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    MARKET,
    NONE,
    R_MULTIPLE,
    SHARE,
    ExitForm,
    Limits,
    SidePlan,
)
from engine.positions.reference_exits import is_worth, open_position
from engine.positions.reference_orders import (
    AT_OPEN,
    LEG_LEVELS,
    WITHIN,
    begin_book,
)
from engine.positions.reference_stops import find_even_price
from engine.positions.reference_world import CLOSE, BarPart, World, count_targets

LEVEL_KINDS = {SHARE: "share", FROM_ENTRY: "distance", R_MULTIPLE: "times_risk", NONE: "none"}
"""Kinds of a level that depends on the entry, by its form."""


class EntryLevel(NamedTuple):
    """A stop or a target of an entry."""

    # ``price`` itself, or how far from the entry: a ``distance``, a ``share`` of it, or
    # ``times_risk``; ``none`` at the entry.
    kind: str
    value: float
    price: float  # NaN while it hangs on an entry price that is not known


class EntryTarget(NamedTuple):
    """A target of an entry."""

    level: EntryLevel
    share: float  # of the position


class StopTrail(NamedTuple):
    """How a stop follows."""

    kind: str  # behind the best price by a ``distance`` or a ``share`` of it; or at a ``row``
    value: float  # of a row the newest
    after: float  # gain from which on it follows, in units of risk
    begins: float  # best price from which on it follows; NaN while the entry is not known


class BreakEven(NamedTuple):
    """When a stop moves to the entry, or beyond it."""

    gain: float  # in units of risk; NaN where it hangs on a target
    leg: int  # number of the target after which it moves, from 1; 0 where it hangs on a gain
    level: EntryLevel  # where to


class EntryPlan(NamedTuple):
    """A fill as it is known before, and what follows from it.

    At the market prices are those of an open at the newest close.
    """

    entry: float  # at its own price, or at the newest close
    risk: float
    is_taken: bool  # whether it is worth it there
    stop: EntryLevel
    margin: float  # stop in force from the fill on where all of the cash is lost first; else NaN
    targets: tuple[EntryTarget, ...]
    rest: float  # share that no target takes
    trail: StopTrail | None
    even: BreakEven | None


class PendingEntry(NamedTuple):
    """A signal that counts, and is entered at the open of a bar that has not come yet."""

    signal_bar: int
    bars_to_wait: int  # 0: at the next open
    side: int  # 1 for a long, -1 for a short
    plan: EntryPlan


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
    plan: EntryPlan


def plan_entry(world: World, plan: SidePlan, side: int, t: int, end: int) -> EntryPlan:
    """The fill of a signal at bar t after bar `end - 1`, and its levels."""
    is_market, book = plan.order.form == MARKET, begin_book(world)
    close, how = float(world.prices[CLOSE, end - 1]), AT_OPEN if is_market else WITHIN
    bar = BarPart(end, True, True, close, close, close, close)
    at = open_position(world, book, side, t, how, bar)
    levels = book.levels[side, LEG_LEVELS:].tolist()
    targets = tuple(
        EntryTarget(place_level(form, t, levels[leg], is_known=not is_market), share)
        for leg, (form, share) in enumerate(list_targets(plan))
    )
    margin = at.stop if at.stop != at.first_stop else math.nan
    even = find_break_even(world.limits)
    if even is not None:
        price = math.nan if is_market else find_even_price(world, at)
        even = even._replace(level=even.level._replace(price=float(price)))
    return EntryPlan(
        float(at.entry),
        float(at.risk),
        bool(is_worth(world, book, at)),
        place_level(plan.stop, t, at.first_stop, is_known=not is_market),
        float(margin),
        targets,
        find_rest(plan),
        find_trail(plan, at.entry if not is_market else math.nan, at.risk, t, end),
        even,
    )


def place_level(form: ExitForm, t: int, price: float, *, is_known: bool) -> EntryLevel:
    """A level of a signal at bar t, which lies at a price if the entry is what it is held for."""
    if form.form in (BEYOND_BAR, LEVEL):
        return EntryLevel("price", float(price), float(price))
    value = form.row[t] if form.form == FROM_ENTRY else form.number
    return EntryLevel(LEVEL_KINDS[form.form], float(value), float(price) if is_known else math.nan)


def list_targets(plan: SidePlan) -> list[tuple[ExitForm, float]]:
    """Targets of a side, and the share that each takes."""
    legs = plan.legs
    columns = zip(legs.forms.tolist(), legs.numbers.tolist(), legs.rows, strict=True)
    forms = [ExitForm(*column) for column in columns]
    return list(zip(forms, legs.shares.tolist(), strict=True))


def find_rest(plan: SidePlan) -> float:
    """Share of a side's positions that no target takes."""
    return float(plan.legs.rest) if len(plan.legs.forms) else 1.0


def find_trail(plan: SidePlan, entry: float, risk: float, t: int, end: int) -> StopTrail | None:
    """How the stop of a signal at bar t follows, as it is known after bar `end - 1`."""
    form, after = plan.trail, float(plan.after)
    if form.form == NONE:
        return None
    begins = float(entry + plan.side * (after * risk))
    if form.form == LEVEL:
        return StopTrail("row", float(form.row[end - 1]), after, begins)
    value = form.row[t] if form.form == FROM_ENTRY else form.number
    return StopTrail(LEVEL_KINDS[form.form], float(value), after, begins)


def find_break_even(limits: Limits) -> BreakEven | None:
    """When stops move to the entry; where to hangs on the entry."""
    if math.isnan(limits.break_even) and not limits.even_leg:
        return None
    level = EntryLevel(LEVEL_KINDS[limits.even_form], float(limits.even_number), math.nan)
    return BreakEven(float(limits.break_even), int(limits.even_leg), level)


def is_void(plan: SidePlan, t: int) -> bool:
    """Whether a level that a signal reads is unknown, or on the wrong side at any entry."""
    forms = [plan.stop, *(form for form, _ in list_targets(plan))]
    # A level that a stop follows may be known later.
    if plan.trail.form != LEVEL:
        forms.append(plan.trail)
    return any(_is_wrong(form, t) for form in forms if form.form != NONE)


def _is_wrong(form: ExitForm, t: int) -> bool:
    if form.form in (SHARE, R_MULTIPLE):
        return False
    value = float(form.row[t])
    return math.isnan(value) or (form.form == FROM_ENTRY and not value > 0)


def count_sides(world: World) -> int:
    """Targets of the side that has most."""
    return max(count_targets(world, 0), count_targets(world, 1))
