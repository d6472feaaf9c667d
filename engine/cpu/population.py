"""Positions of a whole population: every individual in every window of one series, on all threads.

Conditions are words of bars and rows lie side by side; individuals name those that they read, so
that what several ask for stands there once.
"""

from typing import NamedTuple

import numpy as np

from engine.compiling.loops import compiled_part, compiled_unlocked
from engine.cpu.chain import TRADES, begin
from engine.cpu.extremes import Extremes
from engine.cpu.lanes import take
from engine.cpu.positions import Charges, Orders, take_marks
from engine.cpu.threads import Threads
from engine.cpu.types import Floats, Ints, Slots
from engine.cpu.words import Words, list_marks
from engine.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, Ledger

REJECTED = ACCUMULATOR_INDEX["rejected"]


class Population(NamedTuple):
    """What P individuals of one strategy ask of one series; last axes of two are long, short.

    Args:
        words: [C, N] conditions, 64 bars a word; bits behind the last bar are 0.
        rows: [R, T] rows that stops, targets and trails read.
        sessions: [Q, T] as `session_exits` gives them.
        forms: [3, 2] forms of stop, target and trail, of `engine.orders`.
        entries: [P, 2] condition of each side's entry; -1: the side never enters.
        exits: [P, 2] condition of each side's exit; -1: none.
        reads: [P, 3, 2] row of stop, target and trail; -1: none.
        scales: [P, 3, 2] what the row is multiplied by; 1 where it stands for itself.
        numbers: [P, 4, 2] what stop, target and trail take where they read no row, and from which
            gain on the stop follows.
        break_even: [P] NaN: never.
        max_hold: [P] int64, bars; 0: no limit.
        delay: [P] int64, bars.
        warm_up: [P] int64, first bar that may signal.
        session_of: [P] int64, place in `sessions`; -1: not left by the clock.
    """

    words: Words
    rows: Floats
    sessions: Ints
    forms: Ints
    entries: Ints
    exits: Ints
    reads: Ints
    scales: Floats
    numbers: Floats
    break_even: Floats
    max_hold: Ints
    delay: Ints
    warm_up: Ints
    session_of: Ints


class Listed(NamedTuple):
    """Where trades of ledgers go.

    Args:
        firsts: [P, W] place of each ledger's first trade; [0, 0] where no ledgers are wanted.
        whole: [K, 5] as in `take_marks`.
        numbers: [K, 6] likewise.
    """

    firsts: Ints
    whole: Ints
    numbers: Floats


def fold_population(
    prices: Extremes, population: Population, charges: Charges, windows: Ints, threads: Threads
) -> Floats:
    """Accumulators [P, W, A] in windows [W, 2] of one series, start and end each."""
    nowhere = Listed(np.empty((0, 0), np.int64), np.empty((0, 5), np.int64), np.empty((0, 6)))
    return _folded(prices, population, charges, windows, threads, nowhere)


def list_population(
    prices: Extremes, population: Population, charges: Charges, windows: Ints, threads: Threads
) -> list[tuple[Ledger, ...]]:
    """The ledgers [W] of each individual [P]; arguments as in `fold_population`."""
    # How many trades there are is known only after all were made once.
    folded = fold_population(prices, population, charges, windows, threads)
    counts, rejected = (folded[:, :, place].astype(np.int64) for place in (TRADES, REJECTED))
    ends = counts.cumsum().reshape(counts.shape)
    firsts, n = ends - counts, int(counts.sum())
    listed = Listed(firsts, np.empty((n, 5), np.int64), np.empty((n, 6)))
    _folded(prices, population, charges, windows, threads, listed)
    return [
        tuple(
            _ledger_of(listed, slice(int(firsts[p, w]), int(ends[p, w])), int(rejected[p, w]))
            for w in range(len(windows))
        )
        for p in range(len(population.delay))
    ]


def _folded(
    prices: Extremes,
    population: Population,
    charges: Charges,
    windows: Ints,
    threads: Threads,
    listed: Listed,
) -> Floats:
    individuals, n_bars = len(population.delay), len(prices.open)
    out = np.full((individuals, len(windows), len(ACCUMULATORS)), np.nan)
    marks = np.empty((threads.count, n_bars), np.int32)
    reads = np.empty((threads.count, 3, n_bars))
    shared = np.zeros(1, np.int64)

    def compute(thread: int) -> None:
        fold_each(prices, population, charges, windows, marks[thread], reads[thread], shared, out,
                  *listed)  # fmt: skip

    threads.run(compute, individuals)
    return out


def _ledger_of(listed: Listed, at: slice, rejected: int) -> Ledger:
    signal_bar, entry_bar, exit_bar, reason, side = np.ascontiguousarray(listed.whole[at].T)
    entry, stop, target, leave, r, last_stop = np.ascontiguousarray(listed.numbers[at].T)
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, rejected,
    )  # fmt: skip


@compiled_unlocked
def fold_each(
    prices: Extremes,
    population: Population,
    charges: Charges,
    windows: Ints,
    marks: Slots,
    reads: Floats,
    shared: Ints,
    out: Floats,
    firsts: Ints,
    whole: Ints,
    numbers: Floats,
) -> None:
    """Take individuals one after another, while other threads take others.

    Args:
        prices: The series.
        population: All individuals.
        charges: Costs and risk rules.
        windows: [W, 2] start and end of each window.
        marks: [T] of this thread, receives signals.
        reads: [3, T] of this thread, receives what rows say there.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, W, A] receives accumulators.
        firsts: As in `Listed`.
        whole: Likewise.
        numbers: Likewise.
    """
    nothing = np.zeros(population.words.shape[1], np.uint64)
    p = take(shared, 0)
    while p < population.delay.size:
        orders = _orders_of(population, p)
        longs, shorts = (_words(population, population.entries[p, 0], nothing),
                         _words(population, population.entries[p, 1], nothing))  # fmt: skip
        for w in range(windows.shape[0]):
            end = windows[w, 1]
            first = max(windows[w, 0], population.warm_up[p])
            n = list_marks(longs, shorts, first, max(end - 1 - orders.delay, first), marks)
            _read(population, p, marks[:n], reads)
            begin(out[p, w])
            place = firsts[p, w] if firsts.shape[0] > 0 else 0
            take_marks(prices, orders, charges, marks[:n], reads, end, out[p, w],
                       whole[place:], numbers[place:])  # fmt: skip
        p = take(shared, 0)


@compiled_part
def _words(population: Population, condition: int, none: Words) -> Words:
    return population.words[condition] if condition >= 0 else none


@compiled_part
def _orders_of(population: Population, p: int) -> Orders:
    """One individual's orders."""
    asks_nothing = population.words[0, :0]
    session = population.session_of[p]
    return Orders(
        population.forms,
        population.numbers[p],
        population.break_even[p],
        population.max_hold[p],
        population.delay[p],
        _words(population, population.exits[p, 0], asks_nothing),
        _words(population, population.exits[p, 1], asks_nothing),
        population.sessions[session] if session >= 0 else population.sessions[0, :0],
    )


@compiled_part
def _read(population: Population, p: int, marks: Slots, out: Floats) -> None:
    """What an individual's rows say at its signals, into out [3, S]; 0 where it reads none.

    Rows hardly ever lie in a cache. Read here, one after another without anything in between, the
    loads are in flight together.
    """
    for part in range(3):
        rows, scales = population.reads[p, part], population.scales[p, part]
        for s in range(marks.size):
            side = marks[s] & 1
            read = 0.0
            if rows[side] >= 0:
                # A zero has no sign.
                read = scales[side] * population.rows[rows[side], marks[s] >> 1] + 0.0
            out[part, s] = read
