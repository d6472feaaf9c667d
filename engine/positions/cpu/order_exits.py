"""Exits of a position that an order opened, bar by bar, and the sums of its trade."""

import numpy as np

from engine.accounts.cpu.folding import BARS_IN_MARKET, EQUITY, SUM_R_SHORT
from engine.accounts.cpu.money import (
    Purse,
    add_least_fees,
    find_units,
    fold_money,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.stake import SHARE_OF_R
from engine.positions.cpu.block_minmax import CLOSE, LOW, OPEN
from engine.positions.cpu.both_sides import EXITS, SHORTS, WINS_SHORT, read_formula
from engine.positions.cpu.exits import MARGIN, REVERSE, SESSION, SIGNAL, STOP, STOP_GAP, TARGET
from engine.positions.cpu.ordered import (
    NOT_REACHED,
    STILL_OPEN,
    OpenPosition,
    Way,
    asks_exit,
    compute_r,
    is_all_out,
    reach_targets,
)
from engine.positions.cpu.orders import (
    LEG_BARS,
    LEG_PRICES,
    LEVERAGE,
    REST,
    SIZE_PART,
    STAKE,
    OrderedPopulation,
    OrderRules,
    slip_price,
)
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

PARTIALS = ACCUMULATOR_INDEX["partials"]


@compiled_uncounted
def leave_at_open(
    opened: float, bars: Floats, asks: OrderedPopulation, p: int, at: OpenPosition, j: int
) -> Way:
    """Exit at a bar's open, whatever its price: rules 1 and 2."""
    reason = STILL_OPEN
    if asks.exits[p, at.side] >= 0 and asks_exit(bars, asks, p, at, j - 1):
        reason = SIGNAL
    elif j == at.clock_bar:
        reason = SESSION
    return Way(reason, opened, True)


@compiled_uncounted
def is_gap(bars: Floats, at: OpenPosition, stop: float, k: int) -> bool:
    """Whether a bar opens at the stop or beyond it."""
    opened = load_value(bars, OPEN, k)
    is_beyond: bool = opened <= stop if at.side == 0 else opened >= stop
    return is_beyond


@compiled_uncounted
def is_stopped(bars: Floats, at: OpenPosition, stop: float, k: int) -> bool:
    """Whether a bar reaches the stop."""
    worst = load_value(bars, LOW + at.side, k)
    is_reached: bool = worst <= stop if at.side == 0 else worst >= stop
    return is_reached


@compiled_uncounted
def leave_at_stop(
    bars: Floats,
    rules: OrderRules,
    at: OpenPosition,
    stop: float,
    mover: int,
    k: int,
    is_first: bool,
) -> Way:
    """Exit at the stop: rules 3 and 4; `is_first`: at the open of a whole bar."""
    if is_gap(bars, at, stop, k):
        reason = MARGIN if mover == MARGIN else STOP_GAP
        return Way(reason, load_value(bars, OPEN, k), is_first)
    if is_stopped(bars, at, stop, k):
        return Way(mover if rules.names_stops or mover == MARGIN else STOP, stop, False)
    return Way(STILL_OPEN, 0.0, False)


@compiled_uncounted
def leave_later(
    bars: Floats,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    j: int,
    k: int,
    is_last: bool,
    reach: float,
    marks: Ints,
    figures: Floats,
) -> Way:
    """Exit by targets or at the close, in a bar whose prices went so far.

    `k` is the place among `bars`, those of the series or finer ones; `is_last`: it closes bar j.
    """
    beyond = np.inf if at.side == 0 else -np.inf
    target = reach_targets(rules, at.side, j, reach, beyond, marks, figures)
    way = Way(STILL_OPEN, 0.0, False)
    if is_all_out(asks, rules, p, at.side, marks):
        way = Way(TARGET, target, False)
    elif is_last and j == at.close_bar:
        way = Way(at.close_reason, load_value(bars, CLOSE, k), False)
    return way


@compiled_uncounted
def list_trade(
    asks: OrderedPopulation,
    rules: OrderRules,
    purse: Purse,
    p: int,
    at: OpenPosition,
    way: Way,
    stop: float,
    j: int,
    out: Floats,
    k: int,
    whole: Ints,
    numbers: Floats,
    stack: Floats,
    marks: Ints,
    figures: Floats,
) -> None:
    """Fold a trade that ends in a bar, and write it down where that is wanted."""
    side, row, count, price = at.side, 2 * p + at.side, rules.targets[at.side], way.price
    # Targets, and entries of the other side, are prices of their own; all others may slip.
    if way.reason not in (TARGET, REVERSE):
        price = slip_price(asks, rules, p, side, price, j, side == 1)
    r = compute_r(asks, rules, p, at, j, price, marks, figures)
    scale, units, least_fees = np.nan, 0.0, 0.0
    if purse.form != SHARE_OF_R:
        scale = read_formula(asks, p, SIZE_PART, side, at.signal_bar, stack)
        number, leverage = load_value(asks.terms, p, STAKE), load_value(asks.terms, p, LEVERAGE)
        units = find_units(purse, number, leverage, out[EQUITY], at.entry, at.risk, scale)
        if purse.fee_min > 0.0 and units > 0.0:
            money, rest = units * purse.worth, load_value(asks.further, row, REST)
            least_fees = add_least_fees(
                purse, money, units, at.entry, price, asks.shares, row, rest, count, marks,
                LEG_BARS, figures, LEG_PRICES,
            )  # fmt: skip
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
        target = figures[LEG_PRICES + leg] if side == 0 else -figures[LEG_PRICES + leg]
        farthest = max(farthest, target)
        if legs > 0 and marks[LEG_BARS + leg] != NOT_REACHED:
            out[PARTIALS] += 1.0
            ended |= way.reason == TARGET and marks[LEG_BARS + leg] == j
    out[PARTIALS] -= int(ended)
    if whole.shape[0] > 0:
        whole[k, 0], whole[k, 1], whole[k, 2] = at.signal_bar, at.entry_bar, j
        whole[k, 3], whole[k, 4], whole[k, 5] = way.reason, 1 - 2 * side, held
        numbers[k, 0], numbers[k, 1] = at.entry, at.first_stop
        numbers[k, 2] = farthest if side == 0 else -farthest
        numbers[k, 3], numbers[k, 4], numbers[k, 5], numbers[k, 6] = price, r, stop, scale
        for leg in range(legs):
            is_reached = leg < count and marks[LEG_BARS + leg] != NOT_REACHED
            whole[k, 6 + leg] = marks[LEG_BARS + leg] if is_reached else NOT_REACHED
            numbers[k, 7 + leg] = figures[LEG_PRICES + leg] if is_reached else np.nan
