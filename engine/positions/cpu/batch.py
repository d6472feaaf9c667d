"""Positions of a whole population: every individual in every window of one series, on all threads.

Conditions are words of bars and rows lie side by side; individuals name their rows, so
that a row of several stands there once.
"""

import numpy as np

from engine.accounts.cpu.folding import TRADES, begin
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.conditions.cpu.codes import (
    AskedWords,
    decide_turn,
    make_turn_room,
    point_to_words,
)
from engine.positions.cpu.block_minmax import Extremes
from engine.positions.cpu.both_sides import Charges, CodedPopulation, take_positions
from engine.positions.cpu.listing import Work, with_room
from engine.runtime.compiling.loops import compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.bitset import ONE
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import (
    count_bits,
    expect_indirect_value,
    load_value,
    lowest_place,
)
from engine.runtime.cpu.types import Floats, Ints, Listed

WHOLE, NUMBERS = 6, 6
"""Whole numbers and figures of a trade that `take_positions` writes."""

FEW = 32
"""One signal in so many bars, or fewer: their rows are fetched before they are read."""

COARSE_COLUMNS = 2
"""Columns behind it if each signal is taken, as `note_coarse` writes them."""


def begin_population(
    prices: Extremes,
    population: CodedPopulation,
    asked: AskedWords,
    charges: Charges,
    windows: Ints,
) -> tuple[Work, Floats]:
    """Work of a thread in windows [W, 2] of one series, and accumulators [P, W, A] that it makes.

    It decides the conditions of an individual, and walks by them. All threads share the count of
    individuals that were begun.
    """
    out = np.full((len(population.delay), len(windows), len(ACCUMULATORS)), np.nan)
    shared = np.zeros(1, np.int64)

    def work(thread: int, firsts: Ints, thread_of: Ints) -> tuple[Ints, Floats]:
        width = WHOLE + COARSE_COLUMNS * charges.lists_all
        room = np.empty((0, width), np.int64), np.empty((0, NUMBERS))
        mine = population._replace(words=population.words[thread])
        return fold_each(prices, mine, asked, charges, windows, shared, out, thread, firsts,
                         thread_of, *room)  # fmt: skip

    return work, out


def collect_trades(listed: Listed) -> tuple[Ledger, Ints]:
    """The trades of all ledgers, one after the other; coarse bars of each signal [K, 2].

    The latter exist if each signal is taken, as `note_coarse` writes them.
    """
    whole, numbers = listed.in_order()
    signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(whole[:, :WHOLE].T)
    entry, stop, target, leave, r, last_stop = np.ascontiguousarray(numbers.T)
    trades = Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held,
    )  # fmt: skip
    return trades, whole[:, WHOLE:]


@compiled_unlocked
def fold_each(
    prices: Extremes,
    population: CodedPopulation,
    asked: AskedWords,
    charges: Charges,
    windows: Ints,
    shared: Ints,
    out: Floats,
    thread: int,
    firsts: Ints,
    thread_of: Ints,
    whole: Ints,
    numbers: Floats,
) -> tuple[Ints, Floats]:
    """Take individuals one after another, while other threads take others.

    Args:
        prices: The series.
        population: All individuals, with room of this thread for words.
        asked: How these are decided.
        charges: Costs and risk rules.
        windows: [W, 2] start and end of each window.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, W, A] receives accumulators.
        thread: Number of this one.
        firsts: [P, W] receives the place of each ledger's first trade among those of its thread;
            or [0, 0] where no ledgers are wanted.
        thread_of: [P] receives who took each individual; or [0].
        whole: [n, 6] room for trades, as `take_positions` writes them.
        numbers: [n, 6] likewise.

    Returns:
        What was written, in as much room as it took.
    """
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
