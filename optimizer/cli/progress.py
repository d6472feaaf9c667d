"""Viewers of progress on stderr."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from data.progress import Progress, Show
from optimizer.cli.console import Lines, stderr
from optimizer.cli.notes import handle_signals, stop_now
from optimizer.showing import LineShow, TerminalShow


def open_show(console: Lines, *, quiet: bool = False, has_lines: bool = True) -> Show:
    """Viewer of progress on a console: a view in a terminal, lines elsewhere, or notes alone."""
    if quiet:
        return Show(console.say)
    if console.is_terminal and not console.is_dumb_terminal:
        return TerminalShow(console, console.say)
    return LineShow(console.say) if has_lines else Show(console.say)


@contextmanager
def listening(show: Show) -> Iterator[Show]:
    """Turn Ctrl-C, SIGTERM and a hang-up into a wish to stop between two generations.

    A second one, and any while no generation is searched, is an order.
    """

    def hear(received: int, frame: FrameType | None) -> None:
        if show.is_stopping or not show.progress.phase.startswith("generation"):
            stop_now(received, frame)
        show.is_stopping = True

    with show, handle_signals(hear):
        yield show


def track_sources(specs: Sequence[str], doing: str) -> Iterator[str]:
    """The sources one by one, on a terminal with progress."""
    with open_show(stderr(), has_lines=False) as show:
        for done, spec in enumerate(specs):
            show(Progress(f"{doing}: sources", done, len(specs)))
            yield spec
