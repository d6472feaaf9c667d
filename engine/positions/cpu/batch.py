"""Positions of a whole population: every individual in every window of one series, on all threads.

Conditions are words of bars and rows lie side by side; individuals name those that they read, so
that what several ask for stands there once.
"""

import numpy as np

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, Ledger
from engine.positions.cpu.block_minmax import Extremes
from engine.positions.cpu.both_sides import Charges, Population, take_positions
from engine.positions.cpu.chain import TRADES, begin
from engine.runtime.compiling.loops import compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import NO_TRADES, Floats, Ints, Listed

REJECTED = ACCUMULATOR_INDEX["rejected"]


WHOLE, NUMBERS = 6, 6
"""What `take_positions` writes of a trade."""


def fold_population(
    prices: Extremes,
    population: Population,
    charges: Charges,
    windows: Ints,
    threads: Threads,
    listed: Listed | None = None,
) -> Floats:
    """Accumulators [P, W, A] in windows [W, 2] of one series, start and end each.

    `listed` receives the trades of all ledgers, where they are wanted.
    """
    individuals, shared = len(population.delay), np.zeros(1, np.int64)
    out = np.full((individuals, len(windows), len(ACCUMULATORS)), np.nan)
    trades = listed or Listed.of_counts(NO_TRADES, WHOLE, NUMBERS)

    def compute(thread: int) -> None:
        fold_each(prices, population, charges, windows, shared, out, *trades)

    threads.run(compute, individuals)
    return out


def list_population(
    prices: Extremes, population: Population, charges: Charges, windows: Ints, threads: Threads
) -> list[tuple[Ledger, ...]]:
    """The ledgers [W] of each individual [P]; arguments as in `fold_population`."""
    # How many trades there are is known only after all were made once.
    folded = fold_population(prices, population, charges, windows, threads)
    counts, rejected = (folded[:, :, place].astype(np.int64) for place in (TRADES, REJECTED))
    listed = Listed.of_counts(counts, WHOLE, NUMBERS)
    fold_population(prices, population, charges, windows, threads, listed)
    return _trades_of(listed).cut(counts, rejected)


def _trades_of(listed: Listed) -> Ledger:
    """The trades of all ledgers, one after the other."""
    signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(listed.whole.T)
    entry, stop, target, leave, r, last_stop = np.ascontiguousarray(listed.numbers.T)
    return Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        side.astype(np.int8), last_stop, held,
    )  # fmt: skip


@compiled_unlocked
def fold_each(
    prices: Extremes,
    population: Population,
    charges: Charges,
    windows: Ints,
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
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, W, A] receives accumulators.
        firsts: As in `engine.runtime.cpu.types.Listed`.
        whole: Likewise.
        numbers: Likewise.
    """
    # No formula needs more places than it has steps.
    stack = np.empty(len(population.steps) + 1)
    p = take(shared, 0)
    while p < population.delay.size:
        for w in range(windows.shape[0]):
            first = max(windows[w, 0], population.warm_up[p])
            begin(out[p, w])
            listed = firsts[p, w] if firsts.shape[0] > 0 else 0
            take_positions(prices, population, charges, p, first, windows[w, 1], out[p, w],
                           listed, whole, numbers, stack)  # fmt: skip
        p = take(shared, 0)
