"""All stages after the rows, for every individual and window of one series."""

import numpy as np

from engine.accounts.cpu.folding import TRADES, begin
from engine.backend import Exits
from engine.conditions.cpu.signals import BLOCK_BARS, signals
from engine.conditions.encode import Entry
from engine.positions.cpu.chain import chain, stop_distances
from engine.positions.cpu.listing import with_room
from engine.runtime.compiling.loops import compiled_loop, compiled_unlocked
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
    thread: int,
    firsts: Ints,
    thread_of: Ints,
    whole: Ints,
    prices: Floats,
) -> tuple[Ints, Floats]:
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
        thread: Number of this one.
        firsts: [P, W] receives the place of each ledger's first trade among those of its thread;
            or [0, 0] where no ledgers are wanted.
        thread_of: [P] receives who took each individual; or [0].
        whole: [n, 5] room for trades, as `chain` writes them.
        prices: [n, 5] likewise.

    Returns:
        What was written, in as much room as it took.
    """
    block = np.empty(BLOCK_BARS, np.uint8)
    keeps = firsts.shape[0] > 0
    # No literal: its callees would be compiled once more for it.
    used: int = np.int64(0)  # type: ignore[assignment]
    p = take(shared, 0)
    while p < genomes.shape[0]:
        for w in range(windows.shape[0]):
            end = windows[w, 1]
            n = signals(market, entry, slots[p], genomes[p], windows[w, 0], end - 1 - exits.delay,
                        block, scratch)  # fmt: skip
            stop_distances(market, exits, slots[p], scratch[:n], distances)
            begin(out[p, w])
            if keeps:
                firsts[p, w] = used
                whole = with_room(whole, used, n + 1)
                prices = with_room(prices, used, n + 1)
            chain(market, exits, genomes[p], scratch[:n], distances, end, windows[w, 0], out[p, w],
                  whole[used:], prices[used:])  # fmt: skip
            if keeps:
                used += int(out[p, w, TRADES])
        if keeps:
            thread_of[p] = thread
        p = take(shared, 0)
    return whole[:used], prices[:used]


@compiled_loop
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
