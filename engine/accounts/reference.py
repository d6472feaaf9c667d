"""Results of trades folded into sums, in their order, as the law has it.

It shares no code with the batch engine.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.ledger import ACCUMULATORS, REASONS, Ledger

Floats = npt.NDArray[np.float64]
Sides = npt.NDArray[np.int8]


class Sums(NamedTuple):
    """What is folded over the results of trades; names as in `ACCUMULATORS`."""

    wins: float
    sum_r: float
    sum_r2: float
    gain_r: float
    loss_r: float
    loss_r2: float
    peak_r: float
    max_drawdown_r: float
    equity: float
    peak_equity: float
    max_drawdown: float
    shorts: float
    wins_short: float
    sum_r_short: float


def compute_accumulators(ledger: Ledger, sums: Sums) -> Floats:
    """Accumulators [A] of a ledger, whose results fold to these sums."""
    exits = np.bincount(ledger.reason, minlength=len(REASONS)).tolist()
    total = {
        **sums._asdict(),
        **{f"exits_{name}": count for name, count in zip(REASONS, exits, strict=True)},
        "trades": len(ledger),
        "rejected": ledger.rejected,
        "bars_in_market": int(ledger.held.sum()),
    }
    return np.array([total[name] for name in ACCUMULATORS], np.float64)


def merge_ledgers(
    ledgers: Sequence[Ledger], windows: Sequence[Window], series: Sequence[Bars]
) -> Ledger:
    """Ledgers of several windows [W] as that of one account.

    A trade changes it when its exit bar opens. Of trades whose exit bars open together that of the
    first series comes first, then that which comes first in its window.
    """
    order = sorted(range(len(windows)), key=lambda w: (windows[w].series, windows[w].start))
    exits = [series[windows[w].series].timestamp[ledgers[w].exit_bar] for w in order]
    exit_order = np.argsort(np.concatenate(exits), kind="stable")
    columns = {
        name: np.concatenate([getattr(ledgers[w], name) for w in order])[exit_order]
        for name in ledgers[0].columns()
    }
    return Ledger(**columns, rejected=sum(ledger.rejected for ledger in ledgers))


def fold_results(results: Floats, sides: Sides, risk_fraction: float) -> Sums:
    """Fold results [K] in units of risk, in the order of their trades; sides are 1 or -1."""
    shorts = wins_short = sum_r_short = 0.0
    wins = sum_r = sum_r2 = gain_r = loss_r = loss_r2 = 0.0
    # The peak of the sum of R starts at 0; equity starts at 1 and so does its peak.
    peak_r = max_drawdown_r = max_drawdown = 0.0
    equity = peak_equity = 1.0
    for k in range(len(results)):
        r = results[k]
        sum_r += r
        sum_r2 += r * r
        # A result of exactly 0 is a loss of 0.
        if r > 0.0:
            wins += 1.0
            gain_r += r
        else:
            loss_r += -r
            loss_r2 += r * r
        # Shorts once more, by themselves.
        if sides[k] < 0:
            shorts += 1.0
            sum_r_short += r
            if r > 0.0:
                wins_short += 1.0
        if sum_r > peak_r:
            peak_r = sum_r
        if peak_r - sum_r > max_drawdown_r:
            max_drawdown_r = peak_r - sum_r
        equity = equity * (1.0 + risk_fraction * r)
        # Ruin: unless equity is then above 0 it is 0, and stays 0.
        if not equity > 0.0:
            equity = 0.0
        if equity > peak_equity:
            peak_equity = equity
        drawdown = (peak_equity - equity) / peak_equity
        if drawdown > max_drawdown:
            max_drawdown = drawdown
    return Sums(
        wins, sum_r, sum_r2, gain_r, loss_r, loss_r2, peak_r, max_drawdown_r, equity, peak_equity,
        max_drawdown, shorts, wins_short, sum_r_short,
    )  # fmt: skip
