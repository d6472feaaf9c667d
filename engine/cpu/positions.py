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


class Position(NamedTuple):
    """One open position, numbers alone, so that to hand it on costs nothing.

    Args:
        side: 0 for a long, 1 for a short.
        entry_bar: Of its entry.
        entry: Price.
        stop: First stop.
        target: May be infinite.
        clock_bar: Bar at whose open the clock ends it, in another session; or `NEVER`.
        close_bar: Bar at whose close it ends at the latest.
        close_reason: Why.
    """

    side: int
    entry_bar: int
    entry: float
    stop: float
    target: float
    clock_bar: int
    close_bar: int
    close_reason: int


class Follow(NamedTuple):
    """How a stop moves.

    Args:
        form: Of `engine.orders`.
        reach: Distance or share at which it follows.
        follow_gain: Gain from which on it does, price.
        even_gain: Gain at which it moves to the entry; NaN: never.
    """

    form: int
    reach: float
    follow_gain: float
    even_gain: float


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
    form: int, number: float, side: int, low: float, high: float, entry: float, read: float
) -> float:
    """The first stop of a signal; low and high are its bar's, `read` what its row says there."""
    if form == LEVEL:
        return read
    away, start = read, entry
    if form == SHARE:
        away = entry * number
    elif form != FROM_ENTRY:
        start = low if side == 0 else high
    return start - away if side == 0 else start + away


@compiled_part
def aim_of(form: int, number: float, side: int, entry: float, risk: float, read: float) -> float:
    """The target of a trade; `read` is what its row says at the signal bar."""
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
def is_beyond(form: int, side: int, entry: float, target: float) -> bool:
    """Whether a target that was read lies where a gain is; NaN does not. Others always do."""
    if form in (LEVEL, FROM_ENTRY):
        return target > entry if side == 0 else target < entry
    return True


@compiled_part
def latest_close(place: int, max_hold: int, entry_bar: int, end: int) -> tuple[int, int]:
    """The bar at whose close a position ends at the latest, and why; time before session.

    `place` is what `session_exits` says of the entry bar, `NEVER` where there is no session.
    """
    bar, reason = end - 1, END
    if place % 2 == 0 and place >> 1 <= bar:
        bar, reason = place >> 1, SESSION
    if max_hold > 0 and entry_bar + max_hold - 1 <= bar:
        bar, reason = entry_bar + max_hold - 1, TIME
    return bar, reason


@compiled_part
def hit_at(prices: Extremes, at: Position, j: int, stop: float) -> tuple[int, int, float]:
    """How a position ends in a bar that reaches its stop or its target."""
    opened = prices.open[j]
    is_stop = prices.low[j] <= stop if at.side == 0 else prices.high[j] >= stop
    is_gap = opened <= stop if at.side == 0 else opened >= stop
    reason = STOP_GAP if is_gap else (STOP if is_stop else TARGET)
    return j, reason, opened if is_gap else (stop if is_stop else at.target)


@compiled_part
def exit_of_resting(prices: Extremes, asked: Words, at: Position) -> tuple[int, int, float]:
    """Bar, reason and price of an exit whose stop stays where it is."""
    lower, upper = (at.stop, at.target) if at.side == 0 else (at.target, at.stop)
    bar, reason, price = at.close_bar, at.close_reason, prices.close[at.close_bar]
    begin = at.entry_bar
    # One way out of each loop and function: at others the compiler counts references to arrays.
    while begin <= at.close_bar:
        last = min(begin + AHEAD - 1, at.close_bar)
        open_bar, open_reason = at.clock_bar, SESSION
        if asked.size > 0:
            asked_at = next_set(asked, begin, last + 1)
            if asked_at <= last and asked_at < open_bar:
                open_bar, open_reason = asked_at + 1, SIGNAL
        behind = min(open_bar, last + 1)
        found = first_touch(prices, begin, behind - 1, lower, upper)
        begin = last + 1
        if found < behind:
            bar, reason, price = hit_at(prices, at, found, at.stop)
            begin = NEVER
        elif open_bar <= min(last + 1, at.close_bar):
            bar, reason, price = open_bar, open_reason, prices.open[open_bar]
            begin = NEVER
    return bar, reason, price


@compiled_part
def exit_of_moving(
    prices: Extremes, asked: Words, at: Position, follow: Follow
) -> tuple[int, int, float, float]:
    """Bar, reason and price of an exit whose stop moves at closes, and the last stop."""
    stop = at.stop
    # No high lies below the open of its bar, and no low above it.
    best = at.entry
    bar, reason, price = at.close_bar, at.close_reason, prices.close[at.close_bar]
    # One way out, as above.
    j = at.entry_bar
    while j <= at.close_bar:
        lower, upper = (stop, at.target) if at.side == 0 else (at.target, stop)
        if j > at.entry_bar and asked.size > 0 and is_set(asked, j - 1):
            bar, reason, price = j, SIGNAL, prices.open[j]
            j = NEVER
        elif j == at.clock_bar:
            bar, reason, price = j, SESSION, prices.open[j]
            j = NEVER
        elif prices.low[j] <= lower or prices.high[j] >= upper:
            bar, reason, price = hit_at(prices, at, j, stop)
            j = NEVER
        else:
            if j < at.close_bar:
                best = max(best, prices.high[j]) if at.side == 0 else min(best, prices.low[j])
                stop = moved(at, follow, stop, best)
            j += 1
    return bar, reason, price, stop


@compiled_part
def moved(at: Position, follow: Follow, stop: float, best: float) -> float:
    """The stop after a close at which `best` was the best price so far."""
    away = best * follow.reach if follow.form == SHARE else follow.reach
    if at.side == 0:
        gone = best - at.entry
        if follow.form != NONE and gone >= follow.follow_gain and best - away > stop:
            stop = best - away
        return at.entry if gone >= follow.even_gain and at.entry > stop else stop
    gone = at.entry - best
    if follow.form != NONE and gone >= follow.follow_gain and best + away < stop:
        stop = best + away
    return at.entry if gone >= follow.even_gain and at.entry < stop else stop


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
    forms, given, session = orders.forms, orders.numbers, orders.session
    exit_long, exit_short = orders.exit_long, orders.exit_short
    moves_to_entry = orders.break_even == orders.break_even
    trades = flat_long = flat_short = 0
    for s in range(marks.size):
        side, bar = int(marks[s] & 1), int(marks[s] >> 1)
        if bar < (flat_long if side == 0 else flat_short):
            continue
        entry_bar = bar + 1 + orders.delay
        entry = prices.open[entry_bar]
        stop = first_stop(forms[0, side], given[0, side], side, prices.low[bar], prices.high[bar],
                          entry, reads[0, s])  # fmt: skip
        risk = entry - stop if side == 0 else stop - entry
        target = aim_of(forms[1, side], given[1, side], side, entry, risk, reads[1, s])
        reach = reads[2, s]
        is_taken = risk > entry * charges.min_risk and is_beyond(
            forms[1, side], side, entry, target
        )
        if not is_taken or (forms[2, side] == FROM_ENTRY and not reach > 0.0):
            out[REJECTED] += 1.0
            continue
        place = session[entry_bar] if session.size > 0 else NEVER
        close_bar, close_reason = latest_close(place, orders.max_hold, entry_bar, end)
        clock_bar = place >> 1 if place % 2 == 1 else NEVER
        at = Position(side, entry_bar, entry, stop, target, clock_bar, close_bar, close_reason)
        form, last_stop = forms[2, side], stop
        if form != NONE or moves_to_entry:
            reach = given[2, side] if form == SHARE else reach
            follow = Follow(form, reach, given[3, side] * risk, orders.break_even * risk)
            if side == 0:
                exit_bar, reason, price, last_stop = exit_of_moving(prices, exit_long, at, follow)
            else:
                exit_bar, reason, price, last_stop = exit_of_moving(prices, exit_short, at, follow)
        elif side == 0:
            exit_bar, reason, price = exit_of_resting(prices, exit_long, at)
        else:
            exit_bar, reason, price = exit_of_resting(prices, exit_short, at)
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
