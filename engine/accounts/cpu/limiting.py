"""Signals of several windows that need room in one account: the taken ones and their sums."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.accounts.cpu.joint import FIRST_LEG, MAX_LEVERAGE, collect_figures, read_figures
from engine.accounts.cpu.money import (
    BARS_IN_MARKET,
    EQUITY,
    REJECTED,
    SUM_R_SHORT,
    TRADES,
    Purse,
    TradeLegs,
    begin,
    begin_money,
    build_purse,
    count_shares,
    end_money,
    fold_sized,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX, AT_STOP, EXIT_PLACES, REASONS, Ledger
from engine.accounts.limits import AccountLimits
from engine.accounts.stake import EQUITY_SHARE, RISK, SHARE_OF_R, VOLATILITY, Stake
from engine.runtime.compiling.loops import compiled_part, compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints

Flags = npt.NDArray[np.bool_]

NO_TRADE = -1
"""In place of a reason where a signal is rejected."""

STOP_GAP, SIGNAL = REASONS.index("stop_gap"), REASONS.index("signal")

NO_STRAND = NO_SIGNAL = -1

COUNTED = ("rejected", "skipped", "coarse")
"""Counts beside the trades taken."""

# The last is `NO_TRADE`.
IS_STOP = np.isin([*range(len(REASONS)), NO_TRADE], (STOP_GAP, *AT_STOP))
"""Truths by reason: it is that of a stop."""


class Asks(NamedTuple):
    """Signals [K] with their results, strand after strand, each's in the order of time."""

    signal_bar: Ints
    exit_bar: Ints
    cooldown: Ints  # bars behind it in which no signal counts
    reason: Ints  # `NO_TRADE` if rejected
    side: Ints  # 1 or -1
    asks_ns: Ints  # when the entry bar opens
    over_ns: Ints  # from when on the position is known to be over
    leverage: Floats  # worth of the position over the account
    rank: Floats  # greatest first, NaN last
    window: Ints  # place of the window
    coarse: Ints  # bars that it touches and no finer ones make up
    coarse_exit: Ints  # 1 where the bar of its exit is one of them


class Admitted(NamedTuple):
    """Answers of accounts to signals [K] of individuals [P] in windows [W]."""

    taken: Flags
    gross: Floats  # what other strands had open at each that asked
    leverage: Floats  # its own
    counts: Ints  # [P, W, 3] how many are rejected and skipped, and how many bars are coarse


def admit(
    asks: Asks, firsts: Ints, limits: AccountLimits, n_windows: int, threads: Threads
) -> Admitted:
    """Answers of the accounts of individuals, with strands from places [P, S + 1] on."""
    n_asks, n_individuals = len(asks.rank), len(firsts)
    counts = np.zeros((n_individuals, n_windows, len(COUNTED)), np.int64)
    answers = Admitted(np.zeros(n_asks, np.bool_), np.zeros(n_asks), asks.leverage, counts)
    shared = np.zeros(1, np.int64)

    def compute(thread: int) -> None:
        admit_each(asks, firsts, *limits, shared, answers.taken, answers.gross, counts)

    threads.run(compute, n_individuals)
    return answers


def collect_asks(
    ledger: Ledger,
    bars: Bars,
    cooldowns: Ints,
    leverages: Floats,
    ranks: Floats | None,
    windows: Ints,
    coarse: Ints,
) -> Asks:
    """Signals [K] of a series; ranks are those of its bars [T], and coarse is [K, 2]."""
    exits = ledger.exit_bar
    return Asks(
        ledger.signal_bar,
        exits,
        np.where(IS_STOP[ledger.reason], cooldowns, 0),
        ledger.reason.astype(np.int64),
        ledger.side.astype(np.int64),
        bars.timestamp[ledger.entry_bar],
        np.where(ledger.reason == SIGNAL, bars.timestamp[exits], bars.over_ns[exits]),
        leverages,
        np.zeros(len(ledger)) if ranks is None else ranks[ledger.signal_bar],
        windows,
        *np.ascontiguousarray(coarse.T),
    )


def find_leverages(ledger: Ledger, stake: Stake, share: Floats | float) -> Floats:
    """Worth of each position over the account at its entry, [K]; 0 without a size.

    `share` is the number of its stake, by the weight of its component.
    """
    if stake.form == EQUITY_SHARE:
        return np.broadcast_to(np.asarray(share, np.float64), len(ledger)).copy()
    # Of rejected ones anything may come.
    with np.errstate(all="ignore"):
        if stake.form in (SHARE_OF_R, RISK):
            leverages: Floats = share * ledger.entry / (ledger.side * (ledger.entry - ledger.stop))
            return leverages
        assert stake.form == VOLATILITY
        scale = ledger.scale[:, 0]
        return np.where(scale > 0.0, share * ledger.entry / scale, 0.0)


@compiled_unlocked
def admit_each(
    asks: Asks,
    firsts: Ints,
    max_positions: int,
    max_leverage: float,
    shared: Ints,
    taken: Flags,
    gross: Floats,
    counts: Ints,
) -> None:
    """Admit signals of one individual after another, while other threads take others.

    Arguments as in `admit_all`, `firsts` and `counts` of each; `shared` counts who was begun.
    """
    p = take(shared, 0)
    while p < firsts.shape[0]:
        admit_all(asks, firsts[p], max_positions, max_leverage, taken, gross, counts[p])
        p = take(shared, 0)


@compiled_part
def admit_all(
    asks: Asks,
    firsts: Ints,
    max_positions: int,
    max_leverage: float,
    taken: Flags,
    gross: Floats,
    counts: Ints,
) -> None:
    """Admit signals of all strands in their turn, or not.

    Args:
        asks: [K].
        firsts: [S + 1] place of each strand's first signal, and one past the last's last.
        max_positions: That may be open together.
        max_leverage: That they may have together.
        taken: [K] receives which are taken.
        gross: [K] receives what other strands have open at each that asks.
        counts: [W, 3] receives how many are rejected and skipped, and how many bars are coarse.
    """
    n_strands, n_open = firsts.size - 1, 0
    most = firsts[n_strands] - firsts[0]
    heads, free = firsts[:-1].copy(), np.zeros((n_strands, 2), np.int64)
    last = np.full(n_strands, NO_SIGNAL)
    # Open trades, in the order of taking, and their strands.
    trades, holders = np.empty(most, np.int64), np.empty(most, np.int64)
    for strand in range(n_strands):
        find_ask(asks, firsts[strand], firsts[strand + 1], strand, heads, free, last, counts)
    strand = find_first(asks, firsts, heads)
    while strand != NO_STRAND:
        k, others = heads[strand], 0
        kept, worth = 0, 0.0
        for number in range(n_open):
            if asks.over_ns[trades[number]] > asks.asks_ns[k]:
                trades[kept], holders[kept] = trades[number], holders[number]
                if holders[kept] != strand:
                    others += 1
                    worth += asks.leverage[trades[kept]]
                kept += 1
        n_open, gross[k] = kept, worth
        if others < max_positions and worth + asks.leverage[k] <= max_leverage:
            taken[k] = True
            count_coarse(asks, last[strand], k, counts)
            last[strand] = k
            trades[n_open], holders[n_open] = k, strand
            n_open += 1
            # Left at the open, as was known a bar before: the other side may signal there.
            earlier, is_short = int(asks.reason[k] == SIGNAL), int(asks.side[k] < 0)
            free[strand, 0] = asks.exit_bar[k] - earlier * is_short
            free[strand, 1] = asks.exit_bar[k] - earlier * (1 - is_short)
            free[strand] += asks.cooldown[k]
        else:
            counts[asks.window[k], 1] += 1
        heads[strand] += 1
        find_ask(asks, firsts[strand], firsts[strand + 1], strand, heads, free, last, counts)
        strand = find_first(asks, firsts, heads)


@compiled_part
def find_ask(
    asks: Asks, first: int, end: int, strand: int, heads: Ints, free: Ints, last: Ints, counts: Ints
) -> None:
    """Go on to a strand's next signal that finds it flat and risks enough, or to its end.

    `last` [S]: the signal of each strand that was taken last in its window.
    """
    k, is_found = heads[strand], False
    while k < end and not is_found:
        if k == first or asks.window[k] != asks.window[k - 1]:
            free[strand, 0] = free[strand, 1] = 0
            last[strand] = NO_SIGNAL
        if asks.signal_bar[k] < free[strand, int(asks.side[k] < 0)]:
            k += 1
        elif asks.reason[k] == NO_TRADE:
            counts[asks.window[k], 0] += 1
            count_coarse(asks, last[strand], k, counts)
            k += 1
        else:
            is_found = True
    heads[strand] = k


@compiled_part
def count_coarse(asks: Asks, last: int, k: int, counts: Ints) -> None:
    """Count coarse bars of a signal; not again the bar in which the trade before it was left.

    That is the case if it enters at the open at which the other was left.
    """
    count = asks.coarse[k]
    if last != NO_SIGNAL and asks.reason[last] == SIGNAL and asks.over_ns[last] == asks.asks_ns[k]:
        count -= asks.coarse_exit[last]
    counts[asks.window[k], 2] += count


@compiled_part
def find_first(asks: Asks, firsts: Ints, heads: Ints) -> int:
    """The strand with the first signal: by time, by rank, by strand."""
    chosen = NO_STRAND
    for strand in range(heads.size):
        k = heads[strand]
        if k == firsts[strand + 1]:
            continue
        if chosen == NO_STRAND:
            chosen = strand
            continue
        first = heads[chosen]
        if asks.asks_ns[k] != asks.asks_ns[first]:
            is_earlier = asks.asks_ns[k] < asks.asks_ns[first]
        else:
            rank, other = asks.rank[k], asks.rank[first]
            is_earlier = rank > other or (rank == rank and other != other)
        if is_earlier:
            chosen = strand
    return chosen


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
