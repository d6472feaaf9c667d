"""Trades as a frame."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from engine.ledger import REASONS
from optimizer.report.trades import Trades

SAMPLES = ("in", "held out")
"""What a window is to the search: it was searched on, or it was held out."""


def trades_frame(trades: Trades, symbols: Sequence[str]) -> pd.DataFrame:
    """Trades as a frame, as `Run.trades` describes it.

    Args:
        trades: Of one individual.
        symbols: Name of each series, [S].
    """
    symbol = pd.Categorical.from_codes(trades.series, categories=pd.Index(symbols))
    sample = pd.Categorical.from_codes(
        trades.is_held_out.astype(np.int64), categories=pd.Index(SAMPLES)
    )
    return pd.DataFrame(
        {
            "symbol": symbol,
            "sample": sample,
            "entry_time": pd.to_datetime(trades.entry_ns, unit="ns", utc=True),
            "exit_time": pd.to_datetime(trades.exit_ns, unit="ns", utc=True),
            "bars_held": trades.bars_held,
            "reason": pd.Categorical.from_codes(trades.reason, categories=pd.Index(REASONS)),
            "entry": trades.entry,
            "stop": trades.stop,
            "target": trades.target,
            "exit": trades.exit,
            "r": trades.r,
            "cost_r": trades.cost_r,
            "signal_bar": trades.signal_bar,
            "entry_bar": trades.entry_bar,
            "exit_bar": trades.exit_bar,
            "window": trades.window,
        }
    )
