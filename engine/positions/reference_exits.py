"""Positions by the letter of the law: levels, what each bar does to them, and stops that move."""

from typing import NamedTuple

import numpy as np

from engine.accounts.ledger import AT_STOP, REASONS
from engine.accounts.stake import EQUITY_SHARE, VOLATILITY
from engine.positions.exit_spec import (
    DAY_NS,
    FROM_ENTRY,
    LEVEL,
    LIMIT_ORDER,
    NONE,
    R_MULTIPLE,
    SHARE,
    STOP_ORDER,
)
from engine.positions.reference_orders import (
    AFTER,
    AT_OPEN,
    BARS_FROM,
    BARS_TO,
    CLOSE,
    EXITS,
    FIRST_LEG,
    FORM,
    HIGH,
    HOW,
    LEG_BARS,
    LEG_LEVELS,
    LOW,
    NEEDED,
    NO_ORDER,
    NUMBER,
    ORDER_PART,
    PROFIT_FROM,
    PROFIT_TO,
    REJECTED,
    REST,
    SIZE_PART,
    STANDING,
    STOP_PART,
    TRAIL_PART,
    UNTOUCHED,
    USED,
    WITHIN,
    BarPart,
    Book,
    SignalSpan,
    World,
    count_targets,
    fill_price,
    find_first_touched,
    find_sign,
    on_tick,
    order_price,
    read_row,
)

(
    STOP_GAP, STOP, TARGET, TIME, END, SIGNAL, SESSION, REVERSE, TRAIL, BREAK_EVEN, MARGIN,
) = range(len(REASONS))  # fmt: skip
STILL_OPEN = -1
"""In place of a reason: no rule of this bar applies."""

NOT_REACHED = NO_ORDER
"""In place of the bar of a target."""

FLAT = -1
"""In place of a position's side."""


class HeldPosition(NamedTuple):
    """An open position, or none; R is its first risk to the end, wherever the stop moves."""

    side: int  # 0 for a long, 1 for a short; `FLAT`
    signal_bar: int
    entry_bar: int
    is_inside: bool  # whether it was entered within its first bar, not at the open
    entry: float
    first_stop: float
    risk: float
    reach: float  # distance at which the stop follows
    stop: float  # in force
    best: float  # largest high since the entry, or for a short the smallest low
    mover: int  # what put the stop there: `STOP` or `MARGIN` at the fill, `TRAIL`, `BREAK_EVEN`


class Exit(NamedTuple):
    """Outcome of a bar for a position."""

    reason: int  # or `STILL_OPEN`
    price: float
    is_at_open: bool
    following: HeldPosition  # that of the other side which ends it, or none


def is_stop(reason: int) -> bool:
    """True if a position ended at its stop, or beyond it."""
    return reason == STOP_GAP or reason in AT_STOP


def stay_out() -> HeldPosition:
    """No position."""
    return HeldPosition(FLAT, 0, 0, False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, STOP)


def fill_first(world: World, book: Book, bar: BarPart) -> HeldPosition:
    """The position of the first touched order that is worth it; each that is looked at is used."""
    entered, side = stay_out(), find_first_touched(world, book, bar)
    while side >= 0 and entered.side == FLAT:
        entered = fill_order(world, book, side, bar)
        side = find_first_touched(world, book, bar)
    return entered


def fill_order(world: World, book: Book, side: int, bar: BarPart) -> HeldPosition:
    """The position that an order opens which a bar touches, or none; either way it is used up."""
    t, how = int(book.orders[side, STANDING]), int(book.orders[side, HOW])
    entered = open_position(world, book, side, t, how, bar)
    book.orders[side, STANDING], book.orders[side, HOW] = NO_ORDER, UNTOUCHED
    if world.parts[side, FORM, ORDER_PART] != 0:
        book.counts[USED] += 1
    if is_worth(world, book, entered):
        return entered
    book.counts[REJECTED] += 1
    return stay_out()


def open_position(
    world: World, book: Book, side: int, t: int, how: int, bar: BarPart
) -> HeldPosition:
    """The levels of a signal at bar t, for the bar that fills its order."""
    sign, limits = find_sign(side), world.limits
    entry = fill_price(world, side, t, how, bar)
    # A stop of a long sells worse on the tick, a target better.
    stop = on_tick(limits, find_first_stop(world, side, t, entry), sign < 0)
    risk = sign * (entry - stop)
    for leg in range(count_targets(world, side)):
        target = find_target(world, side, leg, t, entry, risk)
        book.levels[side, LEG_LEVELS + leg] = on_tick(limits, target, sign > 0)
        book.orders[side, LEG_BARS + leg] = NOT_REACHED
    return begin_position(world, side, t, bar.number, how == WITHIN, entry, stop)


def begin_position(
    world: World, side: int, t: int, entry_bar: int, is_inside: bool, entry: float, stop: float
) -> HeldPosition:
    """A position as it begins: of its own stop and the margin price the nearer is in force."""
    sign, reach, first, mover = find_sign(side), 0.0, stop, STOP
    risk = sign * (entry - stop)
    if world.parts[side, FORM, TRAIL_PART] == FROM_ENTRY:
        reach = read_row(world, side, TRAIL_PART, t)
    gone = find_margin_price(world, side, t, entry)
    # Where there is none it is NaN.
    if sign * gone > sign * stop:
        first, mover = gone, MARGIN
    return HeldPosition(
        side, t, entry_bar, is_inside, entry, stop, risk, reach, first, -sign * np.inf, mover
    )


def find_margin_price(world: World, side: int, t: int, entry: float) -> float:
    """Where a trade has cost the whole account; NaN where that is not known from its signal."""
    size, sign, distance = world.limits.size, find_sign(side), np.nan
    # Of what risks a share of the account, one at most, its own stop is the nearer one.
    if size.form == EQUITY_SHARE:
        distance = entry / size.number
    elif size.form == VOLATILITY:
        move = read_row(world, side, SIZE_PART, t)
        distance = move / size.number if move > 0.0 else np.nan
    # A smaller position loses as much farther away.
    if entry / size.leverage > distance:
        distance = entry / size.leverage
    return on_tick(world.limits, entry - sign * distance, sign < 0)


def find_first_stop(world: World, side: int, t: int, entry: float) -> float:
    """The stop of a signal at bar t."""
    form, sign = world.parts[side, FORM, STOP_PART], find_sign(side)
    # A share of the entry.
    if form == SHARE:
        share: float = world.parts[side, NUMBER, STOP_PART]
        return entry - sign * (entry * share)
    read = read_row(world, side, STOP_PART, t)
    # A price.
    if form == LEVEL:
        return read
    # A distance from the entry.
    if form == FROM_ENTRY:
        return entry - sign * read
    # A distance beyond the signal bar's low, or for a short its high.
    beyond: float = world.prices[LOW, t] if sign > 0 else world.prices[HIGH, t]
    return beyond - sign * read


def find_target(world: World, side: int, leg: int, t: int, entry: float, risk: float) -> float:
    """One of the targets of a signal at bar t."""
    form, sign = world.parts[side, FORM, FIRST_LEG + leg], find_sign(side)
    number: float = world.parts[side, NUMBER, FIRST_LEG + leg]
    # A multiple of the risk.
    if form == R_MULTIPLE:
        return entry + sign * (number * risk)
    # A share of the entry.
    if form == SHARE:
        return entry + sign * (entry * number)
    read = read_row(world, side, FIRST_LEG + leg, t)
    # A price, or a distance from the entry.
    return read if form == LEVEL else entry + sign * read


def is_worth(world: World, book: Book, at: HeldPosition) -> bool:
    """True if a trade is taken; NaN fails each of these."""
    # There is a price, and the risk is more than a small fraction of it.
    if not at.entry > 0.0 or not at.risk > at.entry * world.limits.min_risk:
        return False
    sign = find_sign(at.side)
    # A target that was read from a row lies on the right side of the entry.
    for leg in range(count_targets(world, at.side)):
        form = world.parts[at.side, FORM, FIRST_LEG + leg]
        is_read = form not in (R_MULTIPLE, SHARE)
        if is_read and not sign * book.levels[at.side, LEG_LEVELS + leg] > sign * at.entry:
            return False
    # A trailing stop follows at a distance.
    return bool(world.parts[at.side, FORM, TRAIL_PART] != FROM_ENTRY or at.reach > 0.0)


def leave_bar(world: World, span: SignalSpan, book: Book, at: HeldPosition, bar: BarPart) -> Exit:
    """Exit in a bar after the one of the fill: the first rule that applies."""
    leave = leave_open(world, book, at, bar)
    if leave.reason == STILL_OPEN:
        leave = leave_range(world, book, at, bar)
    if leave.reason == STILL_OPEN:
        leave = leave_close(world, span, at, bar)
    return leave


def leave_open(world: World, book: Book, at: HeldPosition, bar: BarPart) -> Exit:
    """Exit at the open of a bar."""
    none, sign, other, opened = stay_out(), find_sign(at.side), 1 - at.side, bar.open
    local_ns, j = world.local_ns, bar.number
    # 1. The side's condition was true at the last close.
    if bar.is_first and asks_exit(world, at, j - 1):
        return Exit(SIGNAL, opened, True, none)
    # 2. Another session than the entry's: the minute to leave at had no bar.
    if len(local_ns) > 0 and local_ns[j] // DAY_NS != local_ns[at.entry_bar] // DAY_NS:
        return Exit(SESSION, opened, True, none)
    # 2r. The other side's order is touched.
    if book.orders[other, HOW] == AT_OPEN:
        following = fill_order(world, book, other, bar)
        if following.side != FLAT:
            return Exit(REVERSE, following.entry, True, following)
    # 3. It lies at the stop or beyond it.
    if sign * opened <= sign * at.stop:
        return Exit(MARGIN if at.mover == MARGIN else STOP_GAP, opened, bar.is_first, none)
    return Exit(STILL_OPEN, opened, False, none)


def asks_exit(world: World, at: HeldPosition, t: int) -> bool:
    """True if the close of a bar signals a position's exit: its condition, between its bounds."""
    if not world.marks[EXITS + at.side, t]:
        return False
    bounds, held = world.parts[at.side, NUMBER], t - at.entry_bar + 1
    gain = find_sign(at.side) * (world.prices[CLOSE, t] - at.entry)
    return bool(
        bounds[BARS_FROM] <= held <= bounds[BARS_TO]
        and bounds[PROFIT_FROM] * at.risk <= gain <= bounds[PROFIT_TO] * at.risk
    )


def leave_range(world: World, book: Book, at: HeldPosition, bar: BarPart) -> Exit:
    """Exit within the range of a bar, between its open and its close."""
    none, sign, other = stay_out(), find_sign(at.side), 1 - at.side
    worst, reach = (bar.low, bar.high) if sign > 0 else (bar.high, bar.low)
    is_met, against = book.orders[other, HOW] == WITHIN, world.parts[other, FORM, ORDER_PART]
    # 4r. The other side's stop order is touched, no farther than the stop.
    if is_met and against == STOP_ORDER and sign * book.levels[other, NEEDED] >= sign * at.stop:
        following = fill_order(world, book, other, bar)
        if following.side != FLAT:
            return Exit(REVERSE, following.entry, True, following)
    # 4. The stop comes before the target: within a bar the worse of the two is assumed.
    if sign * worst <= sign * at.stop:
        is_named = world.limits.names_stops or at.mover == MARGIN
        return Exit(at.mover if is_named else STOP, at.stop, False, none)
    # 5. Targets as far as its limit order, 5r. that order, then the targets beyond.
    if is_met and against == LIMIT_ORDER:
        limit = order_price(world, other, int(book.orders[other, STANDING]))
        farthest = reach_targets(world, book, at.side, bar.number, reach, sign * limit)
        if is_all_out(world, book, at.side):
            return Exit(TARGET, farthest, False, none)
        following = fill_order(world, book, other, bar)
        if following.side != FLAT:
            return Exit(REVERSE, following.entry, True, following)
    return leave_targets(world, book, at, bar.number, reach)


def leave_targets(world: World, book: Book, at: HeldPosition, j: int, reach: float) -> Exit:
    """Exit by targets in a bar with prices that reach them."""
    farthest = reach_targets(world, book, at.side, j, reach, np.inf)
    reason = TARGET if is_all_out(world, book, at.side) else STILL_OPEN
    return Exit(reason, farthest, False, stay_out())


def leave_fill_bar(
    world: World, span: SignalSpan, book: Book, at: HeldPosition, bar: BarPart
) -> Exit:
    """Exit in the bar of the fill."""
    sign = find_sign(at.side)
    # Its open was before a fill within it.
    if not at.is_inside and sign * bar.open <= sign * at.stop:
        reason = MARGIN if at.mover == MARGIN else STOP_GAP
        return Exit(reason, bar.open, bar.is_first, stay_out())
    worst, reach = (bar.low, bar.high) if sign > 0 else (bar.high, bar.low)
    if sign * worst <= sign * at.stop:
        return Exit(at.mover, at.stop, False, stay_out())
    # The touch of a target may be older than the fill of a limit, unless the close lies there.
    if at.is_inside and world.parts[at.side, FORM, ORDER_PART] == LIMIT_ORDER:
        reach = bar.close
    leave = leave_targets(world, book, at, bar.number, reach)
    return leave if leave.reason != STILL_OPEN else leave_close(world, span, at, bar)


def leave_close(world: World, span: SignalSpan, at: HeldPosition, bar: BarPart) -> Exit:
    """Exit at the close of a bar."""
    limits, reason, j = world.limits, STILL_OPEN, bar.number
    if not bar.is_last:
        return Exit(reason, bar.close, False, stay_out())
    # 6. Held for as long as allowed.
    if limits.max_hold > 0 and j == at.entry_bar + limits.max_hold - 1:
        reason = TIME
    # 7. The session's minute has come: by the clock, another bar may or may not come today.
    elif len(world.local_ns) > 0 and world.local_ns[j] % DAY_NS + world.bar_ns >= world.minute_ns:
        reason = SESSION
    # 8. The window's last bar ends every trade.
    elif j == span.end - 1:
        reason = END
    return Exit(reason, bar.close, False, stay_out())


def reach_targets(
    world: World, book: Book, side: int, j: int, reach: float, beyond: float
) -> float:
    """Note targets that a bar reaches, none behind a price; the farthest of them."""
    sign, farthest = find_sign(side), -np.inf
    for leg in range(count_targets(world, side)):
        target = sign * book.levels[side, LEG_LEVELS + leg]
        # An open beyond the target still fills at the target, the cautious choice.
        is_reached = sign * reach >= target and target <= beyond
        if book.orders[side, LEG_BARS + leg] == NOT_REACHED and is_reached:
            book.orders[side, LEG_BARS + leg] = j
            farthest = max(farthest, target)
    return sign * farthest


def is_all_out(world: World, book: Book, side: int) -> bool:
    """True if targets have taken all of a position."""
    count = count_targets(world, side)
    if count == 0 or world.parts[side, NUMBER, REST] > 0.0:
        return False
    left = count
    for leg in range(count):
        left -= int(book.orders[side, LEG_BARS + leg] != NOT_REACHED)
    return left == 0


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
    # A level: an unknown or infinite value, or no price, moves nothing.
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
