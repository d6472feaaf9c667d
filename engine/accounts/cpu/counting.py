"""Accumulators of trades that were chosen after they were listed, in compiled loops."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.accounts.cpu.folding import (
    BARS_IN_MARKET,
    EQUITY,
    REJECTED,
    SUM_R_SHORT,
    TRADES,
    begin,
)
from engine.accounts.cpu.joint_money import FIRST_LEG, collect_figures, read_figures
from engine.accounts.cpu.limiting import Admitted, Flags
from engine.accounts.cpu.merging import MAX_LEVERAGE
from engine.accounts.cpu.money import (
    Purse,
    TradeLegs,
    begin_money,
    build_purse,
    count_shares,
    end_money,
    fold_sized,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX, AT_STOP, EXIT_PLACES, REASONS, Ledger
from engine.accounts.stake import Stake
from engine.runtime.compiling.loops import compiled_part, compiled_uncounted, compiled_unlocked
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
    leg_bar: Ints  # [K, L]
    figures: Floats  # as `read_figures` reads them


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
    """Fold a limited account's share of listed signals into out [P, W, A].

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
            sums = out[p, w]
            begin(sums)
            begin_money(purse, sums)
            sums[REJECTED], sums[SKIPPED] = refused[p, w, 0], refused[p, w, 1]
            sums[COARSE] = refused[p, w, 2]
            for k in range(firsts[p, w], firsts[p, w] + counts[p, w]):
                if counted.taken[k]:
                    sums[MAX_LEVERAGE] = max(sums[MAX_LEVERAGE], counted.leverage[k])
                    fold_trade(purse, sizing, p, counted, k, sums)
            end_money(purse, sums)
        p = take(shared, 0)


@compiled_part
def fold_trade(
    purse: Purse, sizing: Sizing, p: int, counted: Counted, k: int, sums: Floats
) -> None:
    """Fold a trade that is taken, sized from the cash before it."""
    row, marks, figures = 0 if counted.side[k] > 0 else 1, counted.leg_bar[k], counted.figures[k]
    shares, rest = sizing.shares[p], sizing.rests[p, row]
    reached = TradeLegs(shares, row, rest, marks.size, marks, 0, figures, FIRST_LEG)
    number = count_shares(shares, row, marks.size)
    legs = TradeLegs(shares, row, rest, number, marks, 0, figures, FIRST_LEG)
    trade = read_figures(counted.figures, k)
    held, exit_bar = counted.held[k], counted.exit_bar[k]
    count_trade(counted.reason[k], row, held, exit_bar, trade.r, reached, sums)
    fold_sized(purse, sizing.number[p], sizing.leverage[p], sums[EQUITY], trade, legs, sums)


@compiled_uncounted
def count_trade(
    reason: int, side: int, held: int, exit_bar: int, r: float, legs: TradeLegs, sums: Floats
) -> None:
    """Terms that a trade of a side, 0 or 1, adds to sums [A], in any order of trades."""
    sums[TRADES] += 1.0
    sums[BARS_IN_MARKET] += held
    sums[COUNTED_AT[reason]] += 1.0
    if side:
        sums[SHORTS] += 1.0
        sums[SUM_R_SHORT] += r
        if r > 0.0:
            sums[WINS_SHORT] += 1.0
    is_last = False
    for leg in range(legs.number):
        bar = legs.marks[legs.first_mark + leg]
        if bar >= 0:
            sums[PARTIALS] += 1.0
            is_last = is_last or bar == exit_bar
    # The target that ends a trade is its exit.
    if is_last and reason == TARGET:
        sums[PARTIALS] -= 1.0
