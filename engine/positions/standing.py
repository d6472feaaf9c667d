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
    Limits,
    SidePlan,
)
from engine.positions.reference import (
    END,
    SIGNAL,
    Ints,
    Prices,
    build_terms,
    find_free_bars,
    first_stop,
    first_target,
    moved_stop,
    open_bracket,
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


class Standing(NamedTuple):
    """What holds after a window's last close."""

    trade: Trade | None  # that is open, as if closed at that close; None where flat
    next_stop: float  # in force from the next bar on; NaN where flat
    bars_left: int | None  # until it is left by time at the latest; None without such a limit
    leaves: bool  # whether its exit condition holds, so that the next open ends it
    pending: PendingEntry | None


def find_standing(
    prices: Prices,
    sides: tuple[SidePlan, SidePlan],
    limits: Limits,
    ledger: Ledger,
    signals: Ints,
    end: int,
    *,
    held: tuple[tuple[SidePlan, SidePlan], Limits],
) -> Standing:
    """How an individual stands after bar `end - 1`.

    Args:
        prices: Of the series.
        sides: What longs do, and what shorts do.
        limits: The same for both.
        ledger: Its trades until then.
        signals: Bars at which one side asks for an entry that no bar has brought yet, ascending.
        end: One past the last bar.
        held: Sides and limits of the genes that entered an open position.
    """
    last = ledger.trade(len(ledger) - 1) if len(ledger) else None
    if last is None or last.reason != END:
        free = (0, 0) if last is None else find_free_bars(last.exit_bar, last.reason, last.side)
        return Standing(
            None, math.nan, None, False, _find_pending(prices, sides, limits, signals, free, end)
        )
    held_sides, held_limits = held
    plan = held_sides[0] if last.side > 0 else held_sides[1]
    leaves = len(plan.exits) > 0 and bool(plan.exits[end - 1])
    # What leaves at the next open may reverse there.
    free = find_free_bars(end, SIGNAL, last.side)
    return Standing(
        last,
        _find_next_stop(prices, plan, held_limits, last, end),
        last.entry_bar + held_limits.max_hold - end if held_limits.max_hold else None,
        leaves,
        _find_pending(prices, sides, limits, signals, free, end) if leaves else None,
    )


def _find_next_stop(
    prices: Prices, plan: SidePlan, limits: Limits, trade: Trade, end: int
) -> float:
    """The stop of an open position from bar `end` on."""
    bracket = open_bracket(prices, plan, limits, trade.signal_bar)
    terms = build_terms(plan, limits, bracket)
    stop, best = bracket.stop, -terms.side * math.inf
    for j in range(bracket.entry_bar, end):
        high, low = float(prices.high[j]), float(prices.low[j])
        best = max(best, high) if terms.side > 0 else min(best, low)
        stop = moved_stop(terms, stop, best)
    return float(stop)


def _find_pending(
    prices: Prices,
    sides: tuple[SidePlan, SidePlan],
    limits: Limits,
    signals: Ints,
    free: tuple[int, int],
    end: int,
) -> PendingEntry | None:
    """The first signal that counts, but for those that no open would make a trade of."""
    for bar in signals:
        t = int(bar)
        place = 0 if sides[0].signals[t] else 1
        plan = sides[place]
        if t < free[place] or _is_void(plan, t):
            continue
        stop, target = _place_stop(prices, plan, t), _place_target(plan, t)
        return PendingEntry(t, t + 1 + limits.delay - end, int(plan.side), stop, target)
    return None


def _is_void(plan: SidePlan, t: int) -> bool:
    """Whether a level that a signal reads is unknown, or on the wrong side at any entry."""
    return any(
        _is_wrong(form, t) for form in (plan.stop, plan.target, plan.trail) if form.form != NONE
    )


def _is_wrong(form: ExitForm, t: int) -> bool:
    if form.form in (SHARE, R_MULTIPLE):
        return False
    value = float(form.row[t])
    return math.isnan(value) or (form.form == FROM_ENTRY and not value > 0)


def _place_stop(prices: Prices, plan: SidePlan, t: int) -> EntryLevel:
    """The stop of a signal at bar t, as far as it is known."""
    if plan.stop.form in (BEYOND_BAR, LEVEL):
        return EntryLevel("price", float(first_stop(prices, plan, t, math.nan)))
    return _place_level(plan.stop, t)


def _place_target(plan: SidePlan, t: int) -> EntryLevel:
    """The target of a signal at bar t, as far as it is known."""
    if plan.target.form == LEVEL:
        return EntryLevel("price", float(first_target(plan, t, math.nan, math.nan)))
    return _place_level(plan.target, t)


def _place_level(form: ExitForm, t: int) -> EntryLevel:
    if form.form == NONE:
        return EntryLevel("none", math.nan)
    value = form.row[t] if form.form == FROM_ENTRY else form.number
    return EntryLevel(LEVEL_KINDS[form.form], float(value))
