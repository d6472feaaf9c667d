"""Trades of several windows as one account that sizes them from its cash."""

from collections.abc import Iterable, Sequence

import numpy as np

from data.bars import Bars, Window
from engine.accounts.cpu.folding import EQUITY, SUM_R_SHORT, begin
from engine.accounts.cpu.merging import COUNTED, FOLDED, MAX_LEVERAGE
from engine.accounts.cpu.money import (
    UNSIZED,
    Purse,
    add_least_fees,
    begin_money,
    build_purse,
    end_money,
    find_units,
    fold_money,
)
from engine.accounts.ledger import ACCUMULATORS, MARGIN, Ledger
from engine.accounts.results import order_windows
from engine.accounts.stake import Stake
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.cpu.types import Floats, Ints

ENTRY, RISK, SCALE, LEAVE, R, IS_MARGIN, FIRST_LEG = range(7)
"""Columns of trades; targets from the last on."""


def fold_joint_money(
    accumulators: Floats,
    ledgers: Iterable[tuple[Ledger, ...]],
    windows: Sequence[Window],
    series: Sequence[Bars],
    stakes: Sequence[Stake],
) -> Floats:
    """Accumulators [P, A] of all windows as one account, sized from cash.

    Args:
        accumulators: [P, W, A] of each window.
        ledgers: Of each individual, [W].
        windows: [W].
        series: That they refer to.
        stakes: [P] how each individual's trades are sized.
    """
    account = np.empty((len(accumulators), len(ACCUMULATORS)))
    account[:, COUNTED] = accumulators[:, :, COUNTED].sum(axis=1)
    account[:, MAX_LEVERAGE] = accumulators[:, :, MAX_LEVERAGE].max(axis=1, initial=0.0)
    order = order_windows(windows).tolist()
    for p, (some, stake) in enumerate(zip(ledgers, stakes, strict=True)):
        ordered = [some[w] for w in order]
        times = [
            series[windows[w].series].timestamp[ledger.exit_bar]
            for w, ledger in zip(order, ordered, strict=True)
        ]
        sums = fold_ledgers(ordered, np.argsort(np.concatenate(times), kind="stable"), stake)
        account[p, FOLDED], account[p, UNSIZED] = sums[FOLDED], sums[UNSIZED]
    return account


def fold_ledgers(ledgers: Sequence[Ledger], by_exit: Ints, stake: Stake) -> Floats:
    """Sums [A] of trades [K] of several ledgers, taken in an order [K]; counts are left out."""
    sums = np.empty(len(ACCUMULATORS))
    begin(sums)
    fold_chosen(
        build_purse(stake), stake.number, stake.leverage, stake.shares, stake.rests,
        np.concatenate([collect_figures(ledger) for ledger in ledgers]),
        np.concatenate([ledger.side for ledger in ledgers]).astype(np.int64),
        np.concatenate([ledger.leg_bar for ledger in ledgers]), by_exit, len(by_exit), sums,
    )  # fmt: skip
    return sums


def collect_figures(ledger: Ledger) -> Floats:
    """Trades of a ledger as numbers, [K, 6 + L]."""
    risk = ledger.side * (ledger.entry - ledger.stop)
    scale = ledger.scale[:, 0] if ledger.scale.shape[1] else np.full(len(ledger), np.nan)
    columns = [ledger.entry, risk, scale, ledger.exit, ledger.r, ledger.reason == MARGIN]
    return np.column_stack([*columns, ledger.leg_price])


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
    size: int,
    sums: Floats,
) -> None:
    """Fold so many of the trades [K], by the places of those that are chosen, into sums [A]."""
    begin_money(purse, sums)
    for number_of in range(size):
        k = chosen[number_of]
        entry, risk, r = figures[k, ENTRY], figures[k, RISK], figures[k, R]
        place, legs = 0 if sides[k] > 0 else 1, leg_bars.shape[1]
        # Of a ladder that is shorter than the other side's, no share is left for what is missing.
        while legs > 0 and shares[place, legs - 1] == 0.0:
            legs -= 1
        units = find_units(purse, number, leverage, sums[EQUITY], entry, risk, figures[k, SCALE])
        least_fees = 0.0
        if purse.fee_min > 0.0 and units > 0.0:
            least_fees = add_least_fees(
                purse, units * purse.worth, units, entry, figures[k, LEAVE], shares, place,
                rests[place], legs, leg_bars[k], 0, figures[k], FIRST_LEG,
            )  # fmt: skip
        fold_money(purse, sums, r, risk, units, least_fees, figures[k, IS_MARGIN] > 0.0)
        if place == 1:
            sums[SUM_R_SHORT] += r
    end_money(purse, sums)
