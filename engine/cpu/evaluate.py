"""All stages after the rows, for every individual and window of one series."""

import numpy as np

from engine.conditions.cpu.signals import BLOCK_BARS, signals
from engine.conditions.encode import Entry
from engine.positions.cpu.chain import begin, chain, stop_distances
from engine.positions.encode import Exits
from engine.runtime.compiling.loops import compiled, compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.types import Floats, Ints, Market, Slots


@compiled_unlocked
def evaluate(
    market: Market,
    entry: Entry,
    exits: Exits,
    slots: Slots,
    genomes: Floats,
    windows: Ints,
    scratch: Slots,
    distances: Floats,
    shared: Ints,
    out: Floats,
    firsts: Ints,
    whole: Ints,
    prices: Floats,
) -> None:
    """Evaluate individuals in all windows of one series, while other threads evaluate others.

    Args:
        market: The series and its rows.
        entry: The conjunction.
        exits: Bracket and costs.
        slots: [P, R] slot of each individual's rows.
        genomes: [P, G].
        windows: [W, 2] start and end of each window.
        scratch: [T + 8], of this thread, receives signal bars.
        distances: [T], of this thread, receives what measures the stop there.
        shared: [1], of all threads, counts the individuals that were begun.
        out: [P, W, A] receives the accumulators, in the order of `ACCUMULATORS`.
        firsts: [P, W] where the first trade of each ledger stands; or [0, 0] where no ledgers are
            wanted.
        whole: [K, 5] receives the trades of all ledgers, as in `chain`; or [0, 5].
        prices: [K, 5] likewise; or [0, 5].
    """
    block = np.empty(BLOCK_BARS, np.uint8)
    p = take(shared, 0)
    while p < genomes.shape[0]:
        for w in range(windows.shape[0]):
            end = windows[w, 1]
            n = signals(market, entry, slots[p], genomes[p], windows[w, 0], end - 1 - exits.delay,
                        block, scratch)  # fmt: skip
            stop_distances(market, exits, slots[p], scratch[:n], distances)
            begin(out[p, w])
            first = firsts[p, w] if firsts.shape[0] > 0 else 0
            chain(market, exits, genomes[p], scratch[:n], distances, end, windows[w, 0], out[p, w],
                  whole[first:], prices[first:])  # fmt: skip
        p = take(shared, 0)


@compiled
def signal_bars(
    market: Market,
    entry: Entry,
    slots: Slots,
    genome: Floats,
    first: int,
    last: int,
) -> Slots:
    """Signal bars of one individual, as a new array; see `signals`."""
    block = np.empty(BLOCK_BARS, np.uint8)
    bars = np.empty(max(last - first, 0) + 8, np.int32)
    n = signals(market, entry, slots, genome, first, last, block, bars)
    return bars[:n].copy()
