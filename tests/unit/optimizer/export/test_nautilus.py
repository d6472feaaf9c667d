"""Members as scripts for nautilus_trader, which trades them by its own engine."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from engine.accounts.ledger import Trade
from optimizer.errors import ConfigError
from optimizer.export.programs import build_program
from optimizer.run.task import ledger_rows
from strategy import words
from tests.support.exports import build_task, run_program
from tests.support.worlds import make_bars

SAME = ["signal_bar", "entry_bar", "exit_bar", "side", "reason"]
PRICES = ["entry", "stop", "target", "exit", "r"]


@pytest.fixture(scope="module")
def gapped_bars(tmp_path_factory):
    """The path of 3,000 bars whose opens lie away from the closes before them."""
    bars, path = make_bars(3, 3000), tmp_path_factory.mktemp("gapped") / "bars.csv"
    rng = np.random.default_rng(1)
    opened = np.round(bars.open * (1 + rng.normal(0.0, 0.01, len(bars))), 2)
    columns = {
        "open": opened,
        "high": np.maximum(bars.high, opened),
        "low": np.minimum(bars.low, opened),
        "close": bars.close,
        "volume": bars.volume,
    }
    times = pd.to_datetime(bars.timestamp, utc=True) + pd.Timedelta("18262D")
    pd.DataFrame({"timestamp": times, **columns}).to_csv(path, index=False)
    return path


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
    head = text.partition("from __future__")[0].replace("\n#  ", " ").replace("\n# ", " ")
    for line in ("Traded by nautilus_trader", "Stop and target in one bar", "Gap: ", "Size: "):
        assert line in head
    compile(text, "member.py", "exec")
    one_sided = build_task("seller_exhaustion", gapped_bars)
    genome = one_sided.spec.layout.defaults
    text = build_program(one_sided, genome, "A try.", "nautilus_trader")
    assert "Stop and target in one bar" not in text


def test_orders_that_rest_are_not_exported_there(gapped_bars):
    """By the name of the part."""
    task = build_task("seller_exhaustion", gapped_bars)
    spec = words.strategy(
        "Waits.", name="waits", long=words.close > words.open, stop=words.share(0.02),
        entry=words.stop_at(words.high),
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"entry.*a program for nautilus_trader does not know"):
        build_program(replace(task, spec=spec), spec.layout.defaults, "A try.", "nautilus_trader")
