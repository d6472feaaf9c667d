"""Positions that orders open: their levels, several targets, the stop that moves, and R."""

from typing import NamedTuple

import numpy as np

from engine.accounts.cpu.money import Purse, find_margin_distance
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.stake import SHARE_OF_R
from engine.positions.cpu.block_minmax import CLOSE, LOW, Extremes
from engine.positions.cpu.both_sides import first_stop, latest_close, read_formula
from engine.positions.cpu.exits import BREAK_EVEN, MARGIN, STOP, TRAIL
from engine.positions.cpu.orders import (
    AFTER,
    BOUNDS,
    FIRST_LEG,
    LEG_BARS,
    LEG_PRICES,
    LEVERAGE,
    OFFSET,
    REST,
    SIZE_PART,
    STAKE,
    STANDING,
    STOP_PART,
    TRAIL_PART,
    WITHIN,
    OrderedPopulation,
    OrderRules,
    fill_price,
    find_trail,
    on_tick,
)
from engine.positions.exit_spec import (
    FROM_ENTRY,
    LEVEL,
    NONE,
    R_MULTIPLE,
    SHARE,
)
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER, is_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

ORDERS, EXPIRED, PARTIALS = (
    ACCUMULATOR_INDEX["orders"],
    ACCUMULATOR_INDEX["expired"],
    ACCUMULATOR_INDEX["partials"],
)

STILL_OPEN = -1
"""In place of a reason: no rule of this bar applies."""

FLAT = -1
"""In place of a position's side."""

NOT_REACHED = -1
"""In place of the bar of a target."""


class OpenPosition(NamedTuple):
    """An open position, numbers alone."""

    side: int  # 0 for a long, 1 for a short; -1 for none
    signal_bar: int
    entry_bar: int
    is_inside: bool  # whether it was entered within its first bar, not at the open
    entry: float
    first_stop: float
    margin_stop: float  # where the account is lost, if that is nearer, else the same
    risk: float
    reach: float  # distance at which the stop follows; for a share that of the best price
    clock_bar: int  # bar at whose open the clock ends it, or `NEVER`
    close_bar: int  # bar at whose close it ends at the latest
    close_reason: int  # why


class Way(NamedTuple):
    """How a bar ends a position."""

    reason: int  # or `STILL_OPEN`
    price: float
    is_at_open: bool


@compiled_uncounted
def open_held(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: OrderRules,
    purse: Purse,
    p: int,
    side: int,
    how: int,
    opened: float,
    j: int,
    end: int,
    marks: Ints,
    figures: Floats,
    levels: Floats,
    stack: Floats,
) -> tuple[OpenPosition, bool]:
    """The position that an order opens which a bar touches, and whether it is worth it.

    `opened` is the open of the bar, or of the finer one in which it fills; `levels` [8] receives
    its targets.
    """
    t, row = marks[STANDING + side], 2 * p + side
    entry = fill_price(asks, rules, p, side, how, opened, j, figures)
    extreme = load_value(prices.bars, LOW + side, t)
    read = read_formula(asks, p, STOP_PART, side, t, stack)
    number = load_value(asks.numbers, row, STOP_PART)
    stop = first_stop(asks.forms[STOP_PART, side], number, side, extreme, entry, read)
    stop = on_tick(rules, stop, side == 1)
    risk = entry - stop if side == 0 else stop - entry
    is_worth = entry > 0.0 and risk > entry * rules.min_risk
    for leg in range(rules.targets[side]):
        form, number = asks.forms[FIRST_LEG + leg, side], asks.numbers[row, FIRST_LEG + leg]
        read = read_formula(asks, p, FIRST_LEG + leg, side, t, stack)
        target = find_target(form, number, side, entry, risk, read)
        target = on_tick(rules, target, side == 0)
        levels[leg] = target
        is_beyond = target > entry if side == 0 else target < entry
        is_worth &= is_beyond or form in (R_MULTIPLE, SHARE)
    reach, trail = 0.0, find_trail(asks, rules, side)
    if trail == FROM_ENTRY:
        reach = read_formula(asks, p, TRAIL_PART, side, t, stack)
        is_worth &= reach > 0.0
    elif trail == SHARE:
        reach = load_value(asks.numbers, row, TRAIL_PART)
    margin_stop = stop
    if purse.form != SHARE_OF_R:
        scale = read_formula(asks, p, SIZE_PART, side, t, stack)
        number, leverage = load_value(asks.terms, p, STAKE), load_value(asks.terms, p, LEVERAGE)
        away = find_margin_distance(purse.form, number, leverage, entry, scale)
        gone = on_tick(rules, entry - away if side == 0 else entry + away, side == 1)
        margin_stop, _ = tighten(side, stop, STOP, gone, MARGIN)
    session = asks.session_of[p]
    next_session = load_value(asks.sessions, session, j) if session >= 0 else NEVER
    close_bar, close_reason = latest_close(next_session, asks.max_hold[p], j, end)
    clock_bar = next_session >> 1 if next_session % 2 == 1 else NEVER
    return OpenPosition(
        side, t, j, how == WITHIN, entry, stop, margin_stop, risk, reach, clock_bar, close_bar,
        close_reason,
    ), is_worth  # fmt: skip


@compiled_uncounted
def asks_exit(bars: Floats, asks: OrderedPopulation, p: int, at: OpenPosition, t: int) -> bool:
    """Whether the close of a bar asks for a position's exit: its condition, between its bounds."""
    condition, terms = asks.exits[p, at.side], asks.terms
    if condition < 0 or not is_set(asks.words, condition, t):
        return False
    if terms.shape[1] == BOUNDS:
        return True
    first = BOUNDS + 4 * at.side
    close, held = load_value(bars, CLOSE, t), t - at.entry_bar + 1
    gain = close - at.entry if at.side == 0 else at.entry - close
    is_between: bool = (
        terms[p, first] <= held <= terms[p, first + 1]
        and terms[p, first + 2] * at.risk <= gain <= terms[p, first + 3] * at.risk
    )
    return is_between


@compiled_uncounted
def find_target(
    form: int, number: float, side: int, entry: float, risk: float, read: float
) -> float:
    """One of the targets of a trade; `read` is the value of its row at the signal bar."""
    away = read
    if form == R_MULTIPLE:
        away = number * risk
    elif form == SHARE:
        away = entry * number
    target = entry + away if side == 0 else entry - away
    return read if form == LEVEL else target


@compiled_uncounted
def reach_targets(
    rules: OrderRules, side: int, j: int, reach: float, beyond: float, marks: Ints, figures: Floats
) -> float:
    """Note targets that a bar reaches, none behind a price; the farthest of them, or NaN."""
    farthest = np.nan
    for leg in range(rules.targets[side]):
        target = figures[LEG_PRICES + leg]
        if side == 0:
            is_reached = reach >= target and target <= beyond
            is_farther = not farthest >= target
        else:
            is_reached = reach <= target and target >= beyond
            is_farther = not farthest <= target
        if marks[LEG_BARS + leg] == NOT_REACHED and is_reached:
            marks[LEG_BARS + leg] = j
            farthest = target if is_farther else farthest
    return farthest


@compiled_uncounted
def is_all_out(asks: OrderedPopulation, rules: OrderRules, p: int, side: int, marks: Ints) -> bool:
    """Whether targets have taken all of a position."""
    left = rules.targets[side]
    if left == 0 or load_value(asks.further, 2 * p + side, REST) > 0.0:
        return False
    for leg in range(rules.targets[side]):
        left -= int(marks[LEG_BARS + leg] != NOT_REACHED)
    return bool(left == 0)


@compiled_uncounted
def follow_prices(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    stop: float,
    mover: int,
    best: float,
    j: int,
    stack: Floats,
) -> tuple[float, int]:
    """The stop from the bar after j on, given the best price so far, and what put it there.

    It is never loosened.
    """
    form, is_short = find_trail(asks, rules, at.side), at.side == 1
    gone = at.entry - best if is_short else best - at.entry
    if form != NONE and gone >= load_value(asks.further, 2 * p + at.side, AFTER) * at.risk:
        behind = best * at.reach if form == SHARE else at.reach
        moved = best + behind if is_short else best - behind
        if form == LEVEL:
            moved = read_formula(asks, p, TRAIL_PART, at.side, j, stack)
        # What is unknown, infinite or no price moves nothing.
        if form != LEVEL or 0.0 < moved < np.inf:
            stop, mover = tighten(at.side, stop, mover, on_tick(rules, moved, is_short), TRAIL)
    if gone >= asks.break_even[p] * at.risk:
        even = find_even_price(asks, rules, p, at)
        stop, mover = tighten(at.side, stop, mover, even, BREAK_EVEN)
    return stop, mover


@compiled_uncounted
def find_even_price(asks: OrderedPopulation, rules: OrderRules, p: int, at: OpenPosition) -> float:
    """Where a break-even puts the stop, on the tick."""
    away = 0.0
    if rules.even_form == R_MULTIPLE:
        away = load_value(asks.terms, p, OFFSET) * at.risk
    elif rules.even_form == SHARE:
        away = at.entry * load_value(asks.terms, p, OFFSET)
    return on_tick(rules, at.entry + away if at.side == 0 else at.entry - away, at.side == 1)


@compiled_uncounted
def tighten(
    side: int, stop: float, mover: int, candidate: float, candidate_mover: int
) -> tuple[float, int]:
    """The one of two stops that risks less, and what put it there."""
    is_tighter = candidate > stop if side == 0 else candidate < stop
    return (candidate, candidate_mover) if is_tighter else (stop, mover)


@compiled_uncounted
def compute_net(
    asks: OrderedPopulation, rules: OrderRules, p: int, at: OpenPosition, x: int, price: float
) -> float:
    """Gain of one unit that leaves in bar x."""
    gross = price - at.entry if at.side == 0 else -(price - at.entry)
    net = gross - rules.per_side * (at.entry + price)
    if rules.unit_fee > 0.0:
        net = net - (rules.unit_fee + rules.unit_fee)
    if rules.is_plain:
        return net
    funding, borrow = asks.funding_of[p], asks.borrow_of[2 * p + at.side]
    if funding >= 0:
        paid = asks.paid[funding, x] - asks.paid[funding, at.entry_bar]
        net = net - paid if at.side == 0 else net + paid
    if borrow >= 0:
        net = net - (asks.paid[borrow, x] - asks.paid[borrow, at.entry_bar])
    return net


@compiled_uncounted
def compute_r(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    x: int,
    price: float,
    marks: Ints,
    figures: Floats,
) -> float:
    """R of a trade, net: of each target that was reached and of what was left."""
    row, count = 2 * p + at.side, rules.targets[at.side]
    rest, left = load_value(asks.further, row, REST), compute_net(asks, rules, p, at, x, price)
    if count == 0 or (count == 1 and rest == 0.0):
        return left / at.risk
    r = 0.0
    for leg in range(count):
        net = left
        if marks[LEG_BARS + leg] != NOT_REACHED:
            bar, target = marks[LEG_BARS + leg], figures[LEG_PRICES + leg]
            net = compute_net(asks, rules, p, at, bar, target)
        r = r + asks.shares[row, leg] * (net / at.risk)
    if rest > 0.0:
        r = r + rest * (left / at.risk)
    return r
