"""Orders of both sides: ticks, slippage, in which bars an order stands and which bar touches it."""

from typing import NamedTuple

import numpy as np

from engine.positions.cpu.block_minmax import HIGH, LOW, OPEN
from engine.positions.cpu.both_sides import read_formula
from engine.positions.exit_spec import (
    BASIS_POINTS,
    LIMIT_ORDER,
    MARKET,
    NO_SLIPPAGE,
    NONE,
    STOP_ORDER,
    TICKS,
)
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import Words, is_set, next_of_two, next_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

STOP_PART, TRAIL_PART, ORDER_PART, SIZE_PART, FIRST_LEG = range(5)
"""Parts of a side: columns of what forms take, a formula each; targets from the last on."""

AFTER, EXPIRES, BEYOND, REST, SLIPPAGE = range(5)
"""Columns of further numbers of a side."""

STAKE, LEVERAGE, COOLDOWN, OFFSET, BOUNDS = range(5)
"""Columns of numbers that both sides share: what a size takes, the largest leverage, bars of a
cooldown, what a break-even adds to the entry; then bounds of exits, four a side."""

UNTOUCHED, AT_OPEN, WITHIN = range(3)
"""How a bar meets an order."""

TICK_SLACK = 1e-4
"""Fraction of a tick by which a price may miss it and still lie on it."""

NO_ORDER = -1
"""In place of the signal bar of an order that stands."""

ROOM = 8
"""Targets that a position has room for."""

SINCE, STANDING, LAST, LEG_BARS = 0, 2, 4, 6
"""Places of whole numbers in a book, of longs and shorts each: bar from whose close on signals
place orders, signal bar of the one that stands, the last bar in which it does; then bars in which
targets were reached."""

LEVELS, PRICES, LEG_PRICES = 0, 2, 4
"""Places of prices in a book: what must be reached, the level of an order; then targets."""

MARKS = LEG_BARS + ROOM
"""Whole numbers of a book."""

FIGURES = LEG_PRICES + ROOM
"""Prices of a book."""


class OrderedPopulation(NamedTuple):
    """Orders of P individuals on one series; axes of two are longs, shorts.

    As in `engine.positions.cpu.both_sides`, with N parts and L targets of a side.
    """

    words: Words  # [C, W] conditions, 64 bars a word
    steps: Ints  # [S, 2] formulas
    spans: Ints  # [2 N, 2] first step of each part's formula and one past its last
    rows: Ints  # [P, K] addresses of the rows that formulas read
    leaves: Floats  # [P, K] numbers in their place
    sessions: Ints  # [Q, T] as `session_exits` gives them
    day_ends: Ints  # [T] last bar of each bar's session; [0] where orders do not end with it
    forms: Ints  # [N, 2] forms of stop, trail, order, size and targets
    entries: Ints  # [P, 2] condition of each side's entry; -1: the side never enters
    exits: Ints  # [P, 2] condition of each side's exit; -1: none
    cancels: Ints  # [P, 2] condition that ends resting orders; -1: none
    numbers: Floats  # [2 P, N] what forms take that read no row
    further: Floats  # [2 P, 5] as `AFTER` to `SLIPPAGE` say
    shares: Floats  # [2 P, L] of each target
    break_even: Floats  # [P] NaN: never
    max_hold: Ints  # [P]
    delay: Ints  # [P]
    warm_up: Ints  # [P]
    session_of: Ints  # [P]
    worse: Floats  # [n, T] newest known slippage in price
    worse_of: Ints  # [2 P] place in `worse`; -1: none
    paid: Floats  # [m, T] price paid up to each bar's open
    borrow_of: Ints  # [2 P] place in `paid`; -1: none
    funding_of: Ints  # [P] likewise
    terms: Floats  # [P, 4] as `STAKE` to `OFFSET` say, [P, 12] with bounds of exits of each side
    finer: Floats  # [4, K + 16] finer bars, as `Extremes.bars`
    finer_of: Ints  # [2, T] first of those of each bar, one past its last; [2, 0] without any


class OrderRules(NamedTuple):
    """Rules that all individuals of a strategy share."""

    per_side: float  # cost of a side, fraction of notional
    min_risk: float  # smallest risk, fraction of the entry price
    unit_fee: float  # price that each side of a trade pays for a unit
    tick_over: float  # numerator of the tick; 0: prices are as they come
    tick_under: float  # its denominator
    even_leg: int  # target after which the stop moves to the entry; 0: none
    even_form: int  # of what a break-even adds to the entry
    names_stops: bool  # whether exits at stops that moved have reasons of their own
    reverses: bool  # whether an entry of the other side ends a position
    legs: int  # targets of a ladder; 0 where there is one at most
    targets: Ints  # [2] how many each side has
    slippages: Ints  # [2] form of each side's slippage
    lists_all: bool = False  # whether each signal is taken, whatever trades were before it
    # Whether nothing reverses, follows prices, slips, waits or is paid but fees, and a trade is
    # sized by R alone.
    is_plain: bool = False


@compiled_uncounted
def find_delay(asks: OrderedPopulation, rules: OrderRules, p: int) -> int:
    """Bars that an individual's orders wait before they stand."""
    return 0 if rules.is_plain else asks.delay[p]


@compiled_uncounted
def find_trail(asks: OrderedPopulation, rules: OrderRules, side: int) -> int:
    """Form in which a side's stop follows prices."""
    return NONE if rules.is_plain else asks.forms[TRAIL_PART, side]


@compiled_uncounted
def on_tick(rules: OrderRules, price: float, is_up: bool) -> float:
    """A price on the tick, rounded up or down; as it is where prices have no tick."""
    if rules.tick_over == 0.0 or not np.isfinite(price):
        return price
    steps = price * rules.tick_under / rules.tick_over
    whole: float = np.ceil(steps - TICK_SLACK) if is_up else np.floor(steps + TICK_SLACK)
    return whole * rules.tick_over / rules.tick_under


@compiled_uncounted
def slip_price(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    side: int,
    price: float,
    bar: int,
    buys: bool,
) -> float:
    """The price of a fill at the market or at a stop in a bar: worse, and on the tick."""
    form = rules.slippages[side]
    if rules.is_plain or form == NO_SLIPPAGE:
        return price
    number = load_value(asks.further, 2 * p + side, SLIPPAGE)
    if form == TICKS:
        worse = number * rules.tick_over / rules.tick_under
    elif form == BASIS_POINTS:
        worse = price * number / 10000.0
    else:
        worse = asks.worse[asks.worse_of[2 * p + side], bar - 1]
        if worse < 0.0:
            worse = 0.0
    return on_tick(rules, price + worse if buys else price - worse, buys)


@compiled_uncounted
def asks_entry(asks: OrderedPopulation, p: int, side: int, t: int) -> bool:
    """Whether a side's signal at a bar places an order, when it may."""
    mine, other = asks.entries[p, side], asks.entries[p, 1 - side]
    if mine < 0 or not is_set(asks.words, mine, t):
        return False
    # Where both sides signal neither does, unless both wait for prices to come.
    both_rest: bool = asks.forms[ORDER_PART, 0] != MARKET and asks.forms[ORDER_PART, 1] != MARKET
    return both_rest or other < 0 or not is_set(asks.words, other, t)


@compiled_uncounted
def next_signal(
    asks: OrderedPopulation, p: int, held: int, first: int, end: int, marks: Ints
) -> int:
    """The first bar from `first` on at which a side that is not held may place an order.

    `end`, or a later one, where there is none.
    """
    longs = end if held == 0 else max(first, marks[SINCE])
    shorts = end if held == 1 else max(first, marks[SINCE + 1])
    both_rest: bool = asks.forms[ORDER_PART, 0] != MARKET and asks.forms[ORDER_PART, 1] != MARKET
    return next_of_two(
        asks.words, asks.entries[p, 0], asks.entries[p, 1], longs, shorts, end, not both_rest
    )


@compiled_uncounted
def is_met_from_below(asks: OrderedPopulation, side: int) -> bool:
    """Whether prices rise to a side's order: to a buy stop, and to a limit that sells."""
    is_above: bool = (asks.forms[ORDER_PART, side] == STOP_ORDER) == (side == 0)
    return is_above


@compiled_uncounted
def stand_order(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    side: int,
    t: int,
    end: int,
    marks: Ints,
    figures: Floats,
    stack: Floats,
) -> None:
    """Have the order of a signal at bar t stand: its price, and the last bar in which it does."""
    first = t + 1 + find_delay(asks, rules, p)
    marks[STANDING + side], last = t, end - 1
    if asks.forms[ORDER_PART, side] == MARKET:
        marks[LAST + side] = first
        return
    expires = int(load_value(asks.further, 2 * p + side, EXPIRES))
    if expires > 0:
        last = min(last, first + expires - 1)
    cancel = asks.cancels[p, side]
    if cancel >= 0:
        # The signal's own close does not count; the bar of such a close is the last.
        last = min(last, next_set(asks.words, cancel, t + 1, end))
    if asks.day_ends.size > 0:
        last = min(last, asks.day_ends[first])
    marks[LAST + side] = last
    price = read_formula(asks, p, ORDER_PART, side, t, stack)
    price = on_tick(rules, price, is_met_from_below(asks, side))
    figures[PRICES + side] = figures[LEVELS + side] = price
    # Where there is no price, none lies beyond it.
    beyond = load_value(asks.further, 2 * p + side, BEYOND)
    if beyond > 0.0 and price > 0.0:
        further = price - beyond if side == 0 else price + beyond
        figures[LEVELS + side] = on_tick(rules, further, is_met_from_below(asks, side))


@compiled_uncounted
def touch_order(
    bars: Floats, asks: OrderedPopulation, side: int, k: int, marks: Ints, figures: Floats
) -> int:
    """How a bar, the k-th of the series or of finer ones, meets a side's order, if one stands."""
    if marks[STANDING + side] == NO_ORDER:
        return UNTOUCHED
    if asks.forms[ORDER_PART, side] == MARKET:
        return AT_OPEN
    level, opened = figures[LEVELS + side], load_value(bars, OPEN, k)
    # Not finite, or no price: it is never touched.
    if not 0.0 < level < np.inf:
        return UNTOUCHED
    if is_met_from_below(asks, side):
        how = AT_OPEN if opened >= level else UNTOUCHED
        within = load_value(bars, HIGH, k) >= level
    else:
        how = AT_OPEN if opened <= level else UNTOUCHED
        within = load_value(bars, LOW, k) <= level
    return WITHIN if how == UNTOUCHED and within else how


@compiled_uncounted
def fill_price(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    side: int,
    how: int,
    opened: float,
    j: int,
    figures: Floats,
) -> float:
    """The price at which a bar fills a side's order."""
    price: float = opened if how == AT_OPEN else figures[PRICES + side]
    slipped = slip_price(asks, rules, p, side, price, j, side == 0)
    # A limit is filled at its level or better, once it is known by how much its exit may slip.
    if asks.forms[ORDER_PART, side] == LIMIT_ORDER and not np.isnan(slipped):
        return price
    return slipped


@compiled_uncounted
def first_touched(
    bars: Floats,
    asks: OrderedPopulation,
    longs: int,
    shorts: int,
    k: int,
    marks: Ints,
    figures: Floats,
) -> int:
    """The side whose order a bar fills first, given how it meets each; -1 where it touches none."""
    side = -1
    if longs != UNTOUCHED and longs == shorts:
        side = 0 if marks[STANDING] <= marks[STANDING + 1] else 1
        if longs == WITHIN:
            opened = load_value(bars, OPEN, k)
            up = load_value(bars, HIGH, k) - opened
            down = opened - load_value(bars, LOW, k)
            long_up, short_up = is_met_from_below(asks, 0), is_met_from_below(asks, 1)
            long_away = abs(figures[LEVELS] - opened)
            short_away = abs(figures[LEVELS + 1] - opened)
            if long_up != short_up:
                side = 0 if long_up == (up < down) else 1
            elif long_away != short_away:
                side = 0 if long_away < short_away else 1
    elif longs == AT_OPEN or (longs == WITHIN and shorts == UNTOUCHED):
        side = 0
    elif shorts != UNTOUCHED:
        side = 1
    return side
