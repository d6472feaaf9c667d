"""Ledgers from single trades."""

from dataclasses import fields

import numpy as np

from engine.ledger import Ledger, Trade

KINDS = {"signal_bar": np.int64, "entry_bar": np.int64, "exit_bar": np.int64, "reason": np.int8,
         "side": np.int8}  # fmt: skip


def ledger_of(trades):
    """A ledger of these trades, in their order."""
    columns = [field.name for field in fields(Ledger) if field.name != "rejected"]
    assert columns == list(Trade._fields)
    return Ledger(
        *(np.array([getattr(t, name) for t in trades], KINDS.get(name, float)) for name in columns)
    )


def trade_of(r):
    """A trade with that result; all else is of no interest."""
    return Trade(0, 1, 1, 0, 1.0, 0.5, 2.0, 1.0, r, 1, 0.5)
