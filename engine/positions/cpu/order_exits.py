"""Positions that orders open: their levels, their ends, their gains, the sums of a trade."""

from typing import NamedTuple

import numpy as np

from engine.accounts.cpu.money import (
    BARS_IN_MARKET,
    EQUITY,
    SUM_R_SHORT,
    TradeLegs,
    add_least_fees,
    find_margin_distance,
    find_units,
    fold_money,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.stake import SHARE_OF_R
from engine.positions.cpu.both_sides import (
    EXITS,
    SHORTS,
    WINS_SHORT,
    compute_target,
    first_stop,
    is_beyond,
    latest_close,
    read_formula,
)
from engine.positions.cpu.exits import (
    BREAK_EVEN,
    CLOSE,
    LOW,
    MARGIN,
    OPEN,
    REVERSE,
    SESSION,
    SIGNAL,
    STOP,
    STOP_GAP,
    TARGET,
    TRAIL,
    is_stopped,
)
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
    OrderBook,
    OrderedPopulation,
    OrderInputs,
    OrderRules,
    Pair,
    count_targets,
    fill_price,
    find_form,
    find_trail,
    on_tick,
    slip_price,
)
from engine.positions.exit_spec import FROM_ENTRY, LEVEL, NONE, R_MULTIPLE, SHARE
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER, is_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

PARTIALS = ACCUMULATOR_INDEX["partials"]

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
    clock_bar: int  # the clock ends it at the open of this bar, or `NEVER`
    close_bar: int  # it ends at the close of this bar at the latest
    close_reason: int  # why


class Walk(NamedTuple):
    """Walk of a pair, between two bars."""

    at: OpenPosition
    stop: float  # in force
    mover: int  # reason of an exit there
    best: float  # best price since the entry
    used: int  # resting orders that were filled or rejected
    trades: int


class Part(NamedTuple):
    """Bar of the series, or one of its finer bars."""

    bars: Floats  # [4, ...] as `Extremes.bars`, or finer ones
    k: int  # place there
    j: int  # bar of the series
    is_first: bool  # whether it opens with that bar
    is_last: bool  # whether it closes with it


class Way(NamedTuple):
    """How a bar ends a position."""

    reason: int  # or `STILL_OPEN`
    price: float
    is_at_open: bool


class OrderLists(NamedTuple):
    """Rows that trades are written down in, or none."""

    whole: Ints  # [K, 6 + L] signal bar, entry bar, exit bar, reason, side, bars held, target bars
    numbers: Floats  # [K, 7 + L] entry, stop, target, exit, r, last stop, scale, target prices
    place: int  # of the pair's first trade
    room: int  # trades that there is room for; 0: none is written down


@compiled_uncounted
def open_held(
    inputs: OrderInputs, pair: Pair, side: int, how: int, opened: float, j: int, book: OrderBook
) -> tuple[OpenPosition, bool]:
    """The position that an order opens which a bar touches, and whether it is worth it.

    `opened` is the open of the bar, or of the finer one in which it fills; the book's `levels`
    receive its targets.
    """
    prices, asks, rules, purse = inputs
    p, t, row = pair.p, book.marks[STANDING + side], 2 * pair.p + side
    entry = fill_price(inputs, p, side, how, opened, j, book.figures)
    extreme = load_value(prices.bars, LOW + side, t)
    read = read_formula(asks, p, STOP_PART, side, t, book.stack)
    number = load_value(asks.numbers, row, STOP_PART)
    form = find_form(asks, STOP_PART, side)
    stop = first_stop(form, number, side, extreme, entry, read)
    stop = on_tick(rules, stop, side == 1)
    risk = entry - stop if side == 0 else stop - entry
    is_worth = entry > 0.0 and risk > entry * rules.min_risk
    for leg in range(count_targets(rules, side)):
        form = find_form(asks, FIRST_LEG + leg, side)
        number = load_value(asks.numbers, row, FIRST_LEG + leg)
        read = read_formula(asks, p, FIRST_LEG + leg, side, t, book.stack)
        target = compute_target(form, number, side, entry, risk, read)
        target = on_tick(rules, target, side == 0)
        book.levels[leg] = target
        is_worth &= is_beyond(form, side, entry, target)
    reach, trail = 0.0, find_trail(inputs, side)
    if trail == FROM_ENTRY:
        reach = read_formula(asks, p, TRAIL_PART, side, t, book.stack)
        is_worth &= reach > 0.0
    elif trail == SHARE:
        reach = load_value(asks.numbers, row, TRAIL_PART)
    margin_stop = stop
    if purse.form != SHARE_OF_R:
        scale = read_formula(asks, p, SIZE_PART, side, t, book.stack)
        number, leverage = load_value(asks.terms, p, STAKE), load_value(asks.terms, p, LEVERAGE)
        away = find_margin_distance(purse.form, number, leverage, entry, scale)
        gone = on_tick(rules, entry - away if side == 0 else entry + away, side == 1)
        margin_stop, _ = tighten(side, stop, STOP, gone, MARGIN)
    session = asks.session_of[p]
    next_session = load_value(asks.sessions, session, j) if session >= 0 else NEVER
    close_bar, close_reason = latest_close(next_session, asks.max_hold[p], j, pair.end)
    clock_bar = next_session >> 1 if next_session % 2 == 1 else NEVER
    return OpenPosition(
        side, t, j, how == WITHIN, entry, stop, margin_stop, risk, reach, clock_bar, close_bar,
        close_reason,
    ), is_worth  # fmt: skip


@compiled_uncounted
def begin_targets(rules: OrderRules, side: int, book: OrderBook) -> None:
    """None of the targets of a new position was reached."""
    for leg in range(count_targets(rules, side)):
        book.marks[LEG_BARS + leg] = NOT_REACHED
        book.figures[LEG_PRICES + leg] = book.levels[leg]


@compiled_uncounted
def reach_targets(
    rules: OrderRules, side: int, j: int, reach: float, beyond: float, book: OrderBook
) -> float:
    """Note targets that a bar reaches, none behind a price; the farthest of them, or NaN."""
    farthest = np.nan
    for leg in range(count_targets(rules, side)):
        target = book.figures[LEG_PRICES + leg]
        if side == 0:
            is_reached = reach >= target and target <= beyond
            is_farther = not farthest >= target
        else:
            is_reached = reach <= target and target >= beyond
            is_farther = not farthest <= target
        if book.marks[LEG_BARS + leg] == NOT_REACHED and is_reached:
            book.marks[LEG_BARS + leg] = j
            farthest = target if is_farther else farthest
    return farthest


@compiled_uncounted
def is_all_out(inputs: OrderInputs, p: int, side: int, marks: Ints) -> bool:
    """True if targets have taken all of a position."""
    left = count_targets(inputs.rules, side)
    if left == 0 or load_value(inputs.asks.further, 2 * p + side, REST) > 0.0:
        return False
    for leg in range(count_targets(inputs.rules, side)):
        left -= int(marks[LEG_BARS + leg] != NOT_REACHED)
    return bool(left == 0)


@compiled_uncounted
def asks_exit(bars: Floats, asks: OrderedPopulation, p: int, at: OpenPosition, t: int) -> bool:
    """True if the close of a bar signals a position's exit: its condition, between its bounds."""
    condition, terms = load_value(asks.exits, p, at.side), asks.terms
    if condition < 0 or not is_set(asks.words, condition, t):
        return False
    if terms.shape[1] == BOUNDS:
        return True
    first = BOUNDS + 4 * at.side
    close, held = load_value(bars, CLOSE, t), t - at.entry_bar + 1
    gain = close - at.entry if at.side == 0 else at.entry - close
    is_between: bool = (
        load_value(terms, p, first) <= held <= load_value(terms, p, first + 1)
        and load_value(terms, p, first + 2) * at.risk <= gain
        and gain <= load_value(terms, p, first + 3) * at.risk
    )
    return is_between


@compiled_uncounted
def leave_at_open(inputs: OrderInputs, p: int, at: OpenPosition, j: int) -> Way:
    """Exit at a bar's open, whatever its price: rules 1 and 2."""
    bars, reason = inputs.prices.bars, STILL_OPEN
    if asks_exit(bars, inputs.asks, p, at, j - 1):
        reason = SIGNAL
    elif j == at.clock_bar:
        reason = SESSION
    return Way(reason, load_value(bars, OPEN, j), True)


@compiled_uncounted
def is_gap(bars: Floats, at: OpenPosition, stop: float, k: int) -> bool:
    """True if a bar opens at the stop or beyond it."""
    opened = load_value(bars, OPEN, k)
    is_past: bool = opened <= stop if at.side == 0 else opened >= stop
    return is_past


@compiled_uncounted
def leave_at_stop(
    rules: OrderRules, at: OpenPosition, stop: float, mover: int, part: Part, had_open: bool
) -> Way:
    """Exit at the stop: rules 3 and 4; `had_open`: it was held at the open already."""
    if had_open and is_gap(part.bars, at, stop, part.k):
        reason = MARGIN if mover == MARGIN else STOP_GAP
        return Way(reason, load_value(part.bars, OPEN, part.k), part.is_first)
    if is_stopped(part.bars, at.side, stop, part.k):
        return Way(mover if rules.names_stops or mover == MARGIN else STOP, stop, False)
    return Way(STILL_OPEN, 0.0, False)


@compiled_uncounted
def leave_later(
    inputs: OrderInputs, p: int, at: OpenPosition, part: Part, reach: float, book: OrderBook
) -> Way:
    """Exit by targets or at the close, in a bar with prices that reach them."""
    beyond = np.inf if at.side == 0 else -np.inf
    target = reach_targets(inputs.rules, at.side, part.j, reach, beyond, book)
    way = Way(STILL_OPEN, 0.0, False)
    if is_all_out(inputs, p, at.side, book.marks):
        way = Way(TARGET, target, False)
    elif part.is_last and part.j == at.close_bar:
        way = Way(at.close_reason, load_value(part.bars, CLOSE, part.k), False)
    return way


@compiled_uncounted
def follow_prices(
    inputs: OrderInputs,
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
    asks, rules = inputs.asks, inputs.rules
    form, is_short = find_trail(inputs, at.side), at.side == 1
    gone = at.entry - best if is_short else best - at.entry
    if form != NONE and gone >= load_value(asks.further, 2 * p + at.side, AFTER) * at.risk:
        behind = best * at.reach if form == SHARE else at.reach
        moved = best + behind if is_short else best - behind
        if form == LEVEL:
            moved = read_formula(asks, p, TRAIL_PART, at.side, j, stack)
        # An unknown or infinite value, or no price, moves nothing.
        if form != LEVEL or 0.0 < moved < np.inf:
            stop, mover = tighten(at.side, stop, mover, on_tick(rules, moved, is_short), TRAIL)
    if gone >= asks.break_even[p] * at.risk:
        even = find_even_price(inputs, p, at)
        stop, mover = tighten(at.side, stop, mover, even, BREAK_EVEN)
    return stop, mover


@compiled_uncounted
def find_even_price(inputs: OrderInputs, p: int, at: OpenPosition) -> float:
    """Where a break-even puts the stop, on the tick."""
    rules, away = inputs.rules, 0.0
    if rules.even_form == R_MULTIPLE:
        away = load_value(inputs.asks.terms, p, OFFSET) * at.risk
    elif rules.even_form == SHARE:
        away = at.entry * load_value(inputs.asks.terms, p, OFFSET)
    return on_tick(rules, at.entry + away if at.side == 0 else at.entry - away, at.side == 1)


@compiled_uncounted
def tighten(
    side: int, stop: float, mover: int, candidate: float, candidate_mover: int
) -> tuple[float, int]:
    """The one of two stops that risks less, and what put it there."""
    is_tighter = candidate > stop if side == 0 else candidate < stop
    return (candidate, candidate_mover) if is_tighter else (stop, mover)


@compiled_uncounted
def compute_net(inputs: OrderInputs, p: int, at: OpenPosition, x: int, price: float) -> float:
    """Gain of one unit that leaves in bar x."""
    asks, rules = inputs.asks, inputs.rules
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
    inputs: OrderInputs, p: int, at: OpenPosition, x: int, price: float, book: OrderBook
) -> float:
    """R of a trade, net: of each reached target and of the rest."""
    row, count = 2 * p + at.side, count_targets(inputs.rules, at.side)
    rest = load_value(inputs.asks.further, row, REST)
    left = compute_net(inputs, p, at, x, price)
    if count == 0 or (count == 1 and rest == 0.0):
        return left / at.risk
    r = 0.0
    for leg in range(count):
        net = left
        if book.marks[LEG_BARS + leg] != NOT_REACHED:
            bar, target = book.marks[LEG_BARS + leg], book.figures[LEG_PRICES + leg]
            net = compute_net(inputs, p, at, bar, target)
        r = r + load_value(inputs.asks.shares, row, leg) * (net / at.risk)
    if rest > 0.0:
        r = r + rest * (left / at.risk)
    return r


@compiled_uncounted
def list_trade(
    inputs: OrderInputs,
    p: int,
    walk: Walk,
    way: Way,
    j: int,
    out: Floats,
    lists: OrderLists,
    book: OrderBook,
) -> None:
    """Fold a trade that ends in a bar, and write it down on request."""
    asks, rules, purse, at = inputs.asks, inputs.rules, inputs.purse, walk.at
    side, row, count, price = at.side, 2 * p + at.side, count_targets(rules, at.side), way.price
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    if way.reason not in (TARGET, REVERSE):
        price = slip_price(inputs, p, side, price, j, side == 1)
    r = compute_r(inputs, p, at, j, price, book)
    scale, units, least_fees = np.nan, 0.0, 0.0
    if purse.form != SHARE_OF_R:
        scale = read_formula(asks, p, SIZE_PART, side, at.signal_bar, book.stack)
        number, leverage = load_value(asks.terms, p, STAKE), load_value(asks.terms, p, LEVERAGE)
        units = find_units(purse, number, leverage, out[EQUITY], at.entry, at.risk, scale)
        if purse.fee_min > 0.0 and units > 0.0:
            money, rest = units * purse.worth, load_value(asks.further, row, REST)
            targets = TradeLegs(
                asks.shares, row, rest, count, book.marks, LEG_BARS, book.figures, LEG_PRICES
            )
            least_fees = add_least_fees(purse, money, units, at.entry, price, targets)
    fold_money(purse, out, r, at.risk, units, least_fees, way.reason == MARGIN)
    out[SHORTS] += side
    out[WINS_SHORT] += side * (r > 0.0)
    if side:
        out[SUM_R_SHORT] += r
    held = j - at.entry_bar + (0 if way.is_at_open else 1)
    out[BARS_IN_MARKET] += held
    # Exits at a stop that moved are counted with the others there.
    out[EXITS[way.reason if way.reason <= REVERSE else STOP]] += 1.0
    legs, ended, farthest = rules.legs, False, -np.inf if count else np.inf
    for leg in range(count):
        target = book.figures[LEG_PRICES + leg]
        farthest = max(farthest, target if side == 0 else -target)
        if legs > 0 and book.marks[LEG_BARS + leg] != NOT_REACHED:
            out[PARTIALS] += 1.0
            ended |= way.reason == TARGET and book.marks[LEG_BARS + leg] == j
    out[PARTIALS] -= int(ended)
    whole, numbers, k = lists.whole, lists.numbers, lists.place + walk.trades
    if walk.trades < lists.room:
        whole[k, 0], whole[k, 1], whole[k, 2] = at.signal_bar, at.entry_bar, j
        whole[k, 3], whole[k, 4], whole[k, 5] = way.reason, 1 - 2 * side, held
        numbers[k, 0], numbers[k, 1] = at.entry, at.first_stop
        numbers[k, 2] = farthest if side == 0 else -farthest
        numbers[k, 3], numbers[k, 4], numbers[k, 5] = price, r, walk.stop
        numbers[k, 6] = scale
        for leg in range(legs):
            is_reached = leg < count and book.marks[LEG_BARS + leg] != NOT_REACHED
            whole[k, 6 + leg] = book.marks[LEG_BARS + leg] if is_reached else NOT_REACHED
            numbers[k, 7 + leg] = book.figures[LEG_PRICES + leg] if is_reached else np.nan
