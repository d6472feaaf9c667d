"""Tasks whose members are exported, and their programs as modules."""

import re

import numpy as np
import pandas as pd

from engine.accounts.ledger import Trade
from optimizer.config.run_config import make_config
from optimizer.export.programs import build_program
from optimizer.run.task import ledger_rows, prepare
from tests.support import examples
from tests.support.pine import run_pine


def build_task(strategy, market):
    """The task of a strategy on a market."""
    name = strategy if strategy.islower() else f"{examples.__file__}:{strategy}"
    return prepare(make_config({"strategy": name, "data": [f"csv:{market}"]}, where="test"))


def write_bars(bars, path):
    """Write bars as a file that a program reads."""
    names = ("open", "high", "low", "close", "volume")
    columns = {name: getattr(bars, name) for name in names}
    times = pd.to_datetime(bars.timestamp, utc=True) + pd.Timedelta("18262D")
    pd.DataFrame({"timestamp": times, **columns}).to_csv(path, index=False)


def run_program(task, platform):
    """The names of a program that was run, but for its main part."""
    return run_text(build_program(task, task.spec.layout.defaults, "A try.", platform))


def run_text(text):
    """The same of a program's text."""
    names = {"__name__": "program"}
    exec(compile(text, "program", "exec"), names)
    return names


def compare_trades(program, ours, path):
    """The portfolio of a program whose trades are ours, whatever is noted of them."""
    portfolio, theirs = program["backtest"](program["read_bars"](str(path)))
    shared = theirs.columns.intersection(ours.columns)
    assert {"signal_bar", "exit_bar", "reason", "entry", "exit", "target", "stop", "r"} < {*shared}
    pd.testing.assert_frame_equal(ours[shared], theirs[shared], check_dtype=False, check_exact=True)
    return portfolio


def build_frame(ledger):
    """Trades of a window as a frame, with those of each target."""
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    for leg in range(ledger.leg_bar.shape[1]):
        ours[f"leg{leg + 1}_bar"] = ledger.leg_bar[:, leg]
        ours[f"leg{leg + 1}_price"] = ledger.leg_price[:, leg]
    return ours


def compare_in_pine(task, most_apart):
    """Hold a script of TradingView's against the run, in every trade that ends before the bars do.

    The tester begins and ends trades at the same bars, but for this share of them: stop and target
    of an entry bar hang on the close before it there.
    """
    genome = task.spec.layout.defaults
    (ledger,) = task.build_reference(task.markets.windows).trades(genome)
    ours = build_frame(ledger).query("reason != 'end'")
    assert len(ours) > 2
    text = build_program(task, genome, "A try.", "pine")
    (charge,) = re.findall(r"commission_value = ([\d.e-]+)", text)
    assert float(charge) == 100 * float(task.costs.per_side) > 0
    log, fills = run_pine(text, task.markets.series[0])
    names = ["entry_bar", "exit_bar", "side", "reason", "entry", "exit", "r"]
    kept = pd.DataFrame([line.split(",") for line in log], columns=names)
    assert kept["reason"].tolist() == ours["reason"].tolist()
    for name in names[:3]:
        assert kept[name].astype(int).tolist() == ours[name].tolist()
    for name in names[4:]:
        np.testing.assert_allclose(kept[name].astype(float), ours[name], rtol=1e-9, atol=1e-9)
    ended = {(fill.entry_bar, fill.side): fill.exit_bar for fill in fills}
    tested = [ended.get(key) for key in zip(ours["entry_bar"], ours["side"], strict=True)]
    apart = sum(left != bar for left, bar in zip(tested, ours["exit_bar"], strict=True))
    assert apart <= max(most_apart * len(ours), 1)
