"""Orders that stand: when they begin to, when they end, and which count after a trade."""

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cpu.exits import BREAK_EVEN, MARGIN, STOP, STOP_GAP, TRAIL
from engine.positions.cpu.ordered import NOT_REACHED
from engine.positions.cpu.orders import (
    COOLDOWN,
    LAST,
    LEG_BARS,
    LEG_PRICES,
    NO_ORDER,
    ORDER_PART,
    SINCE,
    STANDING,
    UNTOUCHED,
    OrderedPopulation,
    OrderRules,
    asks_entry,
    find_delay,
    stand_order,
    touch_order,
)
from engine.positions.exit_spec import MARKET
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

ORDERS = ACCUMULATOR_INDEX["orders"]


@compiled_uncounted
def free_at_open(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    other: int,
    first: int,
    last: int,
    end: int,
    j: int,
    out: Floats,
    marks: Ints,
    figures: Floats,
    stack: Floats,
) -> None:
    """After an exit by condition, known a bar before: the other side's signal there counts."""
    marks[SINCE + 1 - other] = j
    if rules.reverses:
        return
    marks[SINCE + other] = j - 1
    if find_delay(asks, rules, p) > 0 and asks.forms[ORDER_PART, other] != MARKET:
        out[ORDERS] += int(first <= j - 1 < last and asks_entry(asks, p, other, j - 1))
    place_orders(asks, rules, p, first, last, end, j, out, marks, figures, stack)


@compiled_uncounted
def hold_sides(rules: OrderRules, side: int, j: int, marks: Ints) -> None:
    """A fill ends all orders; from its bar's close on the other side may reverse."""
    marks[STANDING] = marks[STANDING + 1] = NO_ORDER
    marks[SINCE + side] = NEVER
    marks[SINCE + 1 - side] = j if rules.reverses else NEVER


@compiled_uncounted
def end_sides(
    bars: Floats,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    side: int,
    reason: int,
    j: int,
    marks: Ints,
    figures: Floats,
) -> None:
    """After any other exit of a side both may place orders; what its bar touches is used up."""
    marks[SINCE + side] = j
    if not rules.reverses:
        marks[SINCE + 1 - side] = j
    if touch_order(bars, asks, 1 - side, j, marks, figures) != UNTOUCHED:
        marks[STANDING + 1 - side] = NO_ORDER
    # After a stop no order stands, and for some bars none is placed.
    cooldown = int(load_value(asks.terms, p, COOLDOWN))
    if cooldown > 0 and reason in (STOP_GAP, STOP, TRAIL, BREAK_EVEN, MARGIN):
        for each in range(2):
            marks[STANDING + each], marks[SINCE + each] = NO_ORDER, j + cooldown


@compiled_uncounted
def place_orders(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    first: int,
    last: int,
    end: int,
    j: int,
    out: Floats,
    marks: Ints,
    figures: Floats,
    stack: Floats,
) -> None:
    """Have orders of a bar stand: a new one replaces its own side's, those that are over end."""
    delay = find_delay(asks, rules, p)
    t = j - 1 - delay
    for side in range(2):
        is_new = first <= t < last and t >= marks[SINCE + side] and t != marks[STANDING + side]
        if is_new and asks_entry(asks, p, side, t):
            stand_order(asks, rules, p, side, t, end, marks, figures, stack)
            # Without a delay they are placed at the close before, and counted here.
            if delay == 0 and asks.forms[ORDER_PART, side] != MARKET:
                out[ORDERS] += 1.0
        if marks[STANDING + side] != NO_ORDER and marks[LAST + side] < j:
            marks[STANDING + side] = NO_ORDER


@compiled_uncounted
def count_placed(
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    first: int,
    last: int,
    j: int,
    out: Floats,
    marks: Ints,
) -> None:
    """Count the resting orders that are placed at a close and begin to stand some bars later."""
    if find_delay(asks, rules, p) == 0 or not first <= j < last:
        return
    for side in range(2):
        rests = asks.forms[ORDER_PART, side] != MARKET
        if rests and j >= marks[SINCE + side] and asks_entry(asks, p, side, j):
            out[ORDERS] += 1.0


@compiled_uncounted
def begin_targets(
    rules: OrderRules, side: int, marks: Ints, figures: Floats, levels: Floats
) -> None:
    """None of the targets of a new position was reached."""
    for leg in range(rules.targets[side]):
        marks[LEG_BARS + leg], figures[LEG_PRICES + leg] = NOT_REACHED, levels[leg]
