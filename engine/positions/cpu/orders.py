"""Orders of both sides: which stand, until when, which bar touches them, at which price."""

from typing import NamedTuple

import numpy as np

from engine.accounts.cpu.money import Purse
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cpu.both_sides import read_formula
from engine.positions.cpu.exits import HIGH, LOW, OPEN, Extremes
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
from engine.runtime.cpu.bitset import NEVER, Words, is_set, next_of_two, next_set
from engine.runtime.cpu.simd8 import load_value, round_down, round_up
from engine.runtime.cpu.types import Floats, Ints

ORDERS = ACCUMULATOR_INDEX["orders"]

STOP_PART, TRAIL_PART, ORDER_PART, SIZE_PART, FIRST_LEG = range(5)
"""Parts of a side: columns of what forms take, a formula each; targets from the last on."""

AFTER, EXPIRES, BEYOND, REST, SLIPPAGE = range(5)
"""Columns of further numbers of a side."""

STAKE, LEVERAGE, COOLDOWN, OFFSET, BOUNDS = range(5)
"""Columns of numbers that both sides share: the number of a size, the largest leverage, bars of a
cooldown, the addition of a break-even to the entry; then bounds of exits, four a side."""

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
place orders, signal bar of the standing order, its last bar; then bars in which targets were
reached."""

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
    even_form: int  # of a break-even's addition to the entry
    names_stops: bool  # whether exits at stops that moved have reasons of their own
    reverses: bool  # whether an entry of the other side ends a position
    legs: int  # targets of a ladder; 0 where there is one at most
    targets: Ints  # [2] how many each side has
    slippages: Ints  # [2] form of each side's slippage
    lists_all: bool = False  # whether each signal is taken, whatever trades were before it
    # Whether nothing reverses, follows prices, slips, waits or is paid but fees, and a trade is
    # sized by R alone.
    is_plain: bool = False


class OrderInputs(NamedTuple):
    """Inputs of a walk that all pairs of a series share."""

    prices: Extremes
    asks: OrderedPopulation
    rules: OrderRules
    purse: Purse  # how trades are sized


class Pair(NamedTuple):
    """An individual in a window."""

    p: int  # which individual
    first: int  # first bar with a signal that counts
    last: int  # one past the last bar with a signal that counts
    end: int  # one past the last bar of the window


class OrderBook(NamedTuple):
    """Orders that stand and targets of a position, of one pair; rooms of a thread."""

    marks: Ints  # [14] whole numbers
    figures: Floats  # [12] prices
    levels: Floats  # [8] targets of a position that is looked at
    stack: Floats  # [S] room for formulas


@compiled_uncounted
def find_form(asks: OrderedPopulation, part: int, side: int) -> int:
    """Form of a part of a side."""
    form: int = load_value(asks.forms, part, side)
    return form


@compiled_uncounted
def count_targets(rules: OrderRules, side: int) -> int:
    """Targets of a side."""
    count: int = rules.targets[side]
    return count


@compiled_uncounted
def find_slippage(rules: OrderRules, side: int) -> int:
    """Form of a side's slippage."""
    form: int = rules.slippages[side]
    return form


@compiled_uncounted
def has_finer(asks: OrderedPopulation) -> bool:
    """True if the series has finer bars."""
    return bool(asks.finer_of.shape[1] > 0)


@compiled_uncounted
def find_delay(inputs: OrderInputs, p: int) -> int:
    """Bars that an individual's orders wait before they stand."""
    return 0 if inputs.rules.is_plain else inputs.asks.delay[p]


@compiled_uncounted
def find_trail(inputs: OrderInputs, side: int) -> int:
    """Form in which a side's stop follows prices."""
    return NONE if inputs.rules.is_plain else find_form(inputs.asks, TRAIL_PART, side)


@compiled_uncounted
def rests(asks: OrderedPopulation, side: int) -> bool:
    """True if a side's orders wait for a price."""
    return bool(find_form(asks, ORDER_PART, side) != MARKET)


@compiled_uncounted
def on_tick(rules: OrderRules, price: float, is_up: bool) -> float:
    """A price on the tick, rounded up or down; as it is where prices have no tick."""
    if rules.tick_over == 0.0 or not abs(price) < np.inf:
        return price
    steps = price * rules.tick_under / rules.tick_over
    whole: float = round_up(steps - TICK_SLACK) if is_up else round_down(steps + TICK_SLACK)
    return whole * rules.tick_over / rules.tick_under


@compiled_uncounted
def slip_price(inputs: OrderInputs, p: int, side: int, price: float, bar: int, buys: bool) -> float:
    """The price of a fill at the market or at a stop in a bar: worse, and on the tick."""
    asks, rules = inputs.asks, inputs.rules
    form = find_slippage(rules, side)
    if rules.is_plain or form == NO_SLIPPAGE:
        return price
    number = load_value(asks.further, 2 * p + side, SLIPPAGE)
    if form == TICKS:
        worse = number * rules.tick_over / rules.tick_under
    elif form == BASIS_POINTS:
        worse = price * number / 10000.0
    else:
        worse = load_value(asks.worse, asks.worse_of[2 * p + side], bar - 1)
        if worse < 0.0:
            worse = 0.0
    return on_tick(rules, price + worse if buys else price - worse, buys)


@compiled_uncounted
def asks_entry(asks: OrderedPopulation, p: int, side: int, t: int) -> bool:
    """True if a side's signal at a bar places an order, when allowed."""
    mine, other = load_value(asks.entries, p, side), load_value(asks.entries, p, 1 - side)
    if mine < 0 or not is_set(asks.words, mine, t):
        return False
    # Where both sides signal neither does, unless both wait for prices to come.
    return (rests(asks, 0) and rests(asks, 1)) or other < 0 or not is_set(asks.words, other, t)


@compiled_uncounted
def next_signal(asks: OrderedPopulation, pair: Pair, held: int, first: int, marks: Ints) -> int:
    """The first bar from `first` on at which a side that is not held may place an order.

    The last one's successor, or a later one, where there is none.
    """
    longs = pair.last if held == 0 else max(first, marks[SINCE])
    shorts = pair.last if held == 1 else max(first, marks[SINCE + 1])
    return next_of_two(
        asks.words, load_value(asks.entries, pair.p, 0), load_value(asks.entries, pair.p, 1),
        longs, shorts, pair.last, not (rests(asks, 0) and rests(asks, 1)),
    )  # fmt: skip


@compiled_uncounted
def is_met_from_below(asks: OrderedPopulation, side: int) -> bool:
    """True if prices rise to a side's order: to a buy stop, and to a limit that sells."""
    is_above: bool = (find_form(asks, ORDER_PART, side) == STOP_ORDER) == (side == 0)
    return is_above


@compiled_uncounted
def stand_order(inputs: OrderInputs, pair: Pair, side: int, t: int, book: OrderBook) -> None:
    """Have the order of a signal at bar t stand: its price, and the last bar in which it does."""
    asks, marks, figures, row = inputs.asks, book.marks, book.figures, 2 * pair.p + side
    first = t + 1 + find_delay(inputs, pair.p)
    marks[STANDING + side], last = t, pair.end - 1
    if not rests(asks, side):
        marks[LAST + side] = first
        return
    expires = int(load_value(asks.further, row, EXPIRES))
    if expires > 0:
        last = min(last, first + expires - 1)
    cancel = load_value(asks.cancels, pair.p, side)
    if cancel >= 0:
        # The signal's own close does not count; the bar of such a close is the last.
        last = min(last, next_set(asks.words, cancel, t + 1, pair.end))
    if asks.day_ends.size > 0:
        last = min(last, asks.day_ends[first])
    marks[LAST + side] = last
    price = read_formula(asks, pair.p, ORDER_PART, side, t, book.stack)
    price = on_tick(inputs.rules, price, is_met_from_below(asks, side))
    figures[PRICES + side] = figures[LEVELS + side] = price
    # Where there is no price, none lies beyond it.
    beyond = load_value(asks.further, row, BEYOND)
    if beyond > 0.0 and price > 0.0:
        further = price - beyond if side == 0 else price + beyond
        figures[LEVELS + side] = on_tick(inputs.rules, further, is_met_from_below(asks, side))


@compiled_uncounted
def place_orders(inputs: OrderInputs, pair: Pair, j: int, out: Floats, book: OrderBook) -> None:
    """Have orders of a bar stand: a new one replaces its own side's, expired ones end."""
    asks, marks, delay = inputs.asks, book.marks, find_delay(inputs, pair.p)
    t = j - 1 - delay
    for side in range(2):
        counts = pair.first <= t < pair.last and t >= marks[SINCE + side]
        if counts and t != marks[STANDING + side] and asks_entry(asks, pair.p, side, t):
            stand_order(inputs, pair, side, t, book)
            # Without a delay they are placed at the close before, and counted here.
            if delay == 0 and rests(asks, side):
                out[ORDERS] += 1.0
        if marks[STANDING + side] != NO_ORDER and marks[LAST + side] < j:
            marks[STANDING + side] = NO_ORDER


@compiled_uncounted
def count_placed(inputs: OrderInputs, pair: Pair, j: int, out: Floats, marks: Ints) -> None:
    """Count the resting orders that are placed at a close and begin to stand some bars later."""
    if find_delay(inputs, pair.p) == 0 or not pair.first <= j < pair.last:
        return
    for side in range(2):
        may_place = rests(inputs.asks, side) and j >= marks[SINCE + side]
        if may_place and asks_entry(inputs.asks, pair.p, side, j):
            out[ORDERS] += 1.0


@compiled_uncounted
def free_at_open(
    inputs: OrderInputs, pair: Pair, side: int, j: int, out: Floats, marks: Ints
) -> None:
    """After an exit by condition, known a bar before: the other side's signal there counts."""
    marks[SINCE + side] = j
    if not inputs.rules.reverses:
        other = 1 - side
        marks[SINCE + other] = j - 1
        is_late = find_delay(inputs, pair.p) > 0 and rests(inputs.asks, other)
        if is_late and pair.first <= j - 1 < pair.last:
            out[ORDERS] += int(asks_entry(inputs.asks, pair.p, other, j - 1))


@compiled_uncounted
def hold_sides(rules: OrderRules, side: int, j: int, marks: Ints) -> None:
    """A fill ends all orders; from its bar's close on the other side may reverse."""
    marks[STANDING] = marks[STANDING + 1] = NO_ORDER
    marks[SINCE + side] = NEVER
    marks[SINCE + 1 - side] = j if rules.reverses else NEVER


@compiled_uncounted
def end_sides(
    inputs: OrderInputs, p: int, side: int, is_at_stop: bool, j: int, book: OrderBook
) -> None:
    """After any other exit of a side both may place orders; what its bar touches is used up."""
    asks, marks = inputs.asks, book.marks
    marks[SINCE + side] = j
    if not inputs.rules.reverses:
        marks[SINCE + 1 - side] = j
    if touch_order(inputs.prices.bars, asks, 1 - side, j, book) != UNTOUCHED:
        marks[STANDING + 1 - side] = NO_ORDER
    # After a stop no order stands, and for some bars none is placed.
    cooldown = int(load_value(asks.terms, p, COOLDOWN))
    if cooldown > 0 and is_at_stop:
        for each in range(2):
            marks[STANDING + each], marks[SINCE + each] = NO_ORDER, j + cooldown


@compiled_uncounted
def touch_order(bars: Floats, asks: OrderedPopulation, side: int, k: int, book: OrderBook) -> int:
    """How a bar, the k-th of the series or of finer ones, meets a side's order, if one stands."""
    if book.marks[STANDING + side] == NO_ORDER:
        return UNTOUCHED
    if not rests(asks, side):
        return AT_OPEN
    level, opened = book.figures[LEVELS + side], load_value(bars, OPEN, k)
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
    inputs: OrderInputs, p: int, side: int, how: int, opened: float, j: int, figures: Floats
) -> float:
    """The price at which a bar fills a side's order."""
    price: float = opened if how == AT_OPEN else figures[PRICES + side]
    slipped = slip_price(inputs, p, side, price, j, side == 0)
    # A limit is filled at its level or better, once it is known by how much its exit may slip.
    if find_form(inputs.asks, ORDER_PART, side) == LIMIT_ORDER and slipped == slipped:
        return price
    return slipped


@compiled_uncounted
def first_touched(
    bars: Floats, asks: OrderedPopulation, longs: int, shorts: int, k: int, book: OrderBook
) -> int:
    """The side with the first fill in a bar, given how it meets each; -1 if it touches no order."""
    marks, figures, side = book.marks, book.figures, -1
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
