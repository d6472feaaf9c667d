"""Positions of a whole population: every individual in every window of one series, on all threads.

Conditions are words of bars and rows lie side by side; individuals name their rows, so
that a row of several stands there once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from engine.accounts.cpu.money import TRADES, Purse, begin
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, COUNTS, REASONS, Ledger
from engine.accounts.results import Results
from engine.accounts.stake import SHARE_OF_R
from engine.conditions.cpu.codes import (
    AskedWords,
    decide_turn,
    make_turn_room,
    point_to_words,
)
from engine.positions.cpu.both_sides import (
    Charges,
    CodedPopulation,
    note_coarse,
    note_rejected,
    take_positions,
)
from engine.positions.cpu.exits import Extremes
from engine.positions.cpu.order_exits import OrderLists
from engine.positions.cpu.order_walk import take_orders
from engine.positions.cpu.orders import (
    FIGURES,
    MARKS,
    ROOM,
    OrderBook,
    OrderInputs,
    OrderRules,
    Pair,
)
from engine.runtime.compiling.loops import compiled_part, compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.bitset import ONE, is_set, next_alone
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import (
    count_bits,
    expect_indirect_value,
    load_value,
    lowest_place,
)
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed

COUNTED = [ACCUMULATOR_INDEX[name] for name in COUNTS]
"""Accumulators that a ledger has as numbers."""

EXIT_BAR, SIDE, R = 2, 4, 4
"""Where loops write them, among whole numbers and among others."""

NOWHERE: Ints = np.empty((0, 0), np.int64)
"""Places of first trades where none are listed."""

Rows = TypeVar("Rows", Ints, Floats)

Work = Callable[[int, Ints, Ints], tuple[Ints, Floats]]
"""Folds on a thread of some number, and gives the trades that it listed there. It notes the place
of each ledger's first one among these in an array [P, W], and its own number in one [P]."""


def fold_alone(work: Work, individuals: int, threads: Threads) -> None:
    """Fold on all threads, and list no trades."""
    no_threads = np.empty(0, np.int64)

    def compute(thread: int) -> None:
        work(thread, NOWHERE, no_threads)

    threads.run(compute, individuals)


def list_trades(work: Work, out: Floats, threads: Threads) -> Listed:
    """Fold into out [P, W, A] on all threads, with the trades of all ledgers."""
    firsts, thread_of = np.zeros(out.shape[:2], np.int64), np.zeros(len(out), np.int64)
    by_thread: dict[int, tuple[Ints, Floats]] = {}

    def compute(thread: int) -> None:
        by_thread[thread] = work(thread, firsts, thread_of)

    threads.run(compute, len(out))
    parts = [by_thread[thread] for thread in sorted(by_thread)]
    lengths = np.array([len(whole) for whole, _ in parts])
    firsts += (lengths.cumsum() - lengths)[thread_of][:, None]
    whole, numbers = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Listed(firsts, out[:, :, TRADES].astype(np.int64), whole, numbers)


def list_totals(folded: Floats) -> Ints:
    """Totals [n, P, W] as `Ledger.cut` has them, given accumulators [P, W, A]."""
    return np.moveaxis(folded[:, :, COUNTED].astype(np.int64), 2, 0)


def extract_results(listed: Listed, times: Ints) -> Results:
    """Results of trades on a series with bars that open at times [T]."""
    r = np.ascontiguousarray(listed.numbers[:, R])
    side = listed.whole[:, SIDE].astype(np.int8)
    return Results(listed.firsts, listed.counts, times[listed.whole[:, EXIT_BAR]], r, side)


@compiled_part
def with_room(rows: Rows, used: int, more: int) -> Rows:
    """Rows [n, m], some of them used, with room for more: the same, or a longer copy."""
    if used + more <= rows.shape[0]:
        return rows
    longer = np.empty((max(2 * rows.shape[0], used + more), rows.shape[1]), rows.dtype)
    # Compiling a slice that is assigned takes seconds: it could raise, with text.
    for i in range(used):
        for column in range(rows.shape[1]):
            longer[i, column] = rows[i, column]
    return longer


WHOLE, NUMBERS = 6, 6
"""Whole numbers and figures of a trade that `take_positions` writes."""

ORDER_NUMBERS = 7
"""Figures of a trade that `take_orders` writes, before its targets."""

FEW = 32
"""One signal in so many bars, or fewer: their rows are fetched before they are read."""

COARSE_COLUMNS = 2
"""Columns behind it if each signal is taken, as `note_coarse` writes them."""


class PlainInputs(NamedTuple):
    """Inputs of a walk without orders that all pairs of a series share."""

    prices: Extremes
    asks: CodedPopulation
    charges: Charges


class Folding(NamedTuple):
    """Windows of a call, and what its threads write."""

    windows: Ints  # [W, 2] start and end of each window
    shared: Ints  # [1] of all threads, counts the individuals that were begun
    out: Floats  # [P, W, A] receives accumulators
    # [P, W] receives the place of each ledger's first trade among those of its thread; [0, 0] where
    # no ledgers are wanted.
    firsts: Ints
    thread_of: Ints  # [P] receives who took each individual; or [0]


def begin_population(
    inputs: PlainInputs | OrderInputs, asked: AskedWords, windows: Ints
) -> tuple[Work, Floats]:
    """Work of a thread in windows [W, 2] of one series, and accumulators [P, W, A] that it makes.

    It decides the conditions of an individual, and walks by them. All threads share the count of
    individuals that were begun.
    """
    fold: Any = fold_each_order
    if isinstance(inputs, PlainInputs):
        fold, lists_all, legs, figures = fold_each, inputs.charges.lists_all, 0, NUMBERS
    else:
        lists_all, legs = inputs.rules.lists_all, inputs.rules.legs
        figures = ORDER_NUMBERS + legs
    width = WHOLE + legs + COARSE_COLUMNS * lists_all
    out = np.full((len(inputs.asks.delay), len(windows), len(ACCUMULATORS)), np.nan)
    shared = np.zeros(1, np.int64)

    def work(thread: int, firsts: Ints, thread_of: Ints) -> tuple[Ints, Floats]:
        room = np.empty((0, width), np.int64), np.empty((0, figures))
        mine: Any = inputs.asks._replace(words=inputs.asks.words[thread])
        folding = Folding(windows, shared, out, firsts, thread_of)
        made: tuple[Ints, Floats] = fold(inputs._replace(asks=mine), asked, folding, thread, *room)
        return made

    return work, out


def collect_trades(
    listed: Listed, legs: int = 0, *, has_scale: bool = False
) -> tuple[Ledger, Ints]:
    """The trades of all ledgers, one after the other; coarse bars of each signal [K, 2].

    The latter exist if each signal is taken, as `note_coarse` writes them. `legs` are targets of a
    ladder, `has_scale`: sizes are measured by a row.
    """
    whole, numbers = listed.in_order()
    signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(whole[:, :WHOLE].T)
    entry, stop, target, leave, r, last_stop = np.ascontiguousarray(numbers[:, :NUMBERS].T)
    behind = WHOLE + legs
    trades = Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held, whole[:, WHOLE:behind], numbers[:, ORDER_NUMBERS:],
        numbers[:, NUMBERS : NUMBERS + has_scale],
    )  # fmt: skip
    return trades, whole[:, behind:]


@compiled_unlocked
def fold_each(
    inputs: PlainInputs,
    asked: AskedWords,
    folding: Folding,
    thread: int,
    whole: Ints,
    numbers: Floats,
) -> tuple[Ints, Floats]:
    """Take individuals one after another, while other threads take others.

    Args:
        inputs: The series and all individuals, with room of this thread for words.
        asked: How these are decided.
        folding: Windows, and what is written.
        thread: Number of this one.
        whole: [n, 6] room for trades, as `take_positions` writes them.
        numbers: [n, 6] likewise.

    Returns:
        What was written, in as much room as it took.
    """
    prices, population, charges = inputs
    windows, shared, out, firsts, thread_of = folding
    keeps = firsts.shape[0] > 0
    # No literal: its callees would be compiled once more for it.
    used: int = np.int64(0)  # type: ignore[assignment]
    # No formula needs more places than it has steps.
    stack = np.empty(len(population.steps) + 1)
    room, begun = make_turn_room(asked, population.words), take(shared, 0) * asked.turn
    while begun < asked.order.size:
        ended = min(begun + asked.turn, asked.order.size)
        decide_turn(asked, begun, ended, room, population.words)
        for place in range(begun, ended):
            p = asked.order[place]
            point_to_words(population.entries, p, room.rows, place - begun)
            point_to_words(population.exits, p, room.rows, place - begun)
            expect_rows(population, p)
            for w in range(windows.shape[0]):
                first = max(windows[w, 0], population.warm_up[p])
                begin(out[p, w])
                if keeps:
                    firsts[p, w] = used
                    more = windows[w, 1] - windows[w, 0]
                    whole = with_room(whole, used, more)
                    numbers = with_room(numbers, used, more)
                take_positions(prices, population, charges, p, first, windows[w, 1], out[p, w],
                               used, whole, numbers, stack)  # fmt: skip
                if keeps:
                    used += int(out[p, w, TRADES])
            if keeps:
                thread_of[p] = thread
        begun = take(shared, 0) * asked.turn
    return whole[:used], numbers[:used]


@compiled_uncounted
def expect_rows(population: CodedPopulation, p: int) -> None:
    """Have what formulas read at an individual's signals on its way: no walk waits for each."""
    words, rows = population.words, population.rows
    for side in range(2):
        entry = population.entries[p, side]
        count = 0
        if entry >= 0:
            for i in range(words.shape[1]):
                count += count_bits(load_value(words, entry, i))
        if 0 < count * FEW < words.shape[1] * 64:
            for i in range(words.shape[1]):
                word = load_value(words, entry, i)
                while word != 0:
                    bar = i * 64 + lowest_place(word)
                    word &= word - ONE
                    for leaf in range(rows.shape[1]):
                        if load_value(rows, p, leaf) != 0:
                            expect_indirect_value(rows, p, leaf, bar)


REJECTED, COARSE = ACCUMULATOR_INDEX["rejected"], ACCUMULATOR_INDEX["coarse"]
SIGNAL = REASONS.index("signal")


@compiled_unlocked
def fold_each_order(
    inputs: OrderInputs,
    asked: AskedWords,
    folding: Folding,
    thread: int,
    whole: Ints,
    numbers: Floats,
) -> tuple[Ints, Floats]:
    """Take individuals as `fold_each` does.

    Where each signal is taken it is the only one of a walk, and a row is listed for it. `whole`
    [n, 6 + L] and `numbers` [n, 7 + L] are as `take_orders` writes them, and `whole` two more where
    each signal is taken, as `note_coarse` does.
    """
    prices, population, rules, purse = inputs
    windows, shared, out, firsts, thread_of = folding
    keeps = firsts.shape[0] > 0
    # No literal: its callees would be compiled once more for it.
    used: int = np.int64(0)  # type: ignore[assignment]
    # No formula needs more places than it has steps.
    stack = np.empty(len(population.steps) + 1)
    book = OrderBook(np.zeros(MARKS, np.int64), np.zeros(FIGURES), np.zeros(ROOM), stack)
    # The same with numbers that a compiler knows: it leaves ruled-out parts out of a loop.
    plain_rules = OrderRules(
        rules.per_side, rules.min_risk, rules.unit_fee, rules.tick_over, rules.tick_under,
        rules.even_leg, rules.even_form, rules.names_stops, False, rules.legs, rules.targets,
        rules.slippages, rules.lists_all, True,
    )  # fmt: skip
    share = Purse(SHARE_OF_R, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, purse.risk_fraction)
    plain = OrderInputs(prices, population, plain_rules, share)
    room, begun = make_turn_room(asked, population.words), take(shared, 0) * asked.turn
    while begun < asked.order.size:
        ended = min(begun + asked.turn, asked.order.size)
        decide_turn(asked, begun, ended, room, population.words)
        for place in range(begun, ended):
            p = asked.order[place]
            point_to_words(population.entries, p, room.rows, place - begun)
            point_to_words(population.exits, p, room.rows, place - begun)
            point_to_words(population.cancels, p, room.rows, place - begun)
            for w in range(windows.shape[0]):
                first = max(windows[w, 0], population.warm_up[p])
                begin(out[p, w])
                if keeps:
                    firsts[p, w] = used
                    more = windows[w, 1] - windows[w, 0]
                    whole = with_room(whole, used, more)
                    numbers = with_room(numbers, used, more)
                end = windows[w, 1]
                last = end - 1 - population.delay[p]
                longs, shorts = population.entries[p, 0], population.entries[p, 1]
                bar, until, over, count = first, last, end, 0
                row, coarse, is_last = used, 0.0, False
                # Each signal alone, or all of them.
                if rules.lists_all:
                    bar = next_alone(population.words, longs, shorts, first, last)
                while bar < last:
                    if rules.lists_all:
                        begin(out[p, w])
                        until = bar + 1
                    pair, lists = (
                        Pair(p, bar, until, over),
                        OrderLists(whole, numbers, row, len(whole)),
                    )
                    # Each call of it is compiled for itself.
                    if rules.is_plain:
                        take_orders(plain, pair, out[p, w], lists, book)
                    else:
                        take_orders(inputs, pair, out[p, w], lists, book)
                    if not rules.lists_all:
                        break
                    if row > used:
                        is_last = coarse > out[p, w, COARSE]
                    else:
                        coarse, is_last = out[p, w, COARSE], False
                        if out[p, w, REJECTED] > 0.0:
                            side = 1 if longs >= 0 and is_set(population.words, longs, bar) else -1
                            note_rejected(bar, bar + 1 + population.delay[p], side, whole, used)
                        elif coarse > 0.0 and whole[used, 3] == SIGNAL:
                            # The same until the bar that it leaves at the open.
                            over, row = whole[used, 2], used + 1
                            continue
                    note_coarse(coarse, is_last, whole, used)
                    used, count = used + 1, count + 1
                    over, row = end, used
                    bar = next_alone(population.words, longs, shorts, bar + 1, last)
                if rules.lists_all:
                    out[p, w, TRADES] = count
                elif keeps:
                    used += int(out[p, w, TRADES])
            if keeps:
                thread_of[p] = thread
        begun = take(shared, 0) * asked.turn
    return whole[:used], numbers[:used]
