"""Members as strategies for freqtrade, which trades them by its own backtest."""

from dataclasses import replace

import pandas as pd
import pytest

from engine.accounts.ledger import Trade
from optimizer.export.programs import build_program
from optimizer.run.task import ledger_rows
from strategy import words as w
from tests.support.exports import build_task
from tests.support.freqtrade_offline import backtest

FAST, SLOW = w.ema(w.close, 5), w.ema(w.close, 20)
STRATEGIES = {
    "cross": {
        "long": w.crosses_above(FAST, SLOW), "exit_long": w.crosses_below(FAST, SLOW),
        "stop": w.share(0.03), "target": w.r_multiple(2),
    },
    "trail": {
        "long": w.close > w.lag(w.highest(w.high, 20), 1), "stop": w.from_entry(2 * w.atr(14)),
        "trail": w.trail(w.from_entry(2 * w.atr(14)), after=0.5),
    },
    "both": {
        "long": w.close > w.lag(w.highest(w.high, 10), 1), "stop": w.share(0.02),
        "target": w.r_multiple(1.5), "break_even": 0.5, "max_hold": 12,
    },
    "late": {
        "long": w.close < FAST, "stop": w.beyond_bar(0.5 * w.atr(14)), "target": w.r_multiple(1),
        "delay": 2, "max_hold": 6,
    },
}  # fmt: skip
"""They are only bought, and say together all that is exported to freqtrade."""


def build_spec(name):
    """A strategy of a name."""
    return w.strategy("As it is called.", name=name, **STRATEGIES[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STRATEGIES)
def test_freqtrade_trades_as_the_run(name, gapped_bars, tmp_path):
    """Every trade begins at the same bar and price; what differs at its end is named."""
    pytest.importorskip("freqtrade", reason="the library is not installed")
    task = replace(build_task("seller_exhaustion", gapped_bars), spec=build_spec(name))
    genome = task.spec.layout.defaults
    (ledger,) = task.full_engine(device="cpu").trades(genome)
    (tmp_path / "member.py").write_text(build_program(task, genome, "A try.", "freqtrade"))
    frame = pd.read_csv(gapped_bars)
    frame.insert(0, "date", pd.to_datetime(frame.pop("timestamp"), utc=True))
    theirs = backtest(tmp_path, frame)
    bar_of = {date: bar for bar, date in enumerate(frame["date"])}
    entered = [bar_of[date] for date in theirs["open_date"]]
    left = [bar_of[date] for date in theirs["close_date"]]
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    assert entered == ours["entry_bar"].tolist()
    assert theirs["open_rate"].tolist() == pytest.approx(ours["entry"].tolist(), abs=1e-6)
    same = 0
    for trade, bar, price, reason in zip(
        ours.itertuples(), left, theirs["close_rate"], theirs["exit_reason"], strict=True
    ):
        row = frame.iloc[bar]
        if bar == trade.exit_bar and price == pytest.approx(trade.exit, abs=1e-6):
            same += 1
        elif trade.reason == "time":
            assert (bar, price) == (trade.exit_bar + 1, pytest.approx(row["open"]))
        elif trade.reason == "target" and bar > trade.exit_bar:
            # It was met there, and not passed.
            assert frame["high"][trade.exit_bar] == pytest.approx(trade.target, abs=1e-6)
        elif trade.reason == "target":
            assert bar == trade.exit_bar
            assert price == pytest.approx(row["open"])
            assert price > trade.target
        elif trade.reason == "end":
            assert price == pytest.approx(row["open"])
        else:
            # A stop that had moved: the target was asked first, or the stop before was met too.
            assert trade.reason == "stop"
            assert trade.last_stop > trade.stop
            assert bar == trade.exit_bar
            assert reason == "roi" or trade.stop - 1e-6 <= price < trade.exit
    assert len(ours) > 30
    assert same >= len(ours) // 2


def test_a_strategy_says_what_differs(gapped_bars):
    """In its head, and only what the member can meet."""
    heads = {}
    for name in STRATEGIES:
        task = replace(build_task("seller_exhaustion", gapped_bars), spec=build_spec(name))
        genome = task.spec.layout.defaults
        text = build_program(task, genome, "A try.", "freqtrade")
        compile(text, "member.py", "exec")
        heads[name] = text.partition("from __future__")[0].replace("\n# ", " ")
    assert ["Moved stop" in head for head in heads.values()] == [False, True, True, False]
    assert ["Time: out" in head for head in heads.values()] == [False, False, True, True]
