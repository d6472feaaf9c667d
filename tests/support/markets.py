"""Hand-made markets for rules that can be worked out on paper.

Quiet bars go from 99 to 101 and open and close at 100, so that the mean range is exactly 2. A bar
with a volume of 100 signals. With the genes of `PAPER_GENES` the stop then stands at 97, the entry
at 100, the risk is 3 and the target stands at 106.
"""

import numpy as np

from data.bars import Bars
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
