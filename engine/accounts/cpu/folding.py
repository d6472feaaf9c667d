"""Results of trades folded into sums, in their order: one addition a trade for each sum."""

from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.runtime.compiling.loops import compiled_loop, compiled_part
from engine.runtime.cpu.types import Floats

(
    TRADES, WINS, SUM_R, SUM_R2, GAIN_R, LOSS_R, PEAK_R, MAX_DRAWDOWN_R, EQUITY, PEAK_EQUITY,
    MAX_DRAWDOWN, BARS_IN_MARKET, REJECTED, FIRST_REASON,
) = range(14)  # fmt: skip
LOSS_R2 = ACCUMULATOR_INDEX["loss_r2"]
SUM_R_SHORT = ACCUMULATOR_INDEX["sum_r_short"]


@compiled_loop
def begin(out: Floats) -> None:
    """Accumulators [A] before any trade."""
    out[:] = 0.0
    out[EQUITY] = 1.0
    out[PEAK_EQUITY] = 1.0


@compiled_loop
def fold(out: Floats, r: float, risk_fraction: float) -> None:
    """Step of the sums that depend on a trade's result."""
    fold_r(out, r)
    fold_worth(out, out[EQUITY] * (1.0 + risk_fraction * r))


@compiled_part
def fold_r(out: Floats, r: float) -> None:
    """Step of the sums in units of risk by one trade."""
    out[SUM_R] += r
    out[SUM_R2] += r * r
    if r > 0.0:
        out[WINS] += 1.0
        out[GAIN_R] += r
    else:
        out[LOSS_R] += -r
        out[LOSS_R2] += r * r
    out[PEAK_R] = max(out[PEAK_R], out[SUM_R])
    out[MAX_DRAWDOWN_R] = max(out[MAX_DRAWDOWN_R], out[PEAK_R] - out[SUM_R])


@compiled_part
def fold_worth(out: Floats, equity: float) -> None:
    """Step of the account's own sums by its worth after a trade; ruin is for ever."""
    out[EQUITY] = equity if out[EQUITY] > 0.0 and equity > 0.0 else 0.0
    out[PEAK_EQUITY] = max(out[PEAK_EQUITY], out[EQUITY])
    drawdown = (out[PEAK_EQUITY] - out[EQUITY]) / out[PEAK_EQUITY]
    out[MAX_DRAWDOWN] = max(out[MAX_DRAWDOWN], drawdown)
