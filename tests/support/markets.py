"""Hand-made markets, ledgers and columns for rules that can be worked out on paper."""

from dataclasses import fields, replace

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS, Ledger, Trade
from optimizer.report.trades import collect_trades
from strategy.words import atr, beyond_bar, gene, length, r_multiple, strategy, volume

PAPER_SPEC = strategy(
    "Long after a bar of high volume; for tests.",
    long=volume > gene("volume_min", 50.0, 0.0, 1e9),
    stop=beyond_bar(gene("stop_mult", 1.0, 0.1, 10.0) * atr(length("atr_window", 2, 2, 50))),
    target=r_multiple(gene("reward", 2.0, 0.1, 10.0)),
    max_hold=length("max_hold", 5, 1, 50),
    name="paper",
    order=("atr_window", "volume_min"),
)

QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
SIGNAL = (100.0, 101.0, 99.0, 100.0, 100.0)


WIN = (100.0, 1100.0, 99.0, 100.0)
"""An entry bar that reaches any target."""

CRASH = (1.0, 2.0, 1.0, 1.0)
"""Opens 99 below the entry: a loss of 33 R."""


def winning_market(trades):
    """So many trades that end at their target, alike but for rounding."""
    return paper_market(*[WIN, QUIET, SIGNAL] * (trades - 1), WIN)


def losing_market(trades):
    """So many trades that lose 33 R each."""
    return paper_market(*[QUIET, CRASH, QUIET, QUIET, SIGNAL] * trades)


def join_markets(*markets):
    """Markets of this module, one after the other."""
    names = ("open", "high", "low", "close", "volume")
    columns = {
        name: np.concatenate([getattr(market, name) for market in markets]) for name in names
    }
    return _bars(**columns)


def paper_market(*later, quiet=3):
    """Quiet bars, one signal, then the bars given as (open, high, low, close[, volume])."""
    rows = [QUIET] * quiet + [SIGNAL] + [(*bar, 1.0)[:5] for bar in later]
    names = ("open", "high", "low", "close", "volume")
    return _bars(**dict(zip(names, np.array(rows).T, strict=True)))


def _bars(**columns):
    """Bars of fifteen minutes without gaps."""
    timestamp = np.arange(len(columns["open"]), dtype=np.int64) * 900 * 10**9
    return Bars(timestamp=timestamp, **columns, symbol="PAPER", timeframe_ns=900 * 10**9)


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
