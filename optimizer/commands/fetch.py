"""data fetch: bring bars into the cache, showing how far it is and what is waited for."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from data import load_bars
from data.providers import find_provider
from data.table import LoadOptions
from data.vendor.series import FetchStep
from optimizer.commands.console import Lines, stderr
from optimizer.commands.data import print_series
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.session.markets import load_options


def fetch_command(
    flags: Mapping[str, object], specs: Sequence[str], *, refetch: bool, as_json: bool
) -> None:
    """Fetch, then print what the cache holds now: an object for one series, a list for many."""
    options = load_options(resolve_config(None, flags))
    for spec in specs:
        if find_provider(spec)[0].name != "polygon":
            raise ConfigError(f"'{spec}' is not fetched: only polygon:SYMBOL is")
    fetched = []
    with FetchShow() as show:
        for spec in specs:
            show.fetch(spec, options, refetch=refetch)
            fetched.append(load_bars(spec, options))
    print_series(fetched, as_json=as_json)


class _TimeLeft(ProgressColumn):
    """Counts down to the end that the plan's calls a minute allow."""

    def render(self, task: Task) -> Text:
        """The time left, in minutes and seconds."""
        left_s = 0 if task.finished else max(round(task.fields["ends_s"] - time.monotonic()), 0)
        return Text(f"{left_s // 60}:{left_s % 60:02}")


class FetchShow:
    """Progress of fetches on stderr: a bar in a terminal, lines elsewhere."""

    def __init__(self) -> None:
        self._console: Lines = stderr()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[bars]:,} bars"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            _TimeLeft(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, bars=0, ends_s=0.0)

    def __enter__(self) -> "FetchShow":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def fetch(self, spec: str, options: LoadOptions, *, refetch: bool) -> None:
        """Fetch one series."""
        # The vendor's client takes a while to import, and few commands need it.
        from data.providers import polygon_api

        address = find_provider(spec)[1]
        self._progress.reset(self._task, total=None, bars=0)
        polygon_api.fetch(address, options, self.show, refetch=refetch)

    def show(self, step: FetchStep) -> None:
        """Show one step."""
        self._progress.update(
            self._task,
            description=step.series,
            completed=step.done,
            total=step.pieces or None,
            bars=step.bars,
            ends_s=time.monotonic() + step.left_s,
        )
        if step.note:
            self._console.say(f"note: {step.series}: {step.note}")
