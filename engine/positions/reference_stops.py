"""Stops that move, by the letter of the law: what follows prices and rows, and the break-even."""

import numpy as np

from engine.positions.exit_spec import LEVEL, LIMIT_ORDER, NONE, R_MULTIPLE, SHARE
from engine.positions.reference_exits import BREAK_EVEN, NOT_REACHED, TRAIL, HeldPosition
from engine.positions.reference_orders import LEG_BARS, Book, on_tick
from engine.positions.reference_world import (
    AFTER,
    FORM,
    NUMBER,
    ORDER_PART,
    TRAIL_PART,
    BarPart,
    World,
    count_targets,
    find_sign,
    read_row,
)


def fold_best(world: World, at: HeldPosition, bar: BarPart, is_filled: bool) -> HeldPosition:
    """The position with its best price so far; `is_filled`: in this bar."""
    sign = find_sign(at.side)
    reach = bar.high if sign > 0 else bar.low
    # The high of the bar may be older than the fill of a limit.
    is_limit = at.is_inside and world.parts[at.side, FORM, ORDER_PART] == LIMIT_ORDER
    if is_limit and is_filled:
        reach = max(at.entry, bar.close) if sign > 0 else min(at.entry, bar.close)
    return with_best(at, max(at.best, reach) if sign > 0 else min(at.best, reach))


def move_stop(world: World, book: Book, at: HeldPosition, j: int) -> HeldPosition:
    """The position at the close of bar j, with the stop of the bars to come."""
    leg = world.limits.even_leg
    is_even = (
        0 < leg <= count_targets(world, at.side)
        and book.orders[at.side, LEG_BARS + leg - 1] != NOT_REACHED
    )
    at = follow_prices(world, at, j)
    # Once a target was reached it stands at the entry, or beyond it.
    return tighten(at, find_even_price(world, at), BREAK_EVEN) if is_even else at


def follow_prices(world: World, at: HeldPosition, j: int) -> HeldPosition:
    """The position from the bar after j on, its stop where prices and rows put it, never looser."""
    side, limits = at.side, world.limits
    sign, form = find_sign(side), world.parts[side, FORM, TRAIL_PART]
    gone = sign * (at.best - at.entry)
    if form != NONE and gone >= world.parts[side, NUMBER, AFTER] * at.risk:
        followed = find_followed_price(world, at, j)
        at = tighten(at, on_tick(limits, followed, sign < 0), TRAIL)
    # Once so much is gained it stands at the entry, or beyond it.
    if gone >= limits.break_even * at.risk:
        at = tighten(at, find_even_price(world, at), BREAK_EVEN)
    return at


def find_even_price(world: World, at: HeldPosition) -> float:
    """Where a break-even puts the stop, on the tick."""
    limits, sign, away = world.limits, find_sign(at.side), 0.0
    if limits.even_form == R_MULTIPLE:
        away = limits.even_number * at.risk
    elif limits.even_form == SHARE:
        away = at.entry * limits.even_number
    return on_tick(limits, at.entry + sign * away, sign < 0)


def find_followed_price(world: World, at: HeldPosition, j: int) -> float:
    """Where a stop that follows stands after the close of a bar, unless it is tighter already."""
    side, sign = at.side, find_sign(at.side)
    form = world.parts[side, FORM, TRAIL_PART]
    # A level: what is unknown, infinite or no price moves nothing.
    if form == LEVEL:
        level = read_row(world, side, TRAIL_PART, j)
        return level if 0.0 < level < np.inf else -sign * np.inf
    # Behind the best price, at a share of that price or at a distance.
    behind = at.best * world.parts[side, NUMBER, TRAIL_PART] if form == SHARE else at.reach
    price: float = at.best - sign * behind
    return price


def with_best(at: HeldPosition, best: float) -> HeldPosition:
    """The same position with another best price."""
    return HeldPosition(
        at.side, at.signal_bar, at.entry_bar, at.is_inside, at.entry, at.first_stop, at.risk,
        at.reach, at.stop, best, at.mover,
    )  # fmt: skip


def tighten(at: HeldPosition, stop: float, mover: int) -> HeldPosition:
    """The same position with a stop that risks less; as it is where the stop would risk more."""
    sign = find_sign(at.side)
    if not sign * stop > sign * at.stop:
        return at
    return HeldPosition(
        at.side, at.signal_bar, at.entry_bar, at.is_inside, at.entry, at.first_stop, at.risk,
        at.reach, stop, at.best, mover,
    )  # fmt: skip
