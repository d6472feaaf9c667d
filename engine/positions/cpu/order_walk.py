"""Signals of both sides that place orders, one position at a time, and the fold.

It goes from one bar of interest to the next: where an order begins to stand or is touched, where a
position is asked to leave, or where prices reach its stop, a target or a gain at which the stop
moves. Bars between are passed by in blocks, or one by one while a stop follows prices.
"""

from engine.accounts.cpu.folding import REJECTED, TRADES
from engine.accounts.cpu.money import (
    Purse,
    begin_money,
    end_money,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cpu.block_minmax import CLOSE, HIGH, Extremes
from engine.positions.cpu.exits import REVERSE, SIGNAL, STOP, STOP_GAP, TARGET
from engine.positions.cpu.order_bars import follow_bars, next_bar
from engine.positions.cpu.order_exits import (
    is_gap,
    is_stopped,
    leave_at_open,
    leave_at_stop,
    leave_later,
    list_trade,
)
from engine.positions.cpu.ordered import (
    NOBODY,
    NOT_REACHED,
    STILL_OPEN,
    OpenPosition,
    Way,
    follow_prices,
    is_all_out,
    open_held,
    reach_targets,
    tighter,
)
from engine.positions.cpu.orders import (
    AT_OPEN,
    LEG_BARS,
    LEG_PRICES,
    LEVELS,
    NO_ORDER,
    ORDER_PART,
    PRICES,
    SINCE,
    STANDING,
    TRAIL_PART,
    UNTOUCHED,
    WITHIN,
    OrderedPopulation,
    OrderRules,
    asks_entry,
    first_touched,
    on_tick,
    stand_order,
    touch_order,
)
from engine.positions.exit_spec import LIMIT_ORDER, MARKET, NONE, STOP_ORDER
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

ORDERS, EXPIRED = ACCUMULATOR_INDEX["orders"], ACCUMULATOR_INDEX["expired"]


@compiled_uncounted
def take_orders(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: OrderRules,
    purse: Purse,
    p: int,
    first: int,
    end: int,
    out: Floats,
    listed: int,
    whole: Ints,
    numbers: Floats,
    stack: Floats,
    marks: Ints,
    figures: Floats,
    levels: Floats,
) -> None:
    """Fold one individual's trades in one window.

    Args:
        prices: The series.
        asks: All individuals.
        rules: What they share.
        purse: How trades are sized.
        p: Which individual.
        first: First bar whose signal counts.
        end: One past the last bar of the window.
        out: [A] accumulators, as `engine.accounts.cpu.folding.begin` sets them up.
        listed: Place of its first trade among all that are listed.
        whole: [K, 6 + L] receives signal bar, entry bar, exit bar, reason, side, bars held and bars
            of targets of each trade; or [0, ...] where no ledger is wanted.
        numbers: [K, 7 + L] receives entry, stop, target, exit, r, last stop, what its size is
            measured by, and prices of targets; or [0, ...].
        stack: [S] of this thread, room for formulas.
        marks: [14] of this thread, a book's whole numbers.
        figures: [12] of this thread, a book's prices.
        levels: [8] of this thread, targets of a position that is looked at.
    """
    begin_money(purse, out)
    last = end - 1 - asks.delay[p]
    for side in range(2):
        marks[SINCE + side], marks[STANDING + side] = first, NO_ORDER
    nobody = OpenPosition(NOBODY, 0, 0, False, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)
    at, stop, best, used, trades = nobody, 0.0, 0.0, 0, 0
    j = next_bar(prices, asks, rules, p, nobody, 0.0, first - 1, first, last, end, marks, figures)
    while j < end:
        place_orders(asks, rules, p, first, last, end, j, out, marks, figures, stack)
        longs = touch_order(prices, asks, 0, j, marks, figures)
        shorts = touch_order(prices, asks, 1, j, marks, figures)
        following, is_free = nobody, at.side == NOBODY
        if not is_free:
            other = 1 - at.side
            met = shorts if at.side == 0 else longs
            way = leave_at_open(prices, asks, p, at, j)
            # 2r and 4r: its order at the open, its stop order no farther than the stop.
            if (
                way.reason == STILL_OPEN
                and met != UNTOUCHED
                and not (met == WITHIN and is_gap(prices, at, stop, j))
            ):
                against, level = asks.forms[ORDER_PART, other], figures[LEVELS + other]
                is_nearer = level >= stop if at.side == 0 else level <= stop
                if met == AT_OPEN or (against == STOP_ORDER and is_nearer):
                    following, is_worth = open_held(prices, asks, rules, p, other, met, j, end,
                                                    marks, figures, levels, stack)  # fmt: skip
                    marks[STANDING + other], met = NO_ORDER, UNTOUCHED
                    used += int(against != MARKET)
                    if is_worth:
                        way = Way(REVERSE, following.entry, True)
                    else:
                        out[REJECTED] += 1.0
                        following = nobody
            if way.reason == STILL_OPEN:
                way = leave_at_stop(prices, at, stop, j)
            reach = load_value(prices.bars, HIGH - at.side, j)
            # 5 and 5r: targets as far as its limit order, then that order.
            if (
                way.reason == STILL_OPEN
                and met == WITHIN
                and asks.forms[ORDER_PART, other] == LIMIT_ORDER
            ):
                limit = figures[PRICES + other]
                target = reach_targets(rules, at.side, j, reach, limit, marks, figures)
                if is_all_out(asks, rules, p, at.side, marks):
                    way = Way(TARGET, target, False)
                else:
                    following, is_worth = open_held(prices, asks, rules, p, other, met, j, end,
                                                    marks, figures, levels, stack)  # fmt: skip
                    marks[STANDING + other], met = NO_ORDER, UNTOUCHED
                    used += 1
                    if is_worth:
                        way = Way(REVERSE, following.entry, True)
                    else:
                        out[REJECTED] += 1.0
                        following = nobody
            if way.reason == STILL_OPEN:
                way = leave_later(prices, asks, rules, p, at, j, reach, marks, figures)
            if way.reason != STILL_OPEN:
                list_trade(asks, rules, purse, p, at, way, stop, j, out, listed + trades, whole,
                           numbers, stack, marks, figures)  # fmt: skip
                trades += 1
                marks[SINCE + at.side] = j
                if way.reason == SIGNAL:
                    is_free = True
                    if not rules.reverses:
                        marks[SINCE + other] = j - 1
                        if asks.delay[p] > 0 and asks.forms[ORDER_PART, other] != MARKET:
                            out[ORDERS] += int(
                                first <= j - 1 < last and asks_entry(asks, p, other, j - 1)
                            )
                        place_orders(asks, rules, p, first, last, end, j, out, marks, figures,
                                     stack)  # fmt: skip
                        longs = touch_order(prices, asks, 0, j, marks, figures)
                        shorts = touch_order(prices, asks, 1, j, marks, figures)
                else:
                    if not rules.reverses:
                        marks[SINCE + other] = j
                    # What the bar touched is used up.
                    if met != UNTOUCHED:
                        marks[STANDING + other] = NO_ORDER
                    cool_down(asks, p, way.reason, j, marks)
                at = nobody
        if is_free:
            side = first_touched(prices, asks, longs, shorts, j, marks, figures)
            while side >= 0 and following.side == NOBODY:
                met = longs if side == 0 else shorts
                following, is_worth = open_held(prices, asks, rules, p, side, met, j, end, marks,
                                                figures, levels, stack)  # fmt: skip
                marks[STANDING + side] = NO_ORDER
                used += int(asks.forms[ORDER_PART, side] != MARKET)
                if side == 0:
                    longs = UNTOUCHED
                else:
                    shorts = UNTOUCHED
                if not is_worth:
                    out[REJECTED] += 1.0
                    following = nobody
                side = first_touched(prices, asks, longs, shorts, j, marks, figures)
        if following.side != NOBODY:
            at, stop = following, following.first_stop
            begin_targets(rules, at.side, marks, figures, levels)
            marks[STANDING] = marks[STANDING + 1] = NO_ORDER
            marks[SINCE + at.side] = NEVER
            marks[SINCE + 1 - at.side] = j if rules.reverses else NEVER
            is_limit = at.is_inside and asks.forms[ORDER_PART, at.side] == LIMIT_ORDER
            reach = load_value(prices.bars, CLOSE if is_limit else HIGH - at.side, j)
            way = Way(STILL_OPEN, 0.0, False)
            if at.is_inside:
                if is_stopped(prices, at, stop, j):
                    way = Way(STOP, stop, False)
            else:
                way = leave_at_stop(prices, at, stop, j)
            if way.reason == STILL_OPEN:
                way = leave_later(prices, asks, rules, p, at, j, reach, marks, figures)
            best = reach
            if is_limit:
                best = max(at.entry, reach) if at.side == 0 else min(at.entry, reach)
            if way.reason != STILL_OPEN:
                list_trade(asks, rules, purse, p, at, way, stop, j, out, listed + trades, whole,
                           numbers, stack, marks, figures)  # fmt: skip
                trades += 1
                marks[SINCE + at.side] = j
                if not rules.reverses:
                    marks[SINCE + 1 - at.side] = j
                cool_down(asks, p, way.reason, j, marks)
                at = nobody
        elif at.side != NOBODY:
            reach = load_value(prices.bars, HIGH - at.side, j)
            best = max(best, reach) if at.side == 0 else min(best, reach)
        if at.side != NOBODY:
            stop = follow_prices(asks, rules, p, at, stop, best)
            leg = rules.even_leg
            if 0 < leg <= rules.targets[at.side] and marks[LEG_BARS + leg - 1] != NOT_REACHED:
                stop = tighter(at.side, stop, on_tick(rules, at.entry, at.side == 1))
        count_placed(asks, p, first, last, j, out, marks)
        if at.side != NOBODY and asks.forms[TRAIL_PART, at.side] != NONE:
            j, stop, best = follow_bars(prices, asks, rules, p, at, stop, best, j, first, last, end,
                                        marks, figures)  # fmt: skip
        else:
            j = next_bar(prices, asks, rules, p, at, stop, j, first, last, end, marks, figures)
    out[TRADES] += trades
    out[EXPIRED] = out[ORDERS] - used
    end_money(purse, out)


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
    """Have the orders stand that begin to in a bar; a new one replaces its own side's."""
    t = j - 1 - asks.delay[p]
    for side in range(2):
        is_new = first <= t < last and t >= marks[SINCE + side] and t != marks[STANDING + side]
        if is_new and asks_entry(asks, p, side, t):
            stand_order(asks, rules, p, side, t, end, marks, figures, stack)
            # Without a delay they are placed at the close before, and counted here.
            if asks.delay[p] == 0 and asks.forms[ORDER_PART, side] != MARKET:
                out[ORDERS] += 1.0


@compiled_uncounted
def count_placed(
    asks: OrderedPopulation, p: int, first: int, last: int, j: int, out: Floats, marks: Ints
) -> None:
    """Count the resting orders that are placed at a close and begin to stand some bars later."""
    if asks.delay[p] == 0 or not first <= j < last:
        return
    for side in range(2):
        rests = asks.forms[ORDER_PART, side] != MARKET
        if rests and j >= marks[SINCE + side] and asks_entry(asks, p, side, j):
            out[ORDERS] += 1.0


@compiled_uncounted
def cool_down(asks: OrderedPopulation, p: int, reason: int, j: int, marks: Ints) -> None:
    """After a stop no order stands, and for some bars none is placed."""
    if asks.cooldown[p] > 0 and reason in (STOP_GAP, STOP):
        for side in range(2):
            marks[STANDING + side], marks[SINCE + side] = NO_ORDER, j + asks.cooldown[p]


@compiled_uncounted
def begin_targets(
    rules: OrderRules, side: int, marks: Ints, figures: Floats, levels: Floats
) -> None:
    """None of the targets of a new position was reached."""
    for leg in range(rules.targets[side]):
        marks[LEG_BARS + leg], figures[LEG_PRICES + leg] = NOT_REACHED, levels[leg]
