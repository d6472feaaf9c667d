"""Accumulators of trades that were chosen after they were listed, in compiled loops."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.accounts.cpu.folding import BARS_IN_MARKET, REJECTED, TRADES, begin
from engine.accounts.cpu.joint_money import collect_figures, fold_chosen
from engine.accounts.cpu.limiting import Admitted, Flags
from engine.accounts.cpu.merging import MAX_LEVERAGE
from engine.accounts.cpu.money import Purse, build_purse
from engine.accounts.ledger import ACCUMULATOR_INDEX, AT_STOP, EXIT_PLACES, REASONS, Ledger
from engine.accounts.stake import Stake
from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints

SHORTS, WINS_SHORT, PARTIALS, COARSE, SKIPPED = (
    ACCUMULATOR_INDEX[name] for name in ("shorts", "wins_short", "partials", "coarse", "skipped")
)

TARGET = REASONS.index("target")

COUNTED_AT = np.array(
    [
        EXIT_PLACES[REASONS.index("stop") if reason in AT_STOP else reason]
        for reason in range(len(REASONS))
    ]
)
"""Accumulator that counts each reason; what ends at a stop that moved is counted with the stop."""


class Counted(NamedTuple):
    """Fields of trades [K] that accumulators read."""

    taken: Flags
    leverage: Floats  # with that of what others had open
    reason: Ints
    side: Ints
    held: Ints
    exit_bar: Ints
    r: Floats
    leg_bar: Ints  # [K, L]
    figures: Floats  # as `fold_chosen` reads them


class Sizing(NamedTuple):
    """How trades of individuals [P] are sized."""

    number: Floats
    leverage: Floats
    shares: Floats  # [P, 2, L]
    rests: Floats  # [P, 2]


def fold_taken(
    trades: Ledger,
    spans: tuple[Ints, Ints],
    answers: Admitted,
    stakes: Sequence[Stake],
    threads: Threads,
    out: Floats,
) -> None:
    """Fold what a limited account takes of listed signals into out [P, W, A].

    Args:
        trades: Of all signals [K], in any order.
        spans: Place of the first of each individual in each window [P, W], and how many these are.
        answers: What the account answered.
        stakes: [P].
        threads: They share the individuals.
        out: Receives accumulators.
    """
    # Of rejected ones anything may come.
    with np.errstate(all="ignore"):
        figures = collect_figures(trades)
    counted = Counted(
        answers.taken,
        answers.gross + answers.leverage,
        trades.reason.astype(np.int64),
        trades.side.astype(np.int64),
        trades.held,
        trades.exit_bar,
        trades.r,
        np.ascontiguousarray(trades.leg_bar),
        figures,
    )
    columns = zip(
        *((stake.number, stake.leverage, stake.shares, stake.rests) for stake in stakes),
        strict=True,
    )
    sizing = Sizing(*(np.array(column) for column in columns))
    shared, purse = np.zeros(1, np.int64), build_purse(stakes[0])

    def compute(thread: int) -> None:
        fold_each_taken(purse, sizing, counted, *spans, answers.counts, shared, out)

    threads.run(compute, len(out))


@compiled_unlocked
def fold_each_taken(
    purse: Purse,
    sizing: Sizing,
    counted: Counted,
    firsts: Ints,
    counts: Ints,
    refused: Ints,
    shared: Ints,
    out: Floats,
) -> None:
    """Fold individuals one after another, while other threads take others.

    Args:
        purse: What all individuals share.
        sizing: What they do not.
        counted: Of all signals [K].
        firsts: [P, W] place of each one's first signal in each window.
        counts: [P, W] how many these are.
        refused: [P, W, 3] how many are rejected and skipped, and how many bars are coarse.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, W, A] receives accumulators.
    """
    p = take(shared, 0)
    while p < out.shape[0]:
        for w in range(out.shape[1]):
            chosen = np.empty(counts[p, w], np.int64)
            # No literal, for which what is called with it would be compiled once more.
            size: int = np.int64(0)  # type: ignore[assignment]
            sums = out[p, w]
            begin(sums)
            sums[REJECTED], sums[SKIPPED] = refused[p, w, 0], refused[p, w, 1]
            sums[COARSE] = refused[p, w, 2]
            for k in range(firsts[p, w], firsts[p, w] + counts[p, w]):
                if counted.taken[k]:
                    chosen[size] = k
                    size += 1
                    count_trade(counted, k, sums)
            fold_chosen(
                purse, sizing.number[p], sizing.leverage[p], sizing.shares[p], sizing.rests[p],
                counted.figures, counted.side, counted.leg_bar, chosen, np.arange(size),
                np.zeros(size, np.int64), size, sums,
            )  # fmt: skip
        p = take(shared, 0)


@compiled_part
def count_trade(counted: Counted, k: int, sums: Floats) -> None:
    """Terms that a trade adds to sums [A], in any order of trades."""
    sums[TRADES] += 1.0
    sums[BARS_IN_MARKET] += counted.held[k]
    sums[COUNTED_AT[counted.reason[k]]] += 1.0
    if counted.side[k] < 0:
        sums[SHORTS] += 1.0
        if counted.r[k] > 0.0:
            sums[WINS_SHORT] += 1.0
    sums[MAX_LEVERAGE] = max(sums[MAX_LEVERAGE], counted.leverage[k])
    is_last = False
    for leg in range(counted.leg_bar.shape[1]):
        if counted.leg_bar[k, leg] >= 0:
            sums[PARTIALS] += 1.0
            is_last = is_last or counted.leg_bar[k, leg] == counted.exit_bar[k]
    # The target that ends a trade is its exit.
    if is_last and counted.reason[k] == TARGET:
        sums[PARTIALS] -= 1.0
