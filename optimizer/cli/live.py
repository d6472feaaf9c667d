"""A search as a person watches it on stderr, and may stop it."""

import contextlib
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from optimizer.cli.console import stderr
from optimizer.cli.notes import handle_signals, stop_now
from optimizer.cli.progress import open_show
from optimizer.formatting import format_count
from optimizer.run.problem import Evaluator, JustSearched
from optimizer.run.runner import Observer, record_bytes
from optimizer.run.task import Task
from optimizer.store import RunStore

if TYPE_CHECKING:
    from optimizer.evidence.concurrent_folds import SpareCores


class Watcher(Observer):
    """Says what is searched and how far it is, and hears when a person wants to stop."""

    def __init__(self, *, quiet: bool = False, beside: "SpareCores | None" = None) -> None:
        self._console, self.quiet = stderr(), quiet
        self.show = open_show(self._console, quiet=quiet)
        super().__init__(self.show, beside)
        self._is_searching = False

    @contextlib.contextmanager
    def listening(self) -> Iterator["Watcher"]:
        """Turn Ctrl-C, SIGTERM and a hang-up into a wish to stop, a second one into an order."""
        with self.show, handle_signals(self._on_signal):
            yield self

    def should_stop(self) -> bool:
        """Whether a person asked to stop."""
        return self.show.is_stopping

    def on_search_start(self, task: Task, engine: Evaluator, store: RunStore) -> None:
        """Say what is searched, on what, and where it is recorded."""
        super().on_search_start(task, engine, store)
        self._is_searching = True
        for note in (*task.notes, *store.warnings):
            self._console.say(f"note: {note}")
        markets, room = task.markets, f"{record_bytes(task) / 1e6:,.0f} MB at most"
        self.say(
            f"{task.spec.name} on {markets.symbol} {markets.timeframe}, "
            f"{format_count(markets.n_bars, 'bar')}"
        )
        self.say(f"device {engine.device}: {engine.device_reason}")
        self.say(f"memory for {engine.memory_plan(task.config.population)}")
        self.say(f"run {store.run_id} in {store.path}, {room}")

    def on_search_end(self, just: JustSearched) -> None:
        """From here on a signal is an order."""
        super().on_search_end(just)
        self._is_searching = False

    def say(self, text: str) -> None:
        """Say a line, unless the person wants none."""
        if not self.quiet:
            self._console.say(text)

    def _on_signal(self, received: int, frame: FrameType | None) -> None:
        if self.show.is_stopping or not self._is_searching:
            stop_now(received, frame)
        self.show.is_stopping = True
