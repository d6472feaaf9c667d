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
from engine.positions.cpu.block_minmax import CLOSE, HIGH, OPEN, Extremes
from engine.positions.cpu.exits import BREAK_EVEN, MARGIN, REVERSE, SIGNAL, STOP, TARGET
from engine.positions.cpu.order_bars import follow_bars, next_bar
from engine.positions.cpu.order_book import (
    begin_targets,
    count_placed,
    end_sides,
    free_at_open,
    hold_sides,
    place_orders,
)
from engine.positions.cpu.order_exits import (
    is_gap,
    is_stopped,
    leave_at_open,
    leave_at_stop,
    leave_later,
    list_trade,
)
from engine.positions.cpu.ordered import (
    FLAT,
    NOT_REACHED,
    STILL_OPEN,
    OpenPosition,
    Way,
    asks_exit,
    find_even_price,
    follow_prices,
    is_all_out,
    open_held,
    reach_targets,
    tighten,
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
    UNTOUCHED,
    WITHIN,
    OrderedPopulation,
    OrderRules,
    find_trail,
    first_touched,
    touch_order,
)
from engine.positions.exit_spec import LIMIT_ORDER, MARKET, NONE, STOP_ORDER
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats, Ints

ORDERS, EXPIRED, COARSE = (
    ACCUMULATOR_INDEX["orders"],
    ACCUMULATOR_INDEX["expired"],
    ACCUMULATOR_INDEX["coarse"],
)


@compiled_uncounted
def take_orders(
    prices: Extremes,
    asks: OrderedPopulation,
    rules: OrderRules,
    purse: Purse,
    p: int,
    first: int,
    last: int,
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
        last: One past the last bar whose signal counts.
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
    for side in range(2):
        marks[SINCE + side], marks[STANDING + side] = first, NO_ORDER
    flat = OpenPosition(FLAT, 0, 0, False, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)
    at, stop, mover, best, used, trades = flat, 0.0, STOP, 0.0, 0, 0
    j = next_bar(prices, asks, rules, p, flat, 0.0, first - 1, first, last, end, marks, figures)
    while j < end:
        may_fill = at.side == FLAT or rules.reverses
        if may_fill:
            place_orders(asks, rules, p, first, last, end, j, out, marks, figures, stack)
        # A bar that touches something is read by the finer ones of which it is made up.
        bars, k, last_k, is_touched, is_whole = prices.bars, j, j, False, False
        if asks.finer_of.shape[1] > 0:
            is_touched = touches_bar(prices.bars, asks, rules, at, stop, j, marks, figures)
            is_whole = asks.finer_of[1, j] == asks.finer_of[0, j]
            if not is_whole and (is_touched or leaves_by_signal(prices, asks, p, at, j)):
                bars, k, last_k = asks.finer, asks.finer_of[0, j], asks.finer_of[1, j] - 1
        is_free, first_k = at.side == FLAT, k
        while k <= last_k:
            longs = shorts = UNTOUCHED
            if may_fill:
                longs = touch_order(bars, asks, 0, k, marks, figures)
                shorts = touch_order(bars, asks, 1, k, marks, figures)
            if at.side == FLAT and longs == shorts == UNTOUCHED:
                k += 1
                continue
            opened, reach = load_value(bars, OPEN, k), 0.0
            other, side, following, way = 1 - at.side, -1, flat, Way(STILL_OPEN, 0.0, False)
            if at.side != FLAT:
                reach = load_value(bars, HIGH - at.side, k)
                if k == first_k:
                    way = leave_at_open(opened, prices.bars, asks, p, at, j)
                if way.reason == SIGNAL:
                    is_free = may_fill = True
                    free_at_open(asks, rules, p, other, first, last, end, j, out, marks, figures,
                                 stack)  # fmt: skip
                    longs = touch_order(bars, asks, 0, k, marks, figures)
                    shorts = touch_order(bars, asks, 1, k, marks, figures)
                    is_touched |= longs != UNTOUCHED or shorts != UNTOUCHED
                elif rules.reverses and way.reason == STILL_OPEN:
                    met = shorts if at.side == 0 else longs
                    way, is_reversing = meet_other(bars, asks, rules, p, at, met, stop, j, k, reach,
                                                   marks, figures)  # fmt: skip
                    side = other if is_reversing else -1
            if is_free:
                side = first_touched(bars, asks, longs, shorts, k, marks, figures)
            while side >= 0:
                met = longs if side == 0 else shorts
                following, is_worth = open_held(prices, asks, rules, purse, p, side, met, opened, j,
                                                end, marks, figures, levels, stack)  # fmt: skip
                marks[STANDING + side] = NO_ORDER
                used += int(asks.forms[ORDER_PART, side] != MARKET)
                if side == 0:
                    longs = UNTOUCHED
                else:
                    shorts = UNTOUCHED
                side = -1
                if not is_worth:
                    out[REJECTED] += 1.0
                    following = flat
                    if is_free:
                        side = first_touched(bars, asks, longs, shorts, k, marks, figures)
            if at.side != FLAT:
                # 2r, 4r and 5r.
                if following.side != FLAT and way.reason == STILL_OPEN:
                    way = Way(REVERSE, following.entry, True)
                if way.reason == STILL_OPEN:
                    way = leave_at_stop(bars, rules, at, stop, mover, k, k == first_k)
                if way.reason == STILL_OPEN:
                    way = leave_later(bars, asks, rules, p, at, j, k, k == last_k, reach, marks,
                                      figures)  # fmt: skip
                if way.reason == STILL_OPEN:
                    best = max(best, reach) if at.side == 0 else min(best, reach)
                else:
                    list_trade(asks, rules, purse, p, at, way, stop, j, out, listed + trades, whole,
                               numbers, stack, marks, figures)  # fmt: skip
                    trades += 1
                    if way.reason != SIGNAL:
                        end_sides(
                            prices.bars, asks, rules, p, at.side, way.reason, j, marks, figures
                        )
                    at = flat
            if following.side != FLAT:
                at, stop, is_free = following, following.margin_stop, False
                mover = STOP if stop == at.first_stop else MARGIN
                begin_targets(rules, at.side, marks, figures, levels)
                hold_sides(rules, at.side, j, marks)
                is_limit = at.is_inside and asks.forms[ORDER_PART, at.side] == LIMIT_ORDER
                reach = load_value(bars, CLOSE if is_limit else HIGH - at.side, k)
                way = Way(STILL_OPEN, 0.0, False)
                if at.is_inside:
                    if is_stopped(bars, at, stop, k):
                        way = Way(mover, stop, False)
                else:
                    way = leave_at_stop(bars, rules, at, stop, mover, k, k == first_k)
                if way.reason == STILL_OPEN:
                    way = leave_later(bars, asks, rules, p, at, j, k, k == last_k, reach, marks,
                                      figures)  # fmt: skip
                best = reach
                if is_limit:
                    best = max(at.entry, reach) if at.side == 0 else min(at.entry, reach)
                if way.reason != STILL_OPEN:
                    list_trade(asks, rules, purse, p, at, way, stop, j, out, listed + trades, whole,
                               numbers, stack, marks, figures)  # fmt: skip
                    trades += 1
                    end_sides(prices.bars, asks, rules, p, at.side, way.reason, j, marks, figures)
                    at = flat
            # Any exit but these by a signal or by a reversal is the last of what its bar does.
            if at.side == FLAT and not is_free:
                break
            k += 1
        if is_touched and is_whole:
            out[COARSE] += 1.0
        if at.side != FLAT:
            stop, mover = follow_prices(asks, rules, p, at, stop, mover, best, j, stack)
            leg = rules.even_leg
            if 0 < leg <= rules.targets[at.side] and marks[LEG_BARS + leg - 1] != NOT_REACHED:
                even = find_even_price(asks, rules, p, at)
                stop, mover = tighten(at.side, stop, mover, even, BREAK_EVEN)
        count_placed(asks, rules, p, first, last, j, out, marks)
        if at.side != FLAT and find_trail(asks, rules, at.side) != NONE:
            j, stop, mover, best = follow_bars(prices, asks, rules, p, at, stop, mover, best, j,
                                               first, last, end, marks, figures,
                                               stack)  # fmt: skip
        else:
            j = next_bar(prices, asks, rules, p, at, stop, j, first, last, end, marks, figures)
    out[TRADES] += trades
    out[EXPIRED] = out[ORDERS] - used
    end_money(purse, out)


@compiled_uncounted
def touches_bar(
    bars: Floats,
    asks: OrderedPopulation,
    rules: OrderRules,
    at: OpenPosition,
    stop: float,
    j: int,
    marks: Ints,
    figures: Floats,
) -> bool:
    """Whether a bar touches an order that stands, or the stop or a target of a position."""
    is_touched = False
    for side in range(2):
        is_touched |= touch_order(bars, asks, side, j, marks, figures) != UNTOUCHED
    if at.side != FLAT:
        reach = load_value(bars, HIGH - at.side, j)
        is_touched |= is_stopped(bars, at, stop, j)
        for leg in range(rules.targets[at.side]):
            target = figures[LEG_PRICES + leg]
            is_reached = reach >= target if at.side == 0 else reach <= target
            is_touched |= marks[LEG_BARS + leg] == NOT_REACHED and is_reached
    return is_touched


@compiled_uncounted
def leaves_by_signal(
    prices: Extremes, asks: OrderedPopulation, p: int, at: OpenPosition, j: int
) -> bool:
    """Whether a position is asked to leave at the open of a bar: orders may fill in it then."""
    return bool(at.side != FLAT and asks_exit(prices.bars, asks, p, at, j - 1))


@compiled_uncounted
def meet_other(
    bars: Floats,
    asks: OrderedPopulation,
    rules: OrderRules,
    p: int,
    at: OpenPosition,
    met: int,
    stop: float,
    j: int,
    k: int,
    reach: float,
    marks: Ints,
    figures: Floats,
) -> tuple[Way, bool]:
    """How targets end a position before the other side's order is met; whether that order is."""
    way, other = Way(STILL_OPEN, 0.0, False), 1 - at.side
    if met != WITHIN or is_gap(bars, at, stop, k):
        return way, met == AT_OPEN
    level = figures[LEVELS + other]
    # 4r: its stop order no farther than the stop.
    if asks.forms[ORDER_PART, other] == STOP_ORDER:
        return way, level >= stop if at.side == 0 else level <= stop
    if is_stopped(bars, at, stop, k):
        return way, False
    # 5 and 5r: targets as far as its limit order, then that order.
    limit = figures[PRICES + other]
    target = reach_targets(rules, at.side, j, reach, limit, marks, figures)
    if is_all_out(asks, rules, p, at.side, marks):
        return Way(TARGET, target, False), False
    return way, True
