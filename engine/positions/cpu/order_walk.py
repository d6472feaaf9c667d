"""Signals of both sides that place orders, one position at a time, and the fold.

A walk goes from one bar of interest to the next: where an order begins to stand or is touched,
where a position has an exit signal, or where prices reach its stop, a target or a gain at which the
stop moves. Bars between are passed by in blocks, or one by one while a stop follows prices.
"""

import numpy as np

from engine.accounts.cpu.money import REJECTED, TRADES, begin_money, end_money
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.positions.cpu.exits import (
    BREAK_EVEN,
    CLOSE,
    HIGH,
    LOW,
    MARGIN,
    OPEN,
    REVERSE,
    SIGNAL,
    STOP,
    STOP_GAP,
    TARGET,
    TRAIL,
    Levels,
    first_touch,
    is_stopped,
)
from engine.positions.cpu.order_exits import (
    FLAT,
    NOT_REACHED,
    STILL_OPEN,
    OpenPosition,
    OrderLists,
    Part,
    Walk,
    Way,
    asks_exit,
    begin_targets,
    find_even_price,
    follow_prices,
    is_all_out,
    is_gap,
    leave_at_open,
    leave_at_stop,
    leave_later,
    list_trade,
    open_held,
    reach_targets,
    tighten,
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
    ORDERS,
    PRICES,
    SINCE,
    STANDING,
    UNTOUCHED,
    WITHIN,
    OrderBook,
    OrderedPopulation,
    OrderInputs,
    Pair,
    count_placed,
    count_targets,
    end_sides,
    find_delay,
    find_form,
    find_trail,
    first_touched,
    free_at_open,
    has_finer,
    hold_sides,
    is_met_from_below,
    next_signal,
    place_orders,
    rests,
    touch_order,
)
from engine.positions.exit_spec import LIMIT_ORDER, NONE, STOP_ORDER
from engine.runtime.compiling.loops import compiled_uncounted
from engine.runtime.cpu.bitset import next_set
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import Floats

EXPIRED, COARSE = ACCUMULATOR_INDEX["expired"], ACCUMULATOR_INDEX["coarse"]


@compiled_uncounted
def take_orders(
    inputs: OrderInputs, pair: Pair, out: Floats, lists: OrderLists, book: OrderBook
) -> None:
    """Fold one individual's trades in one window.

    Args:
        inputs: The series, all individuals and what they share.
        pair: Which of them, in which bars.
        out: [A] accumulators, as `engine.accounts.cpu.money.begin` sets them up.
        lists: Where its trades are written down.
        book: Room of this thread.
    """
    walk = begin_walk(inputs, pair, out, book)
    j = next_bar(inputs, pair, walk, pair.first - 1, book)
    while j < pair.end:
        walk = step_bar(inputs, pair, j, walk, out, lists, book)
        if walk.at.side != FLAT and find_trail(inputs, walk.at.side) != NONE:
            j, walk = follow_bars(inputs, pair, walk, j, book)
        else:
            j = next_bar(inputs, pair, walk, j, book)
    end_walk(inputs, walk, out)


@compiled_uncounted
def begin_walk(inputs: OrderInputs, pair: Pair, out: Floats, book: OrderBook) -> Walk:
    """A walk before its first bar."""
    begin_money(inputs.purse, out)
    for side in range(2):
        book.marks[SINCE + side], book.marks[STANDING + side] = pair.first, NO_ORDER
    return Walk(be_flat(), 0.0, STOP, 0.0, 0, 0)


@compiled_uncounted
def end_walk(inputs: OrderInputs, walk: Walk, out: Floats) -> None:
    """Sums behind the last bar of a walk."""
    out[TRADES] += walk.trades
    out[EXPIRED] = out[ORDERS] - walk.used
    end_money(inputs.purse, out)


@compiled_uncounted
def be_flat() -> OpenPosition:
    """No position."""
    return OpenPosition(FLAT, 0, 0, False, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0)


@compiled_uncounted
def step_bar(
    inputs: OrderInputs,
    pair: Pair,
    j: int,
    walk: Walk,
    out: Floats,
    lists: OrderLists,
    book: OrderBook,
) -> Walk:
    """A walk behind bar j."""
    prices, asks, rules, _ = inputs
    p, marks = pair.p, book.marks
    at, stop, mover, best, used, trades = walk
    way = Way(STILL_OPEN, 0.0, False)
    if at.side != FLAT:
        way = leave_at_open(inputs, p, at, j)
    is_free = at.side == FLAT or way.reason == SIGNAL
    if way.reason == SIGNAL:
        free_at_open(inputs, pair, at.side, j, out, marks)
    may_fill = is_free or rules.reverses
    if may_fill:
        place_orders(inputs, pair, j, out, book)
    # A bar that touches something is read by its finer ones.
    bars, k, last_k, is_touched, is_whole = prices.bars, j, j, False, False
    if has_finer(asks):
        is_touched = touches_bar(inputs, at, stop, j, book)
        is_whole = asks.finer_of[1, j] == asks.finer_of[0, j]
        if not is_whole and (is_touched or way.reason == SIGNAL):
            bars, k, last_k = asks.finer, asks.finer_of[0, j], asks.finer_of[1, j] - 1
    first_k, is_over = k, False
    while k <= last_k and not is_over:
        part = Part(bars, k, j, k == first_k, k == last_k)
        longs = shorts = UNTOUCHED
        if may_fill:
            longs = touch_order(bars, asks, 0, k, book)
            shorts = touch_order(bars, asks, 1, k, book)
        if at.side == FLAT and longs == shorts == UNTOUCHED:
            k += 1
            continue
        opened, reach, other = load_value(bars, OPEN, k), 0.0, 1 - at.side
        side, following = -1, be_flat()
        if at.side != FLAT:
            reach = load_value(bars, HIGH - at.side, k)
            if rules.reverses and way.reason == STILL_OPEN:
                met = shorts if at.side == 0 else longs
                way, is_reversing = meet_other(inputs, p, at, stop, met, part, reach, book)
                side = other if is_reversing else -1
        is_waiting = is_free or side >= 0
        while is_waiting:
            if is_free:
                side = first_touched(bars, asks, longs, shorts, k, book)
            is_waiting = side >= 0
            if is_waiting:
                met = longs if side == 0 else shorts
                following, is_worth = open_held(inputs, pair, side, met, opened, j, book)
                marks[STANDING + side] = NO_ORDER
                used += int(rests(asks, side))
                longs = UNTOUCHED if side == 0 else longs
                shorts = UNTOUCHED if side == 1 else shorts
                is_waiting = is_free and not is_worth
                if not is_worth:
                    out[REJECTED] += 1.0
                    following = be_flat()
        # 2r, 4r and 5r.
        if at.side != FLAT and following.side != FLAT and way.reason == STILL_OPEN:
            way = Way(REVERSE, following.entry, True)
        # First the held position, then a new one.
        for turn in range(2):
            had_open = True
            if turn == 1 and following.side != FLAT:
                at, stop, is_free = following, following.margin_stop, False
                mover = STOP if stop == at.first_stop else MARGIN
                begin_targets(rules, at.side, book)
                hold_sides(rules, at.side, j, marks)
                is_limit = find_form(asks, ORDER_PART, at.side) == LIMIT_ORDER
                is_late = at.is_inside and is_limit
                reach = load_value(bars, CLOSE if is_late else HIGH - at.side, k)
                best = at.entry if is_late else reach
                way, had_open = Way(STILL_OPEN, 0.0, False), not at.is_inside
            if at.side != FLAT and (turn == 0 or following.side != FLAT):
                if way.reason == STILL_OPEN:
                    way = leave_at_stop(rules, at, stop, mover, part, had_open)
                if way.reason == STILL_OPEN:
                    way = leave_later(inputs, p, at, part, reach, book)
                if way.reason == STILL_OPEN:
                    best = max(best, reach) if at.side == 0 else min(best, reach)
                else:
                    now = Walk(at, stop, mover, best, used, trades)
                    list_trade(inputs, p, now, way, j, out, lists, book)
                    trades += 1
                    if way.reason != SIGNAL:
                        end_sides(inputs, p, at.side, is_at_stop(way.reason), j, book)
                    at = be_flat()
        # Any exit but these by a signal or by a reversal is the last of what its bar does.
        is_over = at.side == FLAT and not is_free
        way = Way(STILL_OPEN, 0.0, False)
        k += 1
    if is_touched and is_whole:
        out[COARSE] += 1.0
    if at.side != FLAT:
        stop, mover = follow_prices(inputs, p, at, stop, mover, best, j, book.stack)
        leg = rules.even_leg
        if 0 < leg <= count_targets(rules, at.side) and marks[LEG_BARS + leg - 1] != NOT_REACHED:
            stop, mover = tighten(at.side, stop, mover, find_even_price(inputs, p, at), BREAK_EVEN)
    count_placed(inputs, pair, j, out, marks)
    return Walk(at, stop, mover, best, used, trades)


@compiled_uncounted
def is_at_stop(reason: int) -> bool:
    """True if a reason is a stop, wherever it stood."""
    return reason in (STOP_GAP, STOP, TRAIL, BREAK_EVEN, MARGIN)


@compiled_uncounted
def touches_bar(
    inputs: OrderInputs, at: OpenPosition, stop: float, j: int, book: OrderBook
) -> bool:
    """True if a bar touches an order that stands, or the stop or a target of a position."""
    bars, is_touched = inputs.prices.bars, False
    for side in range(2):
        is_touched |= touch_order(bars, inputs.asks, side, j, book) != UNTOUCHED
    if at.side != FLAT:
        reach = load_value(bars, HIGH - at.side, j)
        is_touched |= is_stopped(bars, at.side, stop, j)
        for leg in range(count_targets(inputs.rules, at.side)):
            target = book.figures[LEG_PRICES + leg]
            is_reached = reach >= target if at.side == 0 else reach <= target
            is_touched |= book.marks[LEG_BARS + leg] == NOT_REACHED and is_reached
    return is_touched


@compiled_uncounted
def meet_other(
    inputs: OrderInputs,
    p: int,
    at: OpenPosition,
    stop: float,
    met: int,
    part: Part,
    reach: float,
    book: OrderBook,
) -> tuple[Way, bool]:
    """How targets end a position before the other side's order is met; whether that order is."""
    way, other = Way(STILL_OPEN, 0.0, False), 1 - at.side
    if met != WITHIN or is_gap(part.bars, at, stop, part.k):
        return way, met == AT_OPEN
    level = book.figures[LEVELS + other]
    # 4r: its stop order no farther than the stop.
    if find_form(inputs.asks, ORDER_PART, other) == STOP_ORDER:
        return way, level >= stop if at.side == 0 else level <= stop
    if is_stopped(part.bars, at.side, stop, part.k):
        return way, False
    # 5 and 5r: targets as far as its limit order, then that order.
    limit = book.figures[PRICES + other]
    target = reach_targets(inputs.rules, at.side, part.j, reach, limit, book)
    if is_all_out(inputs, p, at.side, book.marks):
        return Way(TARGET, target, False), False
    return way, True


@compiled_uncounted
def find_next_change(
    inputs: OrderInputs, pair: Pair, at: OpenPosition, j: int, book: OrderBook
) -> int:
    """The first bar behind j that changes something without a touch; the end where there is none.

    An order begins to stand or is placed there, or it ends a position.
    """
    asks, marks, delay, bar = inputs.asks, book.marks, find_delay(inputs, pair.p), pair.end
    if at.side == FLAT or inputs.rules.reverses:
        t = next_signal(asks, pair, at.side, max(j - delay, pair.first), marks)
        if t < pair.last:
            bar = min(bar, t + 1 + delay)
        if delay > 0:
            # Orders that rest are counted where they are placed.
            t = next_signal(asks, pair, at.side, max(j + 1, pair.first), marks)
            bar = min(bar, t) if t < pair.last else bar
    if at.side != FLAT:
        bar = min(bar, at.close_bar, at.clock_bar)
        condition = load_value(asks.exits, pair.p, at.side)
        if condition >= 0:
            t = next_set(asks.words, condition, j, bar)
            while t < bar and not asks_exit(inputs.prices.bars, asks, pair.p, at, t):
                t = next_set(asks.words, condition, t + 1, bar)
            bar = min(bar, t + 1)
    return bar


@compiled_uncounted
def watch_bars(
    inputs: OrderInputs, pair: Pair, walk: Walk, j: int, book: OrderBook
) -> tuple[int, Levels]:
    """The next bar of interest behind bar j whatever prices do, and levels that make one earlier.

    A gain counts while no stop follows prices.
    """
    asks, at, marks = inputs.asks, walk.at, book.marks
    until = find_next_change(inputs, pair, at, j, book)
    lower, upper, gain, entry = -np.inf, np.inf, np.nan, 0.0
    for side in range(2):
        if marks[STANDING + side] != NO_ORDER and marks[LAST + side] > j:
            level = book.figures[LEVELS + side]
            if not rests(asks, side):
                until = min(until, marks[LAST + side])
            elif 0.0 < level < np.inf and is_met_from_below(asks, side):
                upper = min(upper, level)
            elif 0.0 < level < np.inf:
                lower = max(lower, level)
    if at.side != FLAT:
        entry, gain = at.entry, asks.break_even[pair.p] * at.risk
        # Once the stop stands at the entry, or beyond it, no gain moves it any more.
        if gain == gain:
            even = find_even_price(inputs, pair.p, at)
            if not (walk.stop < even if at.side == 0 else walk.stop > even):
                gain = np.nan
        if at.side == 0:
            lower = max(lower, walk.stop)
        else:
            upper = min(upper, walk.stop)
        for leg in range(count_targets(inputs.rules, at.side)):
            if marks[LEG_BARS + leg] == NOT_REACHED and at.side == 0:
                upper = min(upper, book.figures[LEG_PRICES + leg])
            elif marks[LEG_BARS + leg] == NOT_REACHED:
                lower = max(lower, book.figures[LEG_PRICES + leg])
    return min(until, pair.end), Levels(lower, upper, max(at.side, 0), entry, gain)


@compiled_uncounted
def next_bar(inputs: OrderInputs, pair: Pair, walk: Walk, j: int, book: OrderBook) -> int:
    """The next bar of interest behind bar j, while no stop follows prices."""
    until, levels = watch_bars(inputs, pair, walk, j, book)
    is_watched = levels.lower > -np.inf or levels.upper < np.inf or levels.gain == levels.gain
    if is_watched and j + 1 < until:
        until = min(until, first_touch(inputs.prices, levels, j + 1, until - 1))
    return until


@compiled_uncounted
def follow_bars(
    inputs: OrderInputs, pair: Pair, walk: Walk, j: int, book: OrderBook
) -> tuple[int, Walk]:
    """The next bar of interest while a stop follows prices, and the walk before it."""
    asks, bars = inputs.asks, inputs.prices.bars
    until, levels = watch_bars(inputs, pair, walk, j, book)
    gains = find_gains(asks, pair.p, walk.at)
    k, is_touched = j + 1, False
    while k < until and not is_touched:
        high, low = load_value(bars, HIGH, k), load_value(bars, LOW, k)
        is_touched = low <= levels.lower or high >= levels.upper
        if not is_touched:
            reach = high if walk.at.side == 0 else low
            walk, levels = follow_bar(inputs, pair.p, walk, levels, gains, reach, k, book.stack)
            k += 1
    return k, walk


@compiled_uncounted
def find_gains(asks: OrderedPopulation, p: int, at: OpenPosition) -> tuple[float, float]:
    """Gains from which on prices move a stop: by a trail, and to the entry."""
    after = load_value(asks.further, 2 * p + at.side, AFTER)
    return after * at.risk, asks.break_even[p] * at.risk


@compiled_uncounted
def follow_bar(
    inputs: OrderInputs,
    p: int,
    walk: Walk,
    levels: Levels,
    gains: tuple[float, float],
    reach: float,
    j: int,
    stack: Floats,
) -> tuple[Walk, Levels]:
    """A walk behind bar j, which touches nothing and reaches so far, and levels that count then."""
    at, stop, mover, best, used, trades = walk
    lower, upper, side, entry, gain = levels
    best = max(best, reach) if at.side == 0 else min(best, reach)
    gone = best - at.entry if at.side == 0 else at.entry - best
    if gone >= gains[0] or gone >= gains[1]:
        stop, mover = follow_prices(inputs, p, at, stop, mover, best, j, stack)
        if at.side == 0:
            lower = max(lower, stop)
        else:
            upper = min(upper, stop)
    return Walk(at, stop, mover, best, used, trades), Levels(lower, upper, side, entry, gain)
