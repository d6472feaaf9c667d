"""Positions of both sides: signals one at a time, exits in the law's order, and the fold."""

from typing import NamedTuple, Protocol

import numpy as np

from engine.accounts.cpu.money import BARS_IN_MARKET, REJECTED, SUM_R_SHORT, TRADES, fold
from engine.accounts.ledger import ACCUMULATOR_INDEX, EXIT_PLACES
from engine.conditions.cpu.expression_vm import value_of_formula
from engine.positions.cpu.exits import (
    COARSE,
    END,
    LOW,
    OPEN,
    SESSION,
    SIGNAL,
    TIME,
    Extremes,
    Follow,
    Position,
    bars_held,
    count_coarse,
    find_exit,
    is_at_open,
    is_hit,
    read_finer_exit,
)
from engine.positions.exit_spec import DAY_NS, FROM_ENTRY, LEVEL, NONE, R_MULTIPLE, SHARE
from engine.runtime.compiling.loops import compiled_loop, compiled_uncounted
from engine.runtime.cpu.bitset import NEVER, Words, is_set, next_alone
from engine.runtime.cpu.simd8 import load_value
from engine.runtime.cpu.types import NO_FINER, NO_FINER_OF, Floats, Ints

SHORTS = ACCUMULATOR_INDEX["shorts"]
WINS_SHORT = ACCUMULATOR_INDEX["wins_short"]
EXITS = np.array(EXIT_PLACES)

NO_TRADE = -1
"""In place of a reason where a signal is rejected."""

STOPS, TARGETS, TRAILS, GAINS = range(4)
"""Columns of an individual's stop, target and trailing stop."""


class CodedPopulation(NamedTuple):
    """Signals and exits of P individuals on one series; last axes of two are long, short."""

    words: Words  # [C, N] conditions, 64 bars a word; bits behind the last bar are 0
    steps: Ints  # [S, 2] formulas that stops, targets and trails read, see `conditions`
    spans: Ints  # [6, 2] first step of each and one past its last; equal where nothing is read
    rows: Ints  # [P, L] addresses of the rows [T] that the formulas read; 0 for a number
    leaves: Floats  # [P, L] these numbers
    sessions: Ints  # [Q, T] as `session_exits` gives them
    forms: Ints  # [3, 2] forms of stop, target and trail, of `engine.positions.exit_spec`
    entries: Ints  # [P, 2] condition of each side's entry; -1: the side never enters
    exits: Ints  # [P, 2] condition of each side's exit; -1: none
    # [2 P, 4], longs and shorts of each in turn: what stop, target and trail take where they
    # read no row, and from which gain on the stop follows.
    numbers: Floats
    break_even: Floats  # [P] NaN: never
    max_hold: Ints  # [P] int64, bars; 0: no limit
    delay: Ints  # [P] int64, bars
    warm_up: Ints  # [P] int64, first bar that may signal
    session_of: Ints  # [P] int64, place in `sessions`; -1: not left by the clock
    finer: Floats = NO_FINER  # [4, K + 16] finer bars, as `Extremes.bars`
    # [2, T] first of those of each bar, and one past its last; [2, 0] without any.
    finer_of: Ints = NO_FINER_OF


class AskedFormulas(Protocol):
    """Inputs of individuals, as `CodedPopulation` has them."""

    @property
    def steps(self) -> Ints:
        """Formulas."""

    @property
    def spans(self) -> Ints:
        """First step of each and one past its last."""

    @property
    def rows(self) -> Ints:
        """Addresses of rows."""

    @property
    def leaves(self) -> Floats:
        """Numbers in their place."""


class Charges(NamedTuple):
    """Costs of a side and smallest risk, fractions of a price; what R is worth, of equity."""

    per_side: float
    min_risk: float
    risk_fraction: float
    lists_all: bool = False  # whether each signal is taken, whatever trades were before it


@compiled_loop
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


@compiled_uncounted
def first_stop(
    form: int, number: float, side: int, extreme: float, entry: float, read: float
) -> float:
    """The first stop of a signal: of its bar the low or high, and the value of its row there."""
    away, start = read, entry
    if form == SHARE:
        away = entry * number
    elif form != FROM_ENTRY:
        start = extreme
    stop = start - away if side == 0 else start + away
    return read if form == LEVEL else stop


@compiled_uncounted
def compute_target(
    form: int, number: float, side: int, entry: float, risk: float, read: float
) -> float:
    """The target of a trade; `read` is the value of its row at the signal bar."""
    if form == R_MULTIPLE:
        away = number * risk
    elif form == SHARE:
        away = entry * number
    elif form == FROM_ENTRY:
        away = read
    else:
        away = np.inf
    target = entry + away if side == 0 else entry - away
    return read if form == LEVEL else target


@compiled_uncounted
def is_beyond(form: int, side: int, entry: float, target: float) -> bool:
    """True if a target by a row lies on the side of a gain; NaN does not. Others always do."""
    lies_there = target > entry if side == 0 else target < entry
    return lies_there or form not in (LEVEL, FROM_ENTRY)


@compiled_uncounted
def latest_close(place: int, max_hold: int, entry_bar: int, end: int) -> tuple[int, int]:
    """The bar with the latest close of a position, and the reason; time before session.

    `place` is the value of `session_exits` at the entry bar, `NEVER` where there is no session.
    """
    bar, reason = end - 1, END
    if place % 2 == 0 and place >> 1 <= bar:
        bar, reason = place >> 1, SESSION
    if max_hold > 0 and entry_bar + max_hold - 1 <= bar:
        bar, reason = entry_bar + max_hold - 1, TIME
    return bar, reason


@compiled_uncounted
def take_positions(
    prices: Extremes,
    asks: CodedPopulation,
    charges: Charges,
    p: int,
    first: int,
    end: int,
    out: Floats,
    listed: int,
    whole: Ints,
    numbers: Floats,
    stack: Floats,
) -> None:
    """Fold one individual's trades in one window.

    If each signal is taken a row is listed for it, with reason -1 for a rejected one.

    Args:
        prices: The series.
        asks: All individuals.
        charges: Costs and risk rules.
        p: Which individual.
        first: First bar whose signal counts.
        end: One past the last bar of the window.
        out: [A] accumulators, as `engine.accounts.cpu.money.begin` sets them up.
        listed: Place of its first trade among all that are listed.
        whole: [K, 6] receives signal bar, entry bar, exit bar, reason, side and bars held of each
            trade; or [0, 6] where no ledger is wanted. Two more, as `note_coarse` writes them,
            where each signal is taken.
        numbers: [K, 6] receives entry, stop, target, exit, r and last stop; or [0, 6].
        stack: [S] of this thread, room for formulas.
    """
    longs, shorts = asks.entries[p, 0], asks.entries[p, 1]
    behind, trades = end - 1 - asks.delay[p], 0
    flat_long = flat_short = first
    has_finer, counted = asks.finer_of.shape[1] > 0, -1
    bar = next_alone(asks.words, longs, shorts, first, behind)
    while bar < behind:
        side = int(shorts >= 0 and is_set(asks.words, max(shorts, 0), bar))
        if bar >= (flat_short if side else flat_long):
            at, risk, reach = open_position(prices, asks, charges, p, side, bar, end, stack)
            before = out[COARSE]
            if charges.lists_all:
                counted = -1
            if has_finer:
                # Its order at the market touches the entry bar.
                counted = count_coarse(asks.finer_of, at.entry_bar, counted, out)
            if risk > 0.0:
                follow = build_follow(asks, p, side, risk, reach)
                exit_bar, reason, price, last_stop = find_exit(prices, asks.words, at, follow)
                opens = is_at_open(at, exit_bar, reason)
                if has_finer:
                    if is_hit(prices, at, exit_bar, last_stop):
                        counted = count_coarse(asks.finer_of, exit_bar, counted, out)
                    reason, price, opens = read_finer_exit(
                        asks.finer, asks.finer_of, at, last_stop, exit_bar, reason, price, opens
                    )
                # By its sign, so that a short at no gain has the zero that the law has.
                gross = price - at.entry if side == 0 else -(price - at.entry)
                r = (gross - charges.per_side * (at.entry + price)) / risk
                fold(out, r, charges.risk_fraction)
                out[SHORTS] += side
                out[WINS_SHORT] += side * (r > 0.0)
                if side:
                    out[SUM_R_SHORT] += r
                held = bars_held(at.entry_bar, exit_bar, opens)
                out[BARS_IN_MARKET] += held
                out[EXITS[reason]] += 1.0
                if whole.shape[0] > 0:
                    k = listed + trades
                    whole[k, 0], whole[k, 1], whole[k, 2] = bar, at.entry_bar, exit_bar
                    whole[k, 3], whole[k, 4], whole[k, 5] = reason, 1 - 2 * side, held
                    numbers[k, 0], numbers[k, 1], numbers[k, 2] = at.entry, at.stop, at.target
                    numbers[k, 3], numbers[k, 4], numbers[k, 5] = price, r, last_stop
                trades += 1
                # Left at the open of a bar, as was known a bar before: the other side may signal
                # there.
                earlier = int(reason == SIGNAL)
                flat_long, flat_short = exit_bar - earlier * side, exit_bar - earlier * (1 - side)
                if charges.lists_all:
                    flat_long = flat_short = bar + 1
                    note_coarse(
                        out[COARSE] - before, counted == exit_bar, whole, listed + trades - 1
                    )
            else:
                out[REJECTED] += 1.0
                if charges.lists_all:
                    note_rejected(bar, at.entry_bar, 1 - 2 * side, whole, listed + trades)
                    note_coarse(out[COARSE] - before, False, whole, listed + trades)
                    trades += 1
        bar = next_alone(
            asks.words, longs, shorts, max(min(flat_long, flat_short), bar + 1), behind
        )
    out[TRADES] += trades


@compiled_uncounted
def note_rejected(bar: int, entry_bar: int, side: int, whole: Ints, k: int) -> None:
    """List a signal without a trade: it would be rejected."""
    whole[k, 0], whole[k, 1], whole[k, 2] = bar, entry_bar, bar
    whole[k, 3], whole[k, 4], whole[k, 5] = NO_TRADE, side, 0


@compiled_uncounted
def note_coarse(count: float, is_last: bool, whole: Ints, k: int) -> None:
    """List how many bars a signal touches that no finer ones make up, and if its exit's is one."""
    last = whole.shape[1] - 1
    whole[k, last - 1], whole[k, last] = int(count), int(is_last)


@compiled_uncounted
def open_position(
    prices: Extremes,
    asks: CodedPopulation,
    charges: Charges,
    p: int,
    side: int,
    bar: int,
    end: int,
    stack: Floats,
) -> tuple[Position, float, float]:
    """The position of a signal, its risk, 0 if rejected, and the value of its trail."""
    stop_form, aim_form = load_value(asks.forms, STOPS, side), load_value(asks.forms, TARGETS, side)
    entry_bar = bar + 1 + asks.delay[p]
    entry = load_value(prices.bars, OPEN, entry_bar)
    extreme = load_value(prices.bars, LOW + side, bar)
    stop = first_stop(stop_form, load_value(asks.numbers, 2 * p + side, STOPS), side, extreme,
                      entry, read_formula(asks, p, STOPS, side, bar, stack))  # fmt: skip
    risk = entry - stop if side == 0 else stop - entry
    target = compute_target(aim_form, load_value(asks.numbers, 2 * p + side, TARGETS), side, entry,
                            risk, read_formula(asks, p, TARGETS, side, bar, stack))  # fmt: skip
    reach = read_formula(asks, p, TRAILS, side, bar, stack)
    is_taken = risk > entry * charges.min_risk and is_beyond(aim_form, side, entry, target)
    if load_value(asks.forms, TRAILS, side) == FROM_ENTRY and not reach > 0.0:
        is_taken = False
    session = asks.session_of[p]
    session_end = load_value(asks.sessions, session, entry_bar) if session >= 0 else NEVER
    close_bar, close_reason = latest_close(session_end, asks.max_hold[p], entry_bar, end)
    clock_bar = session_end >> 1 if session_end % 2 == 1 else NEVER
    exit_condition = load_value(asks.exits, p, side)
    at = Position(
        side, entry_bar, entry, stop, target, exit_condition, clock_bar, close_bar, close_reason
    )
    return at, risk if is_taken else 0.0, reach


@compiled_uncounted
def read_formula(
    asks: AskedFormulas, p: int, part: int, side: int, bar: int, stack: Floats
) -> float:
    """Value of a stop, target or trailing stop at a bar; 0 without a row to read."""
    formula = 2 * part + side
    begin, end = load_value(asks.spans, formula, 0), load_value(asks.spans, formula, 1)
    return value_of_formula(asks.steps, begin, end, asks.rows, asks.leaves, p, bar, stack)


@compiled_uncounted
def build_follow(asks: CodedPopulation, p: int, side: int, risk: float, reach: float) -> Follow:
    """How the stop of a position moves."""
    form = load_value(asks.forms, TRAILS, side)
    if form == SHARE:
        reach = load_value(asks.numbers, 2 * p + side, TRAILS)
    gain = load_value(asks.numbers, 2 * p + side, GAINS) * risk if form != NONE else np.nan
    return Follow(form, reach, gain, asks.break_even[p] * risk)
