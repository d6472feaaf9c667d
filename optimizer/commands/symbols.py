"""Tables of many windows: a result window by window, and beside it what was held out."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from optimizer.commands.tables import heading
from optimizer.runs.result import Figure, Figures, Member, WindowDescription, noun_of
from optimizer.shown import metric, number

SHOWN_LABELS = 100


def windows_table(
    windows: Sequence[WindowDescription], by_window: Mapping[str, Sequence[Figure]], title: str
) -> Table:
    """One individual, window by window; those of one label below each other.

    Args:
        windows: [W].
        by_window: Name of a metric to its value in each of the windows, [W].
        title: Of the table.

    Returns:
        A row a window with its bars and metrics.
    """
    noun, has_held_out = noun_of(windows), any(window.is_held_out for window in windows)
    places: dict[str, list[int]] = {}
    for place, window in enumerate(windows):
        places.setdefault(window.label, []).append(place)
    rest = f" (the first {SHOWN_LABELS} of {len(places)})" if len(places) > SHOWN_LABELS else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column(noun, overflow="fold")
    if has_held_out:
        table.add_column("bars that were", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for name in ("bars", *by_window):
        table.add_column(heading(name), justify="right")
    for label in list(places)[:SHOWN_LABELS]:
        for nth, place in enumerate(places[label]):
            window = windows[place]
            cells = ["" if nth else label, window.first[:10], number(window.bars)]
            if has_held_out:
                cells.insert(1, "held out" if window.is_held_out else "searched on")
            table.add_row(*cells, *(metric(n, column[place]) for n, column in by_window.items()))
    return table


def held_out_table(members: Mapping[int, Member], objectives: Sequence[str]) -> Table:
    """Members of a front in the bars that they were found on, and in those held out.

    Args:
        members: By number, as `shown_members` gives them.
        objectives: Their names.

    Returns:
        A row a member.
    """
    title = "Held out: bars that the search never saw, beside those it saw"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in ("trades", *objectives):
        table.add_column(heading(name), justify="right")
        table.add_column(f"held out\n{heading(name)}", justify="right", style="bold")
    for place, member in members.items():
        parts = (member, member.held_out or Figures(metrics={}))
        both = [{**part.metrics, **part.objectives} for part in parts]
        cells = (metric(n, part.get(n)) for n in ("trades", *objectives) for part in both)
        table.add_row(str(place), *cells)
    return table
