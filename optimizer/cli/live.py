"""Progress on stderr: a live view in a terminal, a line a second elsewhere, nothing if quiet."""

import contextlib
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from rich.live import Live

from optimizer.cli.console import LINE_EVERY_S, stderr
from optimizer.cli.notes import COMPILES, handle_signals, relay_logs, stop_now
from optimizer.cli.view import SearchView, format_hypervolume, format_rate, format_time_left
from optimizer.formatting import format_count, metric
from optimizer.run.problem import Evaluator, JustSearched
from optimizer.run.progress import Progress
from optimizer.run.runner import Observer, record_bytes
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store import RunStore

if TYPE_CHECKING:
    from optimizer.evidence.concurrent_folds import SpareCores

FRAME_EVERY_S = 0.1


class Watcher(Observer):
    """Shows how a run stands, and hears when a person wants to stop.

    `beside` searches for the folds of its judgement meanwhile.
    """

    def __init__(self, *, quiet: bool = False, beside: "SpareCores | None" = None) -> None:
        self._console = stderr()
        self.quiet = quiet
        self._beside = beside
        self._objectives: list[str] = []
        self._view = SearchView(())
        self._live: Live | None = None
        self._last_shown = 0.0
        self._last_generation = 0
        self._is_searching = False
        self._is_stopping = False
        self.just = JustSearched()
        """Engine and trials of the search, once it is over."""

    @contextlib.contextmanager
    def listening(self) -> Iterator["Watcher"]:
        """Turn Ctrl-C, SIGTERM and a hang-up into a wish to stop, a second one into an order."""
        try:
            with handle_signals(self._on_signal), relay_logs((COMPILES,), self._say):
                yield self
        finally:
            self._end_live()

    def should_stop(self) -> bool:
        """Whether a person asked to stop."""
        return self._is_stopping

    def on_task(self, task: Task, warm_start: Floats | None) -> None:
        """Begin what is searched beside the run."""
        if self._beside is not None:
            self._beside.begin(task, warm_start)

    def on_search_start(self, task: Task, engine: Evaluator, store: RunStore) -> None:
        """Say what is searched, on what, and where it is recorded."""
        if self._beside is not None:
            self._beside.give_room(engine)
        self._is_searching = True
        self._objectives = list(task.goals.names)
        self._last_generation = task.config.generations
        for note in (*task.notes, *store.warnings):
            self._console.say(f"note: {note}")
        if self.quiet:
            return
        plan = engine.memory_plan(task.config.population)
        self._console.say(
            f"{task.spec.name} on {task.markets.symbol} {task.markets.timeframe}, "
            f"{format_count(task.markets.n_bars, 'bar')}"
        )
        self._console.say(f"device {engine.device}: {engine.device_reason}")
        self._console.say(f"memory for {plan}")
        room = f"{record_bytes(task) / 1e6:,.0f} MB at most"
        self._console.say(f"run {store.run_id} in {store.path}, {room}")
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._view = view = SearchView(self._objectives)
            self._live = Live(view, console=self._console, refresh_per_second=8, transient=True)
            self._live.start()

    def is_due(self, generation: int) -> bool:
        """Whether a person could see it: a line a second, a frame ten times a second, the last."""
        every = LINE_EVERY_S if self._live is None else FRAME_EVERY_S
        is_time = time.monotonic() - self._last_shown >= every
        if self.quiet or self._is_stopping:
            # After a hang-up nothing can be shown any more.
            return False
        return is_time or generation == self._last_generation

    def generation(self, progress: Progress) -> None:
        """Show a generation."""
        self._last_shown = time.monotonic()
        if self._live is not None:
            self._view.update(progress)
            return
        self._console.say(
            f"generation {progress.generation}/{progress.generations}: "
            f"front {progress.front}, feasible {progress.feasible:.0%}, "
            f"hypervolume {format_hypervolume(progress)}, {self._best(progress)}"
            + "".join(
                f", {part}" for part in (format_rate(progress), format_time_left(progress)) if part
            )
        )

    def _say(self, text: str) -> None:
        """Say a line, unless the person wants none."""
        if not self.quiet:
            self._console.say(text)

    def on_search_end(self, just: JustSearched) -> None:
        """Keep it for who judges it; from here on a signal is an order."""
        self._is_searching = False
        self.just = just

    def certifying(self, members: int) -> None:
        """Say that the front is being replayed."""
        self._end_live()
        if not self.quiet and members:
            shown = format_count(members, "member")
            self._console.say(f"replaying {shown} of the front on the reference")

    def _best(self, progress: Progress) -> str:
        pairs = zip(self._objectives, progress.best, strict=True)
        return ", ".join(f"{name} {metric(name, value)}" for name, value in pairs)

    def _on_signal(self, received: int, frame: FrameType | None) -> None:
        if self._is_stopping or not self._is_searching:
            stop_now(received, frame)
        self._is_stopping = self._view.is_stopping = True

    def _end_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
