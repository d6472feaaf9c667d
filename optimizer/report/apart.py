"""One individual taken apart: its rows, its signals, and each trade in reference and engine."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from data.plain import methods_take_plain
from engine.accounts.ledger import Ledger
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ConfigError
from optimizer.report.pick import require_place
from optimizer.report.trades import build_trades_frame, collect_trades
from optimizer.run.backtest import list_details
from optimizer.run.task import Task
from optimizer.search.generation import Floats

if TYPE_CHECKING:
    import pandas as pd


@methods_take_plain(ConfigError)
class Apart:
    """An individual in one window, seen from inside.

    >>> from optimizer import load_run
    >>> apart = load_run(example).apart(0)
    >>> bool(apart.trades()["same"].all())
    True

    Args:
        genome: [G], legal.
    """

    def __init__(self, task: Task, genome: Floats, window: int = 0) -> None:
        self.task = task
        self.genome = genome
        self.genes: Mapping[str, float] = task.spec.layout.decode(genome)
        windows = task.markets.all_windows
        self.window = windows[require_place("the candidate", "window", window, len(windows))]
        markets = task.markets
        self._number = window
        self._engine = task.full_engine(device="cpu")
        self._reference = Reference(
            task.spec, markets.series, [self.window], task.costs, form=CompiledForm()
        )

    def rows(self) -> "pd.DataFrame":
        """A row a bar of the window with every indicator row of the individual, by the reference.

        The index is the time at which the bar opens; NaN before an indicator is known.
        """
        import pandas as pd

        window = self.window
        bars = self.task.markets.series[window.series]
        kept = slice(window.start, window.end)
        columns: dict[str, object] = {"bar": np.arange(window.start, window.end)}
        columns |= {name: getattr(bars, name)[kept] for name in ("open", "high", "low", "close")}
        for name, row in self._reference.rows(self.genes, window.series).items():
            columns[f"row {name}"] = row[kept]
        index = pd.to_datetime(bars.timestamp[kept], unit="ns", utc=True)
        return pd.DataFrame(columns, index=pd.DatetimeIndex(index, name="time"))

    def entry(self) -> "pd.DataFrame":
        """A row a bar: whether each condition of entries and exits holds, parts before the whole.

        ``signal`` also asks that the warm-up is over and a bar follows.
        """
        import pandas as pd

        index = self.rows().index
        kept = slice(self.window.start, self.window.end)
        frame = pd.DataFrame({"bar": np.arange(kept.start, kept.stop)}, index=index)
        for text, holds in self._reference.conditions(self.genes, self.window.series).items():
            frame[text] = holds[kept]
        frame["signal"] = frame["bar"].isin(self.signals())
        return frame

    def signals(self) -> list[int]:
        """Bars that signal, whatever the position, as the reference finds them."""
        return list(self._reference.signals(self.genome)[0])

    def trades(self) -> "pd.DataFrame":
        """A row a trade in reference and engine: ``engine_`` stands before those of the engine.

        ``same`` is whether all of it is equal in every bit.
        """
        (expected,) = self._reference.trades(self.genome)
        actual = self._engine.trades(self.genome)[self._number]
        frame = self._frame(expected)
        other = self._frame(actual)
        for name in ("exit_bar", "exit", "r"):
            frame[f"engine_{name}"] = other[name].reindex(frame.index)
        pairs = zip_longest(_trades_as_bytes(expected), _trades_as_bytes(actual))
        same = [left == right for left, right in pairs]
        frame["same"] = np.array(same[: len(frame)], np.bool_)
        return frame

    def _frame(self, ledger: Ledger) -> "pd.DataFrame":
        markets, ledgers = self.task.markets, list(self._engine.trades(self.genome))
        ledgers[self._number] = ledger
        details = list_details(self.task, self.genome, ledgers)[self._number]
        trades = collect_trades([ledger], [self.window], markets.series, self.task.costs, [details])
        symbols = [markets.symbols[self._number]]
        frame = build_trades_frame(trades, symbols, [self.window], markets.series)
        return frame.drop(columns=["window", "sample"])


def _trades_as_bytes(ledger: Ledger) -> list[bytes]:
    """All of each trade, so that two zeros of different sign differ."""
    columns = ledger.columns().values()
    return [b"".join(cell.tobytes() for cell in row) for row in zip(*columns, strict=True)]
