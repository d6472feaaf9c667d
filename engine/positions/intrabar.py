"""Undecided bars: whether the stop or the target came first when it touched both.

The law takes the stop. The exit bar is the same either way, so that the trades that follow are
too, and the other answer can be given exactly: the same ledger, with those trades at the target.
"""

from dataclasses import dataclass

import numpy as np

from data.bars import Bars
from data.checks import Flags, Floats
from engine.accounts.costs import Costs
from engine.accounts.ledger import AT_STOP, Ledger

COARSE_SHARE = 0.05
"""Above this share of undecided trades, bars are too coarse for the bracket."""


@dataclass(frozen=True)
class Intrabar:
    """How much hangs on the order within a bar."""

    trades: int  # trades of the ledger
    undecided: int  # trades that were stopped in a bar which also touched the target
    sum_r: float  # sum of r as the law has it, the stop first
    sum_r_target_first: float  # the same had the target come first in every undecided trade

    @property
    def share(self) -> float:
        """Share of undecided trades; 0 without trades."""
        return self.undecided / self.trades if self.trades else 0.0

    @property
    def is_too_coarse(self) -> bool:
        """Whether so much is undecided that finer bars are needed."""
        return self.share > COARSE_SHARE


def measure_intrabar(ledger: Ledger, bars: Bars, costs: Costs) -> Intrabar:
    """Count the trades whose exit bar touched stop and target, and give both answers in R.

    `ledger` is of one individual in one window, made on `bars` with `costs`. A bar that opens at or
    beyond the stop is not undecided: the stop came first.

    Source: house rule; most backtesters settle this silently, in either direction.
    """
    r, is_undecided = target_first(ledger, bars, costs)
    return Intrabar(
        trades=len(ledger),
        undecided=int(is_undecided.sum()),
        sum_r=_sum(ledger.r),
        sum_r_target_first=_sum(r),
    )


def target_first(ledger: Ledger, bars: Bars, costs: Costs) -> tuple[Floats, Flags]:
    """R of each trade [K] had the target come first, and in which trades it may have."""
    is_stopped = np.isin(ledger.reason, AT_STOP)
    best = np.where(ledger.side > 0, bars.high[ledger.exit_bar], bars.low[ledger.exit_bar])
    is_undecided = is_stopped & (ledger.side * best >= ledger.side * ledger.target)
    if bars.finer is not None:
        for k in np.flatnonzero(is_undecided):
            is_undecided[k] = _hides_order(ledger, bars, int(k))
    # A target that was never touched may be infinite.
    target = np.where(is_undecided, ledger.target, ledger.entry)
    net = ledger.side * (target - ledger.entry) - costs.per_side * (ledger.entry + target)
    risk = ledger.side * (ledger.entry - ledger.stop)
    r: Floats = np.where(is_undecided, net / risk, ledger.r)
    return r, is_undecided


def _hides_order(ledger: Ledger, bars: Bars, k: int) -> bool:
    """Whether one finer bar of a trade's exit bar touches stop and target, or there are none."""
    assert bars.finer is not None
    trade, (first, end) = ledger.trade(k), bars.finer_spans[:, ledger.exit_bar[k]]
    _, highs, lows, _ = bars.finer.prices[:, first:end]
    worst, best = (lows, highs) if trade.side > 0 else (-highs, -lows)
    touched = (worst <= trade.side * trade.last_stop) & (best >= trade.side * trade.target)
    return bool(touched.any() or first == end)


def _sum(values: Floats) -> float:
    """Sum in the order of trades, as accumulators do."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total
