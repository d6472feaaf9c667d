"""Progress as people see it: a live view in a terminal, lines elsewhere, a line of a notebook."""

import math
import sys
import time
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from data.progress import Progress, Show, format_duration, join_words
from optimizer.formatting import metric

LEVELS, PLAIN_LEVELS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
"""Heights of a trend, and those of a terminal that has ASCII alone."""

MOST_POINTS = 512
"""Values of a trend that are kept; then every second one goes."""

WIDEST_TREND, LEAST_TREND = 40, 8

STALE = 10
"""Steps without a better value before that is shown."""


class LineShow(Show):
    """Shows a line a second."""

    has_lines = True

    def show(self) -> None:
        """Say a line."""
        self._say(_describe(self))


class PageShow(Show):
    """Shows a line in a notebook, in place of the one before."""

    every_s = 0.2

    _handle: Any = None

    def show(self) -> None:
        """Replace the line."""
        ipython: Any = import_module("IPython.display")
        shown = ipython.HTML(f"<p>{escape(_describe(self))}</p>")
        if self._handle is None:
            self._handle = ipython.display(shown, display_id=True)
        else:
            self._handle.update(shown)


class TerminalShow(Show):
    """Draws a bar, and how the best values came about; the clock goes on between steps.

    Args:
        console: Of the terminal.
        say: Takes a line.
    """

    every_s, has_lines = 0.0, True

    def __init__(self, console: Console, say: Callable[[str], object] = lambda line: None) -> None:
        super().__init__(say)
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self._title, self._title_s = "", 0.0
        self._trends: dict[str, list[float]] = {}
        self._changed: dict[str, int] = {}

    def show(self) -> None:
        """Remember it for the next drawing; a thread draws."""
        progress = self.progress
        for name, value in progress.best.items():
            trend = self._trends.setdefault(name, [])
            if not trend or value != trend[-1]:
                self._changed[name] = progress.done
            if len(trend) == MOST_POINTS:
                del trend[::2]
            trend.append(value)
        title = progress.phase.partition(": ")[0]
        if title != self._title:
            self._title, self._title_s = title, time.monotonic()
        self._live.start()

    def close(self) -> None:
        """Take the view away."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, as rich asks."""
        progress = self.progress
        title, _, part = progress.count.partition(": ")
        elapsed = format_duration(time.monotonic() - self._title_s)
        left = "stopping" if self.is_stopping else self.describe_left()
        total = progress.planned or None
        line = Table.grid(padding=(0, 2), expand=True)
        line.add_column(no_wrap=True)
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        bar = ProgressBar(total=total, completed=progress.done, pulse=total is None)
        line.add_row(title, bar, join_words(elapsed, left))
        yield line
        if progress.best:
            levels = PLAIN_LEVELS if options.ascii_only else LEVELS
            yield self._draw_trends(progress, levels, options.max_width)
        if words := join_words(part, progress.note):
            yield Text(words, style="dim")

    def _draw_trends(self, progress: Progress, levels: str, width: int) -> Table:
        """The best value of each objective, and how it came there."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis")
        rows = []
        for name, best in progress.best.items():
            since = progress.done - self._changed.get(name, progress.done)
            stale = f"the same for {since:,} generations" if since >= STALE else ""
            rows.append((f"best {name}", metric(name, best), stale))
        # Names, values and words are whole; the trend has the room that they leave.
        taken = sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
        room = min(WIDEST_TREND, max(width - taken, LEAST_TREND))
        for objective, (heading, value, stale) in zip(progress.best, rows, strict=True):
            trend = draw_trend([*self._trends.get(objective, ())], room, levels)
            table.add_row(heading, value, trend, stale)
        return table


def choose_show() -> Show:
    """Viewer of work that Python began: of a notebook or an interactive session, else none."""
    kernel: Any = sys.modules.get("ipykernel.kernelapp")
    if kernel is not None and kernel.IPKernelApp.initialized():
        return PageShow()
    if hasattr(sys, "ps1") and sys.stderr.isatty():
        return TerminalShow(Console(stderr=True))
    return Show()


def draw_trend(values: Sequence[float], width: int, levels: str = LEVELS) -> str:
    """Values over time as heights, at most `width` of them; blank where there was none.

    >>> draw_trend([1.0, 1.0, 2.0, 8.0], 3)
    '▁▁█'
    """
    count = min(len(values), width)
    # The last of each stretch, so that the newest value is always shown.
    shown = [values[(index + 1) * len(values) // count - 1] for index in range(count)]
    known = [value for value in shown if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(
        levels[round((value - low) * scale)] if math.isfinite(value) else " " for value in shown
    )


def _describe(show: Show) -> str:
    """A line on what a viewer heard last."""
    return show.describe(
        *(f"{name} {metric(name, best)}" for name, best in show.progress.best.items())
    )
