"""Accumulators of a ledger whose trades were chosen after they were listed."""

import numpy as np

from engine.accounts.cpu.folding import BARS_IN_MARKET, REJECTED, TRADES
from engine.accounts.cpu.joint_money import fold_ledgers
from engine.accounts.cpu.merging import MAX_LEVERAGE
from engine.accounts.ledger import ACCUMULATOR_INDEX, AT_STOP, EXIT_PLACES, REASONS, Ledger
from engine.accounts.stake import Stake
from engine.runtime.cpu.types import Floats

SHORTS, WINS_SHORT, PARTIALS, SKIPPED = (
    ACCUMULATOR_INDEX[name] for name in ("shorts", "wins_short", "partials", "skipped")
)

STOP, TARGET = REASONS.index("stop"), REASONS.index("target")


def fold_ledger(ledger: Ledger, stake: Stake, leverages: Floats) -> Floats:
    """Accumulators [A] of one window of a limited account.

    `leverages` [K] are those of its trades alone.
    """
    out = fold_ledgers([ledger], np.arange(len(ledger)), stake)
    is_short = ledger.side < 0
    out[TRADES], out[BARS_IN_MARKET] = len(ledger), ledger.held.sum()
    out[REJECTED], out[SKIPPED] = ledger.rejected, ledger.skipped
    # What ends at a stop that has moved is counted with the stop.
    reasons = np.where(np.isin(ledger.reason, AT_STOP), STOP, ledger.reason)
    out[list(EXIT_PLACES)] = np.bincount(reasons, minlength=len(EXIT_PLACES))
    out[SHORTS], out[WINS_SHORT] = is_short.sum(), (is_short & (ledger.r > 0.0)).sum()
    reached = ledger.leg_bar >= 0
    is_last = reached & (ledger.leg_bar == ledger.exit_bar[:, None])
    is_last &= (ledger.reason == TARGET)[:, None]
    out[PARTIALS] = reached.sum() - is_last.any(axis=1).sum()
    out[MAX_LEVERAGE] = (ledger.gross[:, 0] + leverages).max(initial=0.0)
    return out
