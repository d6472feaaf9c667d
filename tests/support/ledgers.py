"""Ledgers and columns from single trades."""

from dataclasses import fields, replace

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS, Ledger, Trade
from optimizer.report.trades import collect_trades

KINDS = {"signal_bar": np.int64, "entry_bar": np.int64, "exit_bar": np.int64, "reason": np.int8,
         "side": np.int8, "held": np.int64}  # fmt: skip

COSTS = Costs(fee_bp=10, slippage_bp=0)


def build_trade_ledger(trades):
    """A ledger of these trades, in their order."""
    columns = [field.name for field in fields(Ledger)][: len(Trade._fields)]
    assert columns == list(Trade._fields)
    return Ledger(
        *(np.array([getattr(t, name) for t in trades], KINDS.get(name, float)) for name in columns)
    )


def make_free_ledger(*trades, **counts):
    """Trades of (entry bar, exit bar, entry, stop, exit, reason), without costs."""
    rows = [
        Trade(e - 1, e, x, REASONS.index(why), entry, stop, entry + 9, leave,
              (leave - entry) / (entry - stop), 1 if entry > stop else -1, stop, x - e + 1)
        for e, x, entry, stop, leave, why in trades
    ]  # fmt: skip
    return replace(build_trade_ledger(rows), **counts)


def make_flat_bars(*closes, step_ns, symbol="PAPER", high=None, low=None):
    """Bars whose open, high and low are their close where they are not given."""
    price = np.array(closes, np.float64)
    high, low = (price if some is None else np.array(some, float) for some in (high, low))
    times = np.arange(len(price), dtype=np.int64) * step_ns
    return Bars(times, price, high, low, price, np.ones(len(price)), symbol, step_ns)


def trade(bar, reason, entry, stop, leave):
    """A trade that is entered after `bar` and left two bars later, at given prices."""
    risk = entry - stop
    r = ((leave - entry) - COSTS.per_side * (entry + leave)) / risk
    return Trade(bar, bar + 1, bar + 3, reason, entry, stop, entry + 2 * risk, leave, r, 1, stop, 3)


def collect_ledgers(bars, *ledgers):
    """Trades of ledgers, each in a window of its own over the same bars, all but one held out."""
    roles = ["search", *["held_out"] * len(ledgers)]
    windows = [Window(0, i * 100, (i + 1) * 100, roles[i]) for i in range(len(ledgers))]
    return collect_trades(
        [build_trade_ledger(trades) for trades in ledgers], windows, [bars], COSTS
    )
