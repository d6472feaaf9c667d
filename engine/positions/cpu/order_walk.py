"""Signals of both sides that place orders, one position at a time, and the fold.

It goes from one bar of interest to the next: where an order begins to stand or is touched, where a
position is asked to leave, or where prices reach its stop, a target or a gain at which the stop
moves. Bars between are passed by in blocks, or one by one while a stop follows prices.
"""

import numpy as np

from engine.accounts.cpu.folding import BARS_IN_MARKET, EQUITY, REJECTED, SUM_R_SHORT, TRADES
from engine.accounts.cpu.money import (
    Purse,
    add_least_fees,
    begin_money,
    end_money,
    find_units,
    fold_money,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.stake import SHARE_OF_R
from engine.positions.cpu.block_minmax import CLOSE, HIGH, LOW, OPEN, Extremes, Levels, first_touch
from engine.positions.cpu.both_sides import EXITS, SHORTS, WINS_SHORT
from engine.positions.cpu.exits import REVERSE, SESSION, SIGNAL, STOP, STOP_GAP, TARGET
from engine.positions.cpu.ordered import (
    NOT_REACHED,
    STILL_OPEN,
    Held,
    Way,
    compute_r,
    follow_prices,
    is_all_out,
    open_held,
    reach_targets,
    tighter,
)
from engine.positions.cpu.orders import (
    AFTER,
    AT_OPEN,
    LAST,
    LEG_BARS,
    LEG_PRICES,
    LEVELS,
    NO_ORDER,
    ORDER_PART,
    PRICES,
    REST,
    SINCE,
    SIZE_PART,
    STANDING,
    TRAIL_PART,
    UNTOUCHED,
    WITHIN,
    OrderedPopulation,
    Rules,
    asks_entry,
    first_touched,
    is_met_from_below,
    next_signal,
    on_tick,
    read_part,
    slip_price,
    stand_order,
    touch_order,
)
from engine.positions.exit_spec import LIMIT_ORDER, MARKET, NONE, STOP_ORDER
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import NEVER, is_set, next_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

ORDERS, EXPIRED, PARTIALS = (
    ACCUMULATOR_INDEX["orders"],
    ACCUMULATOR_INDEX["expired"],
    ACCUMULATOR_INDEX["partials"],
)

NOBODY = -1
"""In place of a position's side."""


@compiled_uncounted
def take_orders(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: Rules,
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
    nobody = Held(NOBODY, 0, 0, False, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)
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
    rules: Rules,
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
def begin_targets(rules: Rules, side: int, marks: Ints, figures: Floats, levels: Floats) -> None:
    """None of the targets of a new position was reached."""
    for leg in range(rules.targets[side]):
        marks[LEG_BARS + leg], figures[LEG_PRICES + leg] = NOT_REACHED, levels[leg]


@compiled_uncounted
def leave_at_open(prices: Extremes, asks: OrderedPopulation, p: int, at: Held, j: int) -> Way:
    """What ends a position at a bar's open, whatever its price: rules 1 and 2."""
    opened, reason = load_value(prices.bars, OPEN, j), STILL_OPEN
    asked = asks.exits[p, at.side]
    if asked >= 0 and is_set(asks.words, asked, j - 1):
        reason = SIGNAL
    elif j == at.clock_bar:
        reason = SESSION
    return Way(reason, opened, True)


@compiled_uncounted
def is_gap(prices: Extremes, at: Held, stop: float, j: int) -> bool:
    """Whether a bar opens at the stop or beyond it."""
    opened = load_value(prices.bars, OPEN, j)
    is_beyond: bool = opened <= stop if at.side == 0 else opened >= stop
    return is_beyond


@compiled_uncounted
def is_stopped(prices: Extremes, at: Held, stop: float, j: int) -> bool:
    """Whether a bar reaches the stop."""
    worst = load_value(prices.bars, LOW + at.side, j)
    is_reached: bool = worst <= stop if at.side == 0 else worst >= stop
    return is_reached


@compiled_uncounted
def leave_at_stop(prices: Extremes, at: Held, stop: float, j: int) -> Way:
    """What the stop does to a position: rules 3 and 4."""
    if is_gap(prices, at, stop, j):
        return Way(STOP_GAP, load_value(prices.bars, OPEN, j), True)
    if is_stopped(prices, at, stop, j):
        return Way(STOP, stop, False)
    return Way(STILL_OPEN, 0.0, False)


@compiled_uncounted
def leave_later(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: Rules,
    p: int,
    at: Held,
    j: int,
    reach: float,
    marks: Ints,
    figures: Floats,
) -> Way:
    """What targets and the close do to a position in a bar whose prices went so far."""
    beyond = np.inf if at.side == 0 else -np.inf
    target = reach_targets(rules, at.side, j, reach, beyond, marks, figures)
    way = Way(STILL_OPEN, 0.0, False)
    if is_all_out(asks, rules, p, at.side, marks):
        way = Way(TARGET, target, False)
    elif j == at.close_bar:
        way = Way(at.close_reason, load_value(prices.bars, CLOSE, j), False)
    return way


@compiled_uncounted
def find_next_change(
    asks: OrderedPopulation,
    rules: Rules,
    p: int,
    at: Held,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
) -> int:
    """The first bar behind j that changes something without a touch; `end` where there is none.

    An order begins to stand or is placed there, or it ends a position.
    """
    delay, bar = asks.delay[p], end
    for side in range(2):
        if at.side == NOBODY or (rules.reverses and side != at.side):
            t = next_signal(asks, p, side, max(j - delay, first, marks[SINCE + side]), last)
            if t < last:
                bar = min(bar, t + 1 + delay)
            if delay > 0 and t <= j and asks.forms[ORDER_PART, side] != MARKET:
                t = next_signal(asks, p, side, max(j + 1, first, marks[SINCE + side]), last)
            if delay > 0 and j < t < last:
                bar = min(bar, t)
    if at.side != NOBODY:
        bar = min(bar, at.close_bar, at.clock_bar)
        asked = asks.exits[p, at.side]
        if asked >= 0:
            bar = min(bar, next_set(asks.words, asked, j, bar) + 1)
    return bar


@compiled_uncounted
def next_bar(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: Rules,
    p: int,
    at: Held,
    stop: float,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
    figures: Floats,
) -> int:
    """The next bar of interest behind bar j, while no stop follows prices."""
    bar = find_next_change(asks, rules, p, at, j, first, last, end, marks)
    lower, upper, gain, until = -np.inf, np.inf, np.nan, bar
    is_watched = at.side != NOBODY
    for side in range(2):
        if marks[STANDING + side] != NO_ORDER and marks[LAST + side] > j:
            level = figures[LEVELS + side]
            if asks.forms[ORDER_PART, side] == MARKET:
                until = min(until, marks[LAST + side])
            elif 0.0 < level < np.inf and is_met_from_below(asks, side):
                upper, is_watched = min(upper, level), True
            elif 0.0 < level < np.inf:
                lower, is_watched = max(lower, level), True
    entry = 0.0
    if at.side != NOBODY:
        entry, gain = at.entry, asks.break_even[p] * at.risk
        # Once the stop stands at the entry, no gain moves it any more.
        if not (stop < entry if at.side == 0 else stop > entry):
            gain = np.nan
        if at.side == 0:
            lower = max(lower, stop)
        else:
            upper = min(upper, stop)
        for leg in range(rules.targets[at.side]):
            if marks[LEG_BARS + leg] == NOT_REACHED and at.side == 0:
                upper = min(upper, figures[LEG_PRICES + leg])
            elif marks[LEG_BARS + leg] == NOT_REACHED:
                lower = max(lower, figures[LEG_PRICES + leg])
    until = min(until, end)
    if is_watched and j + 1 < until:
        levels = Levels(lower, upper, max(at.side, 0), entry, gain)
        until = min(until, first_touch(prices, levels, j + 1, until - 1))
    return until


@compiled_uncounted
def follow_bars(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: Rules,
    p: int,
    at: Held,
    stop: float,
    best: float,
    j: int,
    first: int,
    last: int,
    end: int,
    marks: Ints,
    figures: Floats,
) -> tuple[int, float, float]:
    """The next bar of interest while a stop follows prices, that stop, and the best price."""
    bar = find_next_change(asks, rules, p, at, j, first, last, end, marks)
    other, row = 1 - at.side, 2 * p + at.side
    level = np.nan
    if marks[STANDING + other] != NO_ORDER and marks[LAST + other] > j:
        level = figures[LEVELS + other]
        if asks.forms[ORDER_PART, other] == MARKET:
            bar, level = min(bar, marks[LAST + other]), np.nan
    is_below = is_met_from_below(asks, other)
    nearest = np.inf if at.side == 0 else -np.inf
    for leg in range(rules.targets[at.side]):
        if marks[LEG_BARS + leg] == NOT_REACHED:
            price = figures[LEG_PRICES + leg]
            nearest = min(nearest, price) if at.side == 0 else max(nearest, price)
    k, gain = j + 1, load_value(asks.further, row, AFTER) * at.risk
    even = asks.break_even[p] * at.risk
    is_touched = False
    while k < bar and not is_touched:
        high, low = load_value(prices.bars, HIGH, k), load_value(prices.bars, LOW, k)
        if at.side == 0:
            is_touched = low <= stop or high >= nearest
        else:
            is_touched = high >= stop or low <= nearest
        is_touched |= high >= level if is_below else low <= level
        if not is_touched:
            best = max(best, high) if at.side == 0 else min(best, low)
            gone = best - at.entry if at.side == 0 else at.entry - best
            if gone >= gain or gone >= even:
                stop = follow_prices(asks, rules, p, at, stop, best)
            k += 1
    return k, stop, best


@compiled_uncounted
def list_trade(
    asks: OrderedPopulation,
    rules: Rules,
    purse: Purse,
    p: int,
    at: Held,
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
        scale = read_part(asks, p, SIZE_PART, side, at.signal_bar, stack)
        number, leverage = load_value(asks.stakes, p, 0), load_value(asks.stakes, p, 1)
        units = find_units(purse, number, leverage, out[EQUITY], at.entry, at.risk, scale)
        if purse.fee_min > 0.0 and units > 0.0:
            money, rest = units * purse.worth, load_value(asks.further, row, REST)
            least_fees = add_least_fees(
                purse, money, units, at.entry, price, asks.shares, row, rest, count, marks,
                LEG_BARS, figures, LEG_PRICES,
            )  # fmt: skip
    fold_money(purse, out, r, at.risk, units, least_fees)
    out[SHORTS] += side
    out[WINS_SHORT] += side * (r > 0.0)
    if side:
        out[SUM_R_SHORT] += r
    held = j - at.entry_bar + (0 if way.is_at_open else 1)
    out[BARS_IN_MARKET] += held
    out[EXITS[way.reason]] += 1.0
    legs, ended, farthest = whole.shape[1] - 6, False, -np.inf if count else np.inf
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
