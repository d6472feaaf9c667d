"""Viewers of progress on stderr."""

from collections.abc import Iterator, Sequence

from data.progress import Progress, Show
from optimizer.cli.console import Lines, stderr
from optimizer.showing import LineShow, TerminalShow


def open_show(console: Lines, *, quiet: bool = False, has_lines: bool = True) -> Show:
    """Viewer of progress on a console: a view in a terminal, lines elsewhere, or nothing."""
    if quiet:
        return Show()
    if console.is_terminal and not console.is_dumb_terminal:
        return TerminalShow(console)
    return LineShow(console.say) if has_lines else Show()


def track_sources(specs: Sequence[str], doing: str) -> Iterator[str]:
    """The sources one by one, on a terminal with progress."""
    with open_show(stderr(), has_lines=False) as show:
        for done, spec in enumerate(specs):
            show(Progress(f"{doing}: sources", done, len(specs)))
            yield spec
