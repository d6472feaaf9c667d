"""Positions of both sides: signals one at a time, exits in the law's order, and the fold.

Where stops stay, an exit is looked for through extremes of blocks; where they move, bar by bar.
What the clock and the window decide is known at the entry: one bar at whose open, and one at whose
close a position ends at the latest.
"""

from typing import NamedTuple

import numpy as np

from engine.compiling.loops import compiled, compiled_part
from engine.cpu.chain import BARS_IN_MARKET, REJECTED, TRADES, fold
from engine.cpu.extremes import Extremes, first_touch
from engine.cpu.types import Floats, Ints, Slots
from engine.cpu.words import Words, is_set, next_set
from engine.ledger import ACCUMULATOR_INDEX, EXIT_PLACES, REASONS
from engine.orders import DAY_NS, FROM_ENTRY, LEVEL, NONE, R_MULTIPLE, SHARE

STOP_GAP, STOP, TARGET, TIME, END, SIGNAL, SESSION = range(len(REASONS))
SHORTS = ACCUMULATOR_INDEX["shorts"]
WINS_SHORT = ACCUMULATOR_INDEX["wins_short"]
SUM_R_SHORT = ACCUMULATOR_INDEX["sum_r_short"]
EXITS = np.array(EXIT_PLACES)

AHEAD = 1024
"""Bars for which conditions and levels are looked at in turn, so that neither runs far ahead."""

NEVER = 2**60
"""In place of a bar."""


class Orders(NamedTuple):
    """What one individual asks of its positions; columns are longs and shorts.

    Args:
        forms: [3, 2] forms of stop, target and trail, of `engine.orders`.
        numbers: [4, 2] what they take where they read no row, and from which gain on the stop
            follows, in units of risk.
        break_even: Gain in units of risk at which the stop moves to the entry; NaN: never.
        max_hold: Bars; 0: no limit.
        delay: Bars by which an entry is later than the bar after its signal.
        exit_long: Words of bars whose close asks longs to leave; [0]: none does.
        exit_short: Likewise.
        session: [T] as `session_exits` gives them; [0]: positions are not left by the clock.
    """

    forms: Ints
    numbers: Floats
    break_even: float
    max_hold: int
    delay: int
    exit_long: Words
    exit_short: Words
    session: Ints


class Charges(NamedTuple):
    """Costs of a side and smallest risk, fractions of a price; what R is worth, of equity."""

    per_side: float
    min_risk: float
    risk_fraction: float


@compiled
def session_exits(local_ns: Ints, minute_ns: int, bar_ns: int) -> Ints:
    """Where the clock ends a position, by its entry bar.

    Args:
        local_ns: [T] when each bar opens by the session's clock, nanoseconds.
        minute_ns: Nanoseconds of a day from which on a bar's close leaves.
        bar_ns: A bar's duration.

    Returns:
        [T] twice the bar, plus 1 where it is left at its open; `NEVER` behind the last bar.
    """
    out = np.empty(local_ns.size, np.int64)
    following = NEVER
    for j in range(local_ns.size - 1, -1, -1):
        if j + 1 < local_ns.size and local_ns[j + 1] // DAY_NS != local_ns[j] // DAY_NS:
            following = 2 * (j + 1) + 1
        if local_ns[j] % DAY_NS + bar_ns >= minute_ns:
            following = 2 * j
        out[j] = following
    return out


@compiled_part
def first_stop(
    prices: Extremes, orders: Orders, side: int, bar: int, entry: float, read: float
) -> float:
    """The first stop of a signal at a bar; `read` is what its row says there."""
    form = orders.forms[0, side]
    if form == LEVEL:
        return read
    away, start = read, entry
    if form == SHARE:
        away = entry * orders.numbers[0, side]
    elif form != FROM_ENTRY:
        start = prices.low[bar] if side == 0 else prices.high[bar]
    return start - away if side == 0 else start + away


@compiled_part
def aim_of(orders: Orders, side: int, entry: float, risk: float, read: float) -> float:
    """The target of a trade; `read` is what its row says at the signal bar."""
    form = orders.forms[1, side]
    number: float = orders.numbers[1, side]
    if form == LEVEL:
        return read
    if form == R_MULTIPLE:
        away = number * risk
    elif form == SHARE:
        away = entry * number
    elif form == FROM_ENTRY:
        away = read
    else:
        away = np.inf
    return entry + away if side == 0 else entry - away


@compiled_part
def is_refused(
    orders: Orders, side: int, entry: float, risk: float, target: float, reach: float, least: float
) -> bool:
    """Whether a signal is rejected; whatever is NaN makes it so."""
    if not risk > entry * least:
        return True
    form = orders.forms[1, side]
    if form in (LEVEL, FROM_ENTRY):
        is_beyond = target > entry if side == 0 else target < entry
        if not is_beyond:
            return True
    return orders.forms[2, side] == FROM_ENTRY and not reach > 0.0


@compiled_part
def latest_close(orders: Orders, entry_bar: int, end: int) -> tuple[int, int]:
    """The bar at whose close a position ends at the latest, and why; time before session."""
    bar, reason = end - 1, END
    if orders.session.size > 0:
        place = orders.session[entry_bar]
        if place % 2 == 0 and place >> 1 <= bar:
            bar, reason = place >> 1, SESSION
    if orders.max_hold > 0 and entry_bar + orders.max_hold - 1 <= bar:
        bar, reason = entry_bar + orders.max_hold - 1, TIME
    return bar, reason


@compiled_part
def latest_open(orders: Orders, entry_bar: int) -> int:
    """The bar of the next session, at whose open a position is left by the clock; or `NEVER`."""
    place: int = orders.session[entry_bar] if orders.session.size > 0 else NEVER
    return place >> 1 if place % 2 == 1 else NEVER


@compiled_part
def hit_at(
    prices: Extremes, side: int, j: int, stop: float, target: float
) -> tuple[int, int, float]:
    """How a position ends in a bar that reaches its stop or its target."""
    opened = prices.open[j]
    if side == 0:
        if prices.low[j] <= stop:
            return (j, STOP_GAP, opened) if opened <= stop else (j, STOP, stop)
    elif prices.high[j] >= stop:
        return (j, STOP_GAP, opened) if opened >= stop else (j, STOP, stop)
    return j, TARGET, target


@compiled_part
def exit_of_resting(
    prices: Extremes,
    asked: Words,
    orders: Orders,
    side: int,
    entry_bar: int,
    stop: float,
    target: float,
    end: int,
) -> tuple[int, int, float]:
    """Bar, reason and price of an exit whose stop stays where it is."""
    close_bar, close_reason = latest_close(orders, entry_bar, end)
    clock_bar = latest_open(orders, entry_bar)
    lower, upper = (stop, target) if side == 0 else (target, stop)
    begin = entry_bar
    while begin <= close_bar:
        last = min(begin + AHEAD - 1, close_bar)
        open_bar, reason = clock_bar, SESSION
        if asked.size > 0:
            asked_at = next_set(asked, begin, last + 1)
            if asked_at <= last and asked_at < open_bar:
                open_bar, reason = asked_at + 1, SIGNAL
        behind = min(open_bar, last + 1)
        found = first_touch(prices, begin, behind - 1, lower, upper)
        if found < behind:
            return hit_at(prices, side, found, stop, target)
        if open_bar <= min(last + 1, close_bar):
            return open_bar, reason, prices.open[open_bar]
        begin = last + 1
    return close_bar, close_reason, prices.close[close_bar]


@compiled_part
def _higher(stop: float, candidate: float) -> float:
    return candidate if candidate > stop else stop


@compiled_part
def exit_of_moving(
    prices: Extremes,
    asked: Words,
    orders: Orders,
    side: int,
    entry_bar: int,
    stop: float,
    risk: float,
    target: float,
    reach: float,
    end: int,
) -> tuple[int, int, float, float]:
    """Bar, reason and price of an exit whose stop moves at closes, and the last stop."""
    close_bar, close_reason = latest_close(orders, entry_bar, end)
    clock_bar = latest_open(orders, entry_bar)
    entry = prices.open[entry_bar]
    follow_from, even_from = orders.numbers[3, side] * risk, orders.break_even * risk
    form, share = orders.forms[2, side], orders.numbers[2, side]
    best = entry
    for j in range(entry_bar, close_bar):
        if j > entry_bar and asked.size > 0 and is_set(asked, j - 1):
            return j, SIGNAL, prices.open[j], stop
        if j == clock_bar:
            return j, SESSION, prices.open[j], stop
        low, high = prices.low[j], prices.high[j]
        if side == 0:
            if low <= stop or high >= target:
                found, reason, price = hit_at(prices, side, j, stop, target)
                return found, reason, price, stop
            # No high lies below the open of its bar.
            best = max(best, high)
            gone = best - entry
            if form != NONE and gone >= follow_from:
                stop = _higher(stop, best - (best * share if form == SHARE else reach))
            if gone >= even_from:
                stop = _higher(stop, entry)
        else:
            if high >= stop or low <= target:
                found, reason, price = hit_at(prices, side, j, stop, target)
                return found, reason, price, stop
            best = min(best, low)
            gone = entry - best
            if form != NONE and gone >= follow_from:
                stop = -_higher(-stop, -(best + (best * share if form == SHARE else reach)))
            if gone >= even_from:
                stop = -_higher(-stop, -entry)
    return last_bar_of(prices, asked, side, entry_bar, close_bar, close_reason, clock_bar, stop,
                       target)  # fmt: skip


@compiled_part
def last_bar_of(
    prices: Extremes,
    asked: Words,
    side: int,
    entry_bar: int,
    close_bar: int,
    close_reason: int,
    clock_bar: int,
    stop: float,
    target: float,
) -> tuple[int, int, float, float]:
    """How a position ends that is open still in the last bar that it may have."""
    opened = prices.open[close_bar]
    if close_bar > entry_bar and asked.size > 0 and is_set(asked, close_bar - 1):
        return close_bar, SIGNAL, opened, stop
    if close_bar == clock_bar:
        return close_bar, SESSION, opened, stop
    lower, upper = (stop, target) if side == 0 else (target, stop)
    if prices.low[close_bar] <= lower or prices.high[close_bar] >= upper:
        found, reason, price = hit_at(prices, side, close_bar, stop, target)
        return found, reason, price, stop
    return close_bar, close_reason, prices.close[close_bar], stop


@compiled_part
def take_marks(
    prices: Extremes,
    orders: Orders,
    charges: Charges,
    marks: Slots,
    reads: Floats,
    end: int,
    out: Floats,
    whole: Ints,
    numbers: Floats,
) -> None:
    """Fold one individual's trades in one window.

    Args:
        prices: The series.
        orders: The individual's.
        charges: Costs and risk rules.
        marks: [S] twice a signal's bar, plus 1 for a short, ascending; each can be entered on.
        reads: [3, S] what the rows of stop, target and trail say there; any number where none is.
        end: One past the last bar of the window.
        out: [A] accumulators, as `engine.cpu.chain.begin` sets them up.
        whole: [K, 5] receives signal bar, entry bar, exit bar, reason and side of each trade; or
            [0, 5] where no ledger is wanted.
        numbers: [K, 6] receives entry, stop, target, exit, r and last stop; or [0, 6].
    """
    moves = orders.break_even == orders.break_even
    trades = flat_long = flat_short = 0
    for s in range(marks.size):
        side, bar = int(marks[s] & 1), int(marks[s] >> 1)
        if bar < (flat_long if side == 0 else flat_short):
            continue
        entry_bar = bar + 1 + orders.delay
        entry = prices.open[entry_bar]
        stop = first_stop(prices, orders, side, bar, entry, reads[0, s])
        risk = entry - stop if side == 0 else stop - entry
        target = aim_of(orders, side, entry, risk, reads[1, s])
        reach = reads[2, s]
        if is_refused(orders, side, entry, risk, target, reach, charges.min_risk):
            out[REJECTED] += 1.0
            continue
        asked = orders.exit_long if side == 0 else orders.exit_short
        if moves or orders.forms[2, side] != NONE:
            exit_bar, reason, price, last_stop = exit_of_moving(
                prices, asked, orders, side, entry_bar, stop, risk, target, reach, end
            )
        else:
            last_stop = stop
            exit_bar, reason, price = exit_of_resting(
                prices, asked, orders, side, entry_bar, stop, target, end
            )
        # By its sign, so that a short at no gain has the zero that the law has.
        gross = price - entry if side == 0 else -(price - entry)
        r = (gross - charges.per_side * (entry + price)) / risk
        fold(out, r, charges.risk_fraction)
        if side == 1:
            out[SHORTS] += 1.0
            out[WINS_SHORT] += r > 0.0
            out[SUM_R_SHORT] += r
        out[BARS_IN_MARKET] += exit_bar - entry_bar + 1
        out[EXITS[reason]] += 1.0
        if whole.shape[0] > 0:
            whole[trades, 0], whole[trades, 1], whole[trades, 2] = bar, entry_bar, exit_bar
            whole[trades, 3], whole[trades, 4] = reason, 1 - 2 * side
            numbers[trades, 0], numbers[trades, 1], numbers[trades, 2] = entry, stop, target
            numbers[trades, 3], numbers[trades, 4], numbers[trades, 5] = price, r, last_stop
        trades += 1
        # Left at the open of a bar, as was known a bar before: the other side may signal there.
        earlier = 1 if reason == SIGNAL else 0
        flat_long = exit_bar - (earlier if side == 1 else 0)
        flat_short = exit_bar - (earlier if side == 0 else 0)
    out[TRADES] += trades
