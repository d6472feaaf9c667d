"""Orders by the letter of the law: an individual's plan on a series, and its fills.

Few arrays hold the plan: compiled functions that hand on many take long to compile. Sides are
numbered, 0 for longs and 1 for shorts. A buy is the entry of a long and the exit of a short, a sale
the other two.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.positions.exit_spec import (
    BASIS_POINTS,
    DAY_NS,
    LIMIT_ORDER,
    MARKET,
    NO_SLIPPAGE,
    STOP_ORDER,
    TICKS,
    Limits,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

OPEN, HIGH, LOW, CLOSE = range(4)
"""Rows of prices."""

ENTRIES, EXITS, CANCELS = 0, 2, 4
"""Rows of marks: entries, exits and ends of orders of longs, the row behind each of shorts."""

(
    STOP_PART, TRAIL_PART, ORDER_PART, SLIP_PART, BORROW_PART, FUNDING_PART, SIZE_PART, AFTER,
    EXPIRES, BEYOND, REST, COUNT, BARS_FROM, BARS_TO, PROFIT_FROM, PROFIT_TO, FIRST_LEG,
) = range(17)  # fmt: skip
"""Columns of a side: parts that have a form or read a row, then numbers alone, then its
targets."""

FORM, NUMBER, ROW, SHARE = range(4)
"""Rows of it: form, of `engine.positions.exit_spec`; number of a form that reads no row; row to
read, or `NOWHERE`; share of a target."""

NOWHERE = -1
"""In place of a row that is not there."""


class BarPart(NamedTuple):
    """Prices of a bar of the series, or of one of its finer bars."""

    number: int  # of the bar of the series
    is_first: bool  # whether it opens with that bar
    is_last: bool  # whether it closes with it
    open: float
    high: float
    low: float
    close: float


class World(NamedTuple):
    """A series and what one individual asks of it."""

    prices: Floats  # [4, T] of the series
    rows: Floats  # [R, T] read-only, what stops, targets, orders and charges read
    local_ns: Ints  # [T] when each bar opens by the session's clock; [0] without a session
    marks: Bools  # [6, T] signals at the close of bars
    parts: Floats  # [2, 4, N] what each side does
    finer: Floats  # [4, K] prices of finer bars
    spans: Ints  # [2, T] first finer bar of each bar, and one past its last; [2, 0] without any
    limits: Limits
    minute_ns: int  # of a day, from which on a bar's close leaves
    bar_ns: int  # a bar's duration


def read_bar(world: World, j: int) -> BarPart:
    """A bar of the series as a whole."""
    prices = world.prices
    return BarPart(
        j, True, True, prices[OPEN, j], prices[HIGH, j], prices[LOW, j], prices[CLOSE, j]
    )


def count_finer(world: World, j: int) -> int:
    """Number of a bar's finer bars; 0 if it is read as a whole."""
    if world.spans.shape[1] == 0:
        return 0
    return int(world.spans[1, j] - world.spans[0, j])


def read_finer_bar(world: World, j: int, side: int) -> BarPart:
    """One of a bar's finer bars, from 0 on."""
    k, is_last, prices = world.spans[0, j] + side, side == count_finer(world, j) - 1, world.finer
    return BarPart(
        j, side == 0, is_last, prices[OPEN, k], prices[HIGH, k], prices[LOW, k], prices[CLOSE, k]
    )


def count_targets(world: World, side: int) -> int:
    """How many targets a side has."""
    return int(world.parts[side, NUMBER, COUNT])


def read_row(world: World, side: int, part: int, t: int) -> float:
    """Value of a side's part at a bar; NaN without a row to read."""
    row = int(world.parts[side, ROW, part])
    read: float = world.rows[row, t] if row != NOWHERE else np.nan
    return read


def find_sign(side: int) -> float:
    """1 for longs, -1 for shorts: to multiply by it is exact, so that one formula serves both."""
    return 1.0 - 2.0 * side


UNTOUCHED, AT_OPEN, WITHIN = range(3)
"""How a bar meets an order."""

TICK_SLACK = 1e-4
"""Fraction of a tick by which a price may miss it and still lie on it."""

SINCE, STANDING, HOW, LEG_BARS = range(4)
"""Columns of orders: bar from whose close on a side places them, signal bar of the standing order,
how the bar meets it; from the last on, bars in which targets were reached."""

NEEDED, LEG_LEVELS = range(2)
"""Columns of levels: what must be reached before an order is touched; then targets."""

REJECTED, ORDERS, USED, COARSE = range(4)
"""Counts: signals not taken, resting orders placed, those of them that were filled or not taken,
and bars that touched something and are not made up of finer ones."""

NO_ORDER = -1
"""In place of the signal bar of an order that stands."""

NEVER = 2**62
"""In place of a bar from which on a side may place orders."""


class SignalSpan(NamedTuple):
    """A window's bars."""

    first: int  # first with a signal that counts
    last: int  # one past the last with a signal that counts
    end: int  # one past the last


class Book(NamedTuple):
    """Orders and targets of both sides, as they stand."""

    orders: Ints  # [2, 3 + L], from `LEG_BARS` on the bar in which each target was reached, or -1
    levels: Floats  # [2, 1 + L] price that an order needs, then each target of a position
    counts: Ints  # [4]


def begin_book(world: World, free: tuple[int, int] = (0, 0)) -> Book:
    """No orders; `free`: longs and shorts may place them from the closes of these bars on."""
    legs = world.parts.shape[2] - FIRST_LEG
    orders = np.zeros((2, LEG_BARS + legs), np.int64)
    orders[:, STANDING], orders[:, SINCE] = NO_ORDER, free
    return Book(orders, np.zeros((2, LEG_LEVELS + legs)), np.zeros(4, np.int64))


def on_tick(limits: Limits, price: float, is_up: bool) -> float:
    """A price on the tick, rounded up or down; as it is where prices have no tick."""
    if limits.tick_over == 0.0 or not math.isfinite(price):
        return price
    steps = price * limits.tick_under / limits.tick_over
    whole: float = np.ceil(steps - TICK_SLACK) if is_up else np.floor(steps + TICK_SLACK)
    return whole * limits.tick_over / limits.tick_under


def slip_price(world: World, side: int, price: float, bar: int, buys: bool) -> float:
    """The price of a fill at the market or at a stop in a bar: worse, and on the tick."""
    limits, form, number = world.limits, world.parts[side, FORM, SLIP_PART], 0.0
    if form == NO_SLIPPAGE:
        return price
    number = world.parts[side, NUMBER, SLIP_PART]
    if form == TICKS:
        worse = number * limits.tick_over / limits.tick_under
    elif form == BASIS_POINTS:
        worse = price * number / 10000.0
    else:
        # The newest value that was known at the close before; NaN where none was.
        read = read_row(world, side, SLIP_PART, bar - 1)
        worse = 0.0 if read < 0.0 else read
    return on_tick(limits, price + worse if buys else price - worse, buys)


def both_rest(world: World) -> bool:
    """True if both sides enter by resting orders."""
    return bool(
        world.parts[0, FORM, ORDER_PART] != MARKET and world.parts[1, FORM, ORDER_PART] != MARKET
    )


def asks_entry(world: World, span: SignalSpan, side: int, t: int) -> bool:
    """True if a side's signal at a bar places an order, when allowed."""
    if t < span.first or t >= span.last or not world.marks[ENTRIES + side, t]:
        return False
    # Where both sides signal neither does, unless both wait for prices to come.
    return bool(not world.marks[ENTRIES + 1 - side, t] or both_rest(world))


def stand_orders(world: World, span: SignalSpan, book: Book, j: int) -> None:
    """Standing order of each side in a bar."""
    orders, t = book.orders, j - 1 - world.limits.delay
    for side in range(2):
        # A new signal replaces its own side's order.
        if t >= orders[side, SINCE] and asks_entry(world, span, side, t):
            orders[side, STANDING] = t
        placed = orders[side, STANDING]
        # Where signals end before the window does, those of other genes place orders behind them.
        is_over = t >= span.last
        if placed != NO_ORDER and (is_over or not still_stands(world, side, placed, j)):
            orders[side, STANDING] = NO_ORDER


def meet_orders(world: World, book: Book, bar: BarPart) -> None:
    """How a bar meets the order of each side that stands."""
    orders = book.orders
    for side in range(2):
        placed = orders[side, STANDING]
        orders[side, HOW] = UNTOUCHED
        if placed != NO_ORDER:
            book.levels[side, NEEDED] = touch_level(world, side, placed)
            orders[side, HOW] = touch_order(world, side, book.levels[side, NEEDED], bar)


def still_stands(world: World, side: int, t: int, j: int) -> bool:
    """True if the order of a signal at bar t, which stood in the bar before, stands in bar j."""
    first = t + 1 + world.limits.delay
    if world.parts[side, FORM, ORDER_PART] == MARKET:
        return bool(j == first)
    expires = world.parts[side, NUMBER, EXPIRES]
    if expires > 0.0 and j >= first + expires:
        return False
    # All closes behind the signal's count; earlier calls have seen all but the last.
    for k in range(t + 1 if j == first else j - 1, j):
        if world.marks[CANCELS + side, k]:
            return False
    # A day order ends with the session in which it began to stand.
    local_ns = world.local_ns
    return bool(len(local_ns) == 0 or local_ns[j] // DAY_NS == local_ns[first] // DAY_NS)


def is_met_from_below(world: World, side: int) -> bool:
    """True if prices rise to a side's order: to a buy stop, and to a limit that sells."""
    return bool((world.parts[side, FORM, ORDER_PART] == STOP_ORDER) == (side == 0))


def order_price(world: World, side: int, t: int) -> float:
    """The level of a resting order of a signal at bar t, on the tick."""
    price = read_row(world, side, ORDER_PART, t)
    return on_tick(world.limits, price, is_met_from_below(world, side))


def touch_level(world: World, side: int, t: int) -> float:
    """The price that must be reached before an order counts as touched."""
    if world.parts[side, FORM, ORDER_PART] == MARKET:
        return 0.0
    level, beyond = order_price(world, side, t), world.parts[side, NUMBER, BEYOND]
    # Where there is no price, none lies beyond it.
    if beyond > 0.0 and level > 0.0:
        level = level - find_sign(side) * beyond
        level = on_tick(world.limits, level, is_met_from_below(world, side))
    return level


def touch_order(world: World, side: int, level: float, bar: BarPart) -> int:
    """How a bar meets an order that stands; `level` is what must be reached."""
    if world.parts[side, FORM, ORDER_PART] == MARKET:
        return AT_OPEN if bar.is_first else UNTOUCHED
    # Not finite, or no price: it is never touched.
    if not 0.0 < level < math.inf:
        return UNTOUCHED
    is_above = is_met_from_below(world, side)
    if bar.open >= level if is_above else bar.open <= level:
        return AT_OPEN
    return WITHIN if (bar.high >= level if is_above else bar.low <= level) else UNTOUCHED


def fill_price(world: World, side: int, t: int, how: int, bar: BarPart) -> float:
    """The price at which a bar fills the order of a signal at bar t that it touches."""
    price = bar.open if how == AT_OPEN else order_price(world, side, t)
    slipped = slip_price(world, side, price, bar.number, side == 0)
    # A limit is filled at its level or better, once it is known by how much its exit may slip.
    if world.parts[side, FORM, ORDER_PART] == LIMIT_ORDER and not math.isnan(slipped):
        return price
    return slipped


def find_first_touched(world: World, book: Book, bar: BarPart) -> int:
    """The side with the first fill in a bar; -1 if it touches no order."""
    orders, levels, side = book.orders, book.levels, -1
    longs, shorts = orders[0, HOW], orders[1, HOW]
    # The open comes first; of two that are met there, or as near, the older one.
    if longs != UNTOUCHED and shorts != UNTOUCHED and longs == shorts:
        side = 0 if orders[0, STANDING] <= orders[1, STANDING] else 1
        if longs == WITHIN:
            # The path of a bar: to its nearer extreme first.
            goes_up = bar.high - bar.open < bar.open - bar.low
            long_up, short_up = is_met_from_below(world, 0), is_met_from_below(world, 1)
            long_away = abs(levels[0, NEEDED] - bar.open)
            short_away = abs(levels[1, NEEDED] - bar.open)
            if long_up != short_up:
                side = 0 if long_up == goes_up else 1
            elif long_away != short_away:
                side = 0 if long_away < short_away else 1
    elif longs == AT_OPEN or (longs == WITHIN and shorts == UNTOUCHED):
        side = 0
    elif shorts != UNTOUCHED:
        side = 1
    return side


def count_placed(world: World, span: SignalSpan, book: Book, j: int) -> None:
    """Count the resting orders that are placed at a close."""
    for side in range(2):
        is_placed = j >= book.orders[side, SINCE] and asks_entry(world, span, side, j)
        if is_placed and world.parts[side, FORM, ORDER_PART] != MARKET:
            book.counts[ORDERS] += 1


def hold_sides(world: World, book: Book, side: int, j: int) -> None:
    """A fill ends all other orders; from its bar's close on the other side may reverse."""
    for each in range(2):
        book.orders[each, STANDING], book.orders[each, HOW] = NO_ORDER, UNTOUCHED
    book.orders[side, SINCE] = NEVER
    book.orders[1 - side, SINCE] = j if world.limits.reverses else NEVER


def free_sides(world: World, book: Book, side: int, j: int, is_stopped: bool) -> None:
    """After an exit both sides may place orders; what its bar touches is used up."""
    orders, cooldown = book.orders, world.limits.cooldown
    meet_orders(world, book, read_bar(world, j))
    # A signal on the exit bar is known at its close and counts.
    orders[side, SINCE] = j
    if not world.limits.reverses:
        orders[1 - side, SINCE] = j
    for each in range(2):
        if orders[each, HOW] != UNTOUCHED:
            orders[each, STANDING] = NO_ORDER
        # After a stop no order stands, and for some bars none is placed.
        if is_stopped and cooldown > 0:
            orders[each, STANDING], orders[each, SINCE] = NO_ORDER, j + cooldown


def free_at_open(world: World, span: SignalSpan, book: Book, side: int, j: int) -> None:
    """After an exit by condition, known a bar before: the other side's signal there counts."""
    other = 1 - side
    book.orders[side, SINCE] = j
    if not world.limits.reverses:
        book.orders[other, SINCE] = j - 1
        rests = world.parts[other, FORM, ORDER_PART] != MARKET
        if rests and asks_entry(world, span, other, j - 1):
            book.counts[ORDERS] += 1
    stand_orders(world, span, book, j)


def add_payments(
    rates: Floats, opens: Floats, timestamp: Ints, every_ns: int, repeats: bool
) -> Floats:
    """Costs of holding a position from the first bar on up to each open, [T] price.

    Args:
        rates: [T] fraction of the price; NaN where nothing is charged.
        opens: [T] prices.
        timestamp: [T] when bars open, nanoseconds UTC.
        every_ns: Time between two payments; 0: each bar pays.
        repeats: Whether a bar pays for each of the times since the one before, not once.
    """
    paid = np.zeros(len(opens))
    for j in range(1, len(opens)):
        count = 1
        if every_ns > 0:
            count = timestamp[j] // every_ns - timestamp[j - 1] // every_ns
        if count > 1 and not repeats:
            count = 1
        paid[j] = paid[j - 1]
        if count > 0 and not np.isnan(rates[j - 1]):
            paid[j] = paid[j - 1] + count * rates[j - 1] * opens[j]
    return paid


def add_dated_payments(bars: Ints, rates: Floats, opens: Floats) -> Floats:
    """Payments from the first bar on up to each open, [T] price.

    Args:
        bars: [N] bar to which each payment belongs, ascending, none of them the first.
        rates: [N] fraction of the price.
        opens: [T] prices.
    """
    paid = np.zeros(len(opens))
    number = 0
    for j in range(1, len(opens)):
        paid[j] = paid[j - 1]
        while number < len(bars) and bars[number] == j:
            paid[j] = paid[j] + rates[number] * opens[j]
            number += 1
    return paid
