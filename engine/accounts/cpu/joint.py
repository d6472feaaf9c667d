"""Trades of several windows as one account: in the order of their exits, or sized from its cash."""

from collections.abc import Iterable, Sequence

import numpy as np

from data.bars import Bars, Window
from engine.accounts.cpu.money import (
    EQUITY,
    SUM_R_SHORT,
    UNSIZED,
    Purse,
    SizedTrade,
    TradeLegs,
    begin,
    begin_money,
    build_purse,
    count_shares,
    end_money,
    fold,
    fold_sized,
)
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, MARGIN, REASONS, Ledger
from engine.accounts.results import Results, order_windows
from engine.accounts.stake import Stake
from engine.runtime.compiling.loops import compiled_loop, compiled_part, compiled_unlocked
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints

ORDERED = (
    "sum_r", "sum_r2", "gain_r", "loss_r", "loss_r2", "peak_r", "max_drawdown_r", "equity",
    "peak_equity", "max_drawdown", "sum_r_short",
)  # fmt: skip
"""Accumulators that hang on the order of trades; the others are counts, which add up."""

MAX_LEVERAGE = ACCUMULATOR_INDEX["max_leverage"]

FOLDED = np.array([ACCUMULATOR_INDEX[name] for name in ORDERED])
COUNTED = np.setdiff1d(np.arange(len(ACCUMULATORS)), FOLDED)


def fold_account(
    accumulators: Floats, results: Results, order: Ints, risk_fraction: float, threads: Threads
) -> Floats:
    """Accumulators [P, A] of all windows as one account.

    Args:
        accumulators: [P, W, A] of each window.
        results: Of the trades that they count.
        order: Places of the windows [W]; of trades that end together the first one's is first.
        risk_fraction: What of the account a trade risks.
        threads: They share the individuals.
    """
    account = _add_up_counts(accumulators)
    shared = np.zeros(1, np.int64)

    def compute(thread: int) -> None:
        merge_each(results, order, risk_fraction, shared, account)

    threads.run(compute, len(account))
    return account


def _add_up_counts(accumulators: Floats) -> Floats:
    """Accounts [P, A] with counts of all windows; what hangs on the order of trades is open."""
    account = np.empty((len(accumulators), len(ACCUMULATORS)))
    account[:, COUNTED] = accumulators[:, :, COUNTED].sum(axis=1)
    account[:, MAX_LEVERAGE] = accumulators[:, :, MAX_LEVERAGE].max(axis=1, initial=0.0)
    return account


@compiled_unlocked
def merge_each(
    results: Results, order: Ints, risk_fraction: float, shared: Ints, out: Floats
) -> None:
    """Fold individuals one after another, while other threads take others.

    Args:
        results: Of all trades.
        order: [W].
        risk_fraction: Of the account.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [P, A] receives what hangs on the order of trades.
    """
    firsts, counts, exit_ns, r, side = results
    sums = np.empty(out.shape[1])
    p = take(shared, 0)
    while p < out.shape[0]:
        begin(sums)
        trades, size = np.empty(counts[p].sum(), np.int64), 0
        for window in order:
            for k in range(firsts[p, window], firsts[p, window] + counts[p, window]):
                trades[size] = k
                size += 1
        # Of those that end together the first in order stays first.
        for turn in np.argsort(exit_ns[trades], kind="mergesort"):
            k = trades[turn]
            fold(sums, r[k], risk_fraction)
            if side[k] < 0:
                sums[SUM_R_SHORT] += r[k]
        for column in FOLDED:
            out[p, column] = sums[column]
        p = take(shared, 0)


REVERSE = REASONS.index("reverse")

ENTRY, RISK, SCALE, LEAVE, R, IS_MARGIN, FIRST_LEG = range(7)
"""Columns of trades; targets from the last on."""


def fold_joint_money(
    accumulators: Floats,
    ledgers: Iterable[tuple[Ledger, ...]],
    windows: Sequence[Window],
    series: Sequence[Bars],
    stakes: Sequence[Stake],
) -> Floats:
    """Accumulators [P, A] of all windows as one account, which sizes trades at their fills.

    Args:
        accumulators: [P, W, A] of each window.
        ledgers: Of each individual, [W].
        windows: [W].
        series: That they refer to.
        stakes: [P] how each individual's trades are sized.
    """
    account = _add_up_counts(accumulators)
    order = order_windows(windows).tolist()
    for p, (some, stake) in enumerate(zip(ledgers, stakes, strict=True)):
        spans = [(some[w], series[windows[w].series], windows[w].series) for w in order]
        sums = fold_ledgers(spans, stake)
        account[p, FOLDED], account[p, UNSIZED] = sums[FOLDED], sums[UNSIZED]
    return account


def fold_ledgers(spans: Sequence[tuple[Ledger, Bars, int]], stake: Stake) -> Floats:
    """Sums [A] of several ledgers, each with its bars and strand; counts are left out."""
    ledgers = [ledger for ledger, *_ in spans]
    exit_ns, filled_ns, over_ns, strands = (
        np.concatenate(column)
        for column in zip(*(_list_times(*span, stake) for span in spans), strict=True)
    )
    order = np.lexsort((strands, exit_ns, over_ns))
    known = np.searchsorted(over_ns[order], filled_ns[order], side="right")
    sums = np.empty(len(ACCUMULATORS))
    begin(sums)
    fold_chosen(
        build_purse(stake), stake.number, stake.leverage, stake.shares, stake.rests,
        np.concatenate([collect_figures(ledger) for ledger in ledgers]),
        np.concatenate([ledger.side for ledger in ledgers]).astype(np.int64),
        np.concatenate([ledger.leg_bar for ledger in ledgers]), order,
        np.minimum(known, np.arange(len(order))), strands[order], sums,
    )  # fmt: skip
    return sums


def _list_times(
    ledger: Ledger, bars: Bars, strand: int, stake: Stake
) -> tuple[Ints, Ints, Ints, Ints]:
    """When exit and entry bars of trades open, when these are over, and their strand, [K] each.

    An exit at an open is known then; but a reversal by an order that rests may come later.
    """
    exit_ns, filled_ns = bars.timestamp[ledger.exit_bar], bars.timestamp[ledger.entry_bar]
    lasts = ledger.entry_bar + ledger.held > ledger.exit_bar
    lasts |= (ledger.reason == REVERSE) & ~stake.at_market[(ledger.side > 0).astype(np.int64)]
    over_ns = np.where(lasts, bars.over_ns[ledger.exit_bar], exit_ns)
    return exit_ns, filled_ns, over_ns, np.full(len(ledger), strand, np.int64)


def collect_figures(ledger: Ledger) -> Floats:
    """Trades of a ledger as numbers, [K, 6 + L]."""
    risk = ledger.side * (ledger.entry - ledger.stop)
    scale = ledger.scale[:, 0] if ledger.scale.shape[1] else np.full(len(ledger), np.nan)
    columns = [ledger.entry, risk, scale, ledger.exit, ledger.r, ledger.reason == MARGIN]
    return np.column_stack([*columns, ledger.leg_price])


@compiled_part
def read_figures(figures: Floats, k: int) -> SizedTrade:
    """Figures of trade k, as `collect_figures` has them."""
    return SizedTrade(
        figures[k, ENTRY], figures[k, RISK], figures[k, SCALE], figures[k, LEAVE], figures[k, R],
        figures[k, IS_MARGIN] > 0.0,
    )  # fmt: skip


@compiled_loop
def fold_chosen(
    purse: Purse,
    number: float,
    leverage: float,
    shares: Floats,
    rests: Floats,
    figures: Floats,
    sides: Ints,
    leg_bars: Ints,
    chosen: Ints,
    known: Ints,
    strands: Ints,
    sums: Floats,
) -> None:
    """Fold trades [K], by the places of chosen ones, into sums [A].

    `known` counts the trades that are over when the order of each is filled, `strands` numbers the
    strand of each: if a fill ends a position of the same strand, that gain is known too.
    """
    begin_money(purse, sums)
    worths, gains = np.empty(chosen.size + 1), np.empty(chosen.size)
    worths[0] = purse.cash
    for turn in range(chosen.size):
        k, cash = chosen[turn], worths[known[turn]]
        for earlier in range(known[turn], turn):
            if strands[earlier] == strands[turn]:
                cash = cash + gains[earlier] if cash + gains[earlier] > 0.0 and cash > 0.0 else 0.0
        row = 0 if sides[k] > 0 else 1
        marks = leg_bars[k]
        number_of_legs = count_shares(shares, row, marks.size)
        legs = TradeLegs(shares, row, rests[row], number_of_legs, marks, 0, figures[k], FIRST_LEG)
        trade = read_figures(figures, k)
        gains[turn] = fold_sized(purse, number, leverage, cash, trade, legs, sums)
        worths[turn + 1] = sums[EQUITY]
        if row == 1:
            sums[SUM_R_SHORT] += trade.r
    end_money(purse, sums)
