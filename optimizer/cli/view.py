"""View of a running search on a terminal: its progress, and the trends of its best values."""

import math
import time
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from optimizer.formatting import LONG, format_duration, metric, number
from optimizer.run.progress import Progress

LEVELS, PLAIN_LEVELS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
"""Heights of a trend, and those of a terminal that has ASCII alone."""

MOST_POINTS = 512
"""Values of a trend that are kept; then every second one goes."""

WIDEST_TREND, LEAST_TREND = 40, 8

STALE = 10
"""Generations without a better value before that is shown."""


class SearchView:
    """Draws a search anew whenever it is printed, so that the clock goes on between generations.

    Args:
        objectives: Names, [O].
    """

    def __init__(self, objectives: Sequence[str]) -> None:
        self._objectives = objectives
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._best: list[tuple[float, ...]] = []
        self._changed = [0] * len(objectives)
        self.is_stopping = False

    def update(self, progress: Progress) -> None:
        """Show this generation from now on."""
        for index, value in enumerate(progress.best):
            if not self._best or value != self._best[-1][index]:
                self._changed[index] = progress.generation
        if len(self._best) == MOST_POINTS:
            del self._best[::2]
        self._best.append(progress.best)
        self._progress, self._began = progress, time.monotonic() - progress.seconds

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, as rich asks."""
        elapsed, progress = format_duration(time.monotonic() - self._began), self._progress
        if progress is None:
            yield Text(f"evaluating the initial population, {elapsed}", style="dim")
            return
        left = "stopping" if self.is_stopping else format_time_left(progress)
        bar = ProgressBar(total=max(progress.generations, 1), completed=progress.generation)
        title = f"generation {progress.generation:,} of {progress.generations:,}"
        yield _draw_line(title, bar, elapsed, left)
        levels = PLAIN_LEVELS if options.ascii_only else LEVELS
        yield self._trends(progress, levels, options.max_width)
        yield Text(
            f"front {progress.front:,}, feasible {progress.feasible:.0%}, hypervolume "
            f"{format_hypervolume(progress)}"
        )
        rate = format_rate(progress)
        yield Text(f"{progress.evaluated:,} evaluated" + (f", {rate}" if rate else ""))
        if progress.rejected:
            rejected = ", ".join(f"{name} {count:,}" for name, count in progress.rejected.items())
            yield Text(f"rejected: {rejected}", style="dim")

    def _trends(self, progress: Progress, levels: str, width: int) -> Table:
        """The best value of each objective, and how it came there."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis")
        rows = []
        for index, name in enumerate(self._objectives):
            since = progress.generation - self._changed[index]
            stale = f"the same for {since:,} generations" if since >= STALE else ""
            rows.append((f"best {name}", metric(name, progress.best[index]), stale))
        # Names, values and words are whole; the trend has the room that they leave.
        taken = sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
        room = min(WIDEST_TREND, max(width - taken, LEAST_TREND))
        for index, (name, value, stale) in enumerate(rows):
            values = [best[index] for best in self._best]
            table.add_row(name, value, draw_trend(values, room, levels), stale)
        return table


class JudgeView:
    """Draws how far a judgement is, whenever it is printed."""

    def __init__(self) -> None:
        self._began = self._part_began = time.monotonic()
        self._part, self._word = "", ""
        self._done = self._planned = self._before = 0

    def update(self, part: str, done: int, planned: int, word: str) -> None:
        """Show this part from now on; arguments as of `optimizer.evidence.checkpoint.Watch`."""
        if part != self._part:
            self._part, self._part_began, self._before = part, time.monotonic(), done
        self._done, self._planned, self._word = done, planned, word

    def describe_left(self) -> str:
        """Time that the rest of the part takes at most; empty where it is not known."""
        gained = self._done - self._before
        if gained <= 0 or self._done >= self._planned:
            return ""
        each_s = (time.monotonic() - self._part_began) / gained
        return f"{format_duration(each_s * (self._planned - self._done))} left at most"

    def describe_done(self) -> str:
        """The part, how much of it is done, and what that has shown so far."""
        done = f"{self._part} {self._done:,} of {self._planned:,}" if self._planned else self._part
        return done + (f", {self._word}" if self._word and self._done else "")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, as rich asks."""
        elapsed, left = format_duration(time.monotonic() - self._began), self.describe_left()
        total = self._planned or None
        bar = ProgressBar(total=total, completed=self._done, pulse=total is None)
        yield _draw_line("judging", bar, elapsed, left)
        yield Text(self.describe_done(), style="dim")


def _draw_line(title: str, bar: ProgressBar, elapsed: str, left: str) -> Table:
    line = Table.grid(padding=(0, 2), expand=True)
    line.add_column(no_wrap=True)
    line.add_column(ratio=1)
    line.add_column(no_wrap=True)
    line.add_row(title, bar, f"{elapsed}, {left}" if left else elapsed)
    return line


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


def format_time_left(progress: Progress) -> str:
    """Time that the rest takes at the present rate; empty where it is not known."""
    return "" if math.isnan(progress.eta_s) else f"{format_duration(progress.eta_s)} left"


def format_hypervolume(progress: Progress) -> str:
    """The hypervolume, with what it is measured in."""
    volume = progress.hypervolume
    if not volume:
        return "-"
    return f"{number(volume) if volume >= LONG else format(volume, '.4f')} (first box = 1)"


def format_rate(progress: Progress) -> str:
    """Individual-bars a second since the process is warm; empty before."""
    rate = progress.individual_bars_per_s
    if math.isnan(rate):
        return ""
    shown = f"{rate / 1e9:.2f} G" if rate >= 1e8 else f"{rate / 1e6:.2f} M"
    return f"{shown} individual-bars/s"
