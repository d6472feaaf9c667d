"""Members as scripts for nautilus_trader, which trades them by its own engine."""

import numpy as np
import pandas as pd
import pytest

from engine.accounts.ledger import Trade
from optimizer.export.programs import build_program
from optimizer.run.task import ledger_rows
from tests.support.exports import build_task, run_program

SAME = ["signal_bar", "entry_bar", "exit_bar", "side", "reason"]
PRICES = ["entry", "stop", "target", "exit", "r"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Timestamp.utcnow", "ignore:DatetimeIndex.dayofweek")
@pytest.mark.parametrize(
    "strategy", ["seller_exhaustion", "MACD_CROSS", "OPENING_RANGE", "DONCHIAN_TRAIL"]
)
def test_nautilus_trades_as_the_run(strategy, gapped_bars):
    """Every trade, at prices of nine digits; but for a target before the stop in one bar."""
    pytest.importorskip("nautilus_trader", reason="the library is not installed")
    task = build_task(strategy, gapped_bars)
    (ledger,) = task.full_engine(device="cpu").trades(task.spec.layout.defaults)
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    names = run_program(task, "nautilus_trader")
    _, theirs = names["backtest"](names["read_bars"](str(gapped_bars)))
    assert ours["signal_bar"].tolist() == theirs["signal_bar"].tolist()
    is_other = (ours["reason"] == "stop") & (theirs["reason"] == "target")
    assert is_other.sum() <= len(ours) // 20
    side = names["plan_of"](names["read_bars"](str(gapped_bars))).side
    for trade in ours[is_other].itertuples():
        # A signal of the other side came while it was open, or the bar opened beyond the target.
        is_turned = (side[trade.signal_bar + 1 : trade.exit_bar] == -trade.side).any()
        opened = task.markets.series[0].open[trade.exit_bar]
        assert is_turned or trade.side * opened >= trade.side * trade.target
    same, other = ours[~is_other], theirs[~is_other]
    assert (same[SAME].to_numpy() == other[SAME].to_numpy()).all()
    np.testing.assert_allclose(
        other[PRICES].to_numpy(float), same[PRICES].to_numpy(float), rtol=0, atol=1e-6
    )
    if strategy != "seller_exhaustion":
        assert len(ours) > 30
        assert (ours["reason"] == "stop_gap").any()


def test_a_script_says_what_differs(gapped_bars):
    """In its head, and only what the member can meet."""
    task = build_task("MACD_CROSS", gapped_bars)
    text = build_program(task, task.spec.layout.defaults, "A try.", "nautilus_trader")
    assert "Stop and target in one bar" in text.replace("\n#  ", " ").replace("\n# ", " ")
    compile(text, "member.py", "exec")
    one_sided = build_task("seller_exhaustion", gapped_bars)
    genome = one_sided.spec.layout.defaults
    text = build_program(one_sided, genome, "A try.", "nautilus_trader")
    assert "Stop and target in one bar" not in text
