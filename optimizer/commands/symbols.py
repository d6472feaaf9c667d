"""Tables of many windows: a result symbol by symbol, and beside it what was held out."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from optimizer.commands.console import Individual, heading
from optimizer.shown import metric, number

SHOWN_SYMBOLS = 100

Window = Mapping[str, object]


def symbols_table(
    windows: Sequence[Window],
    by_window: Mapping[str, Sequence[object]],
    names: Sequence[str],
    title: str,
) -> Table:
    """One individual, symbol by symbol.

    Args:
        windows: As `Markets.describe` tells them, those to search on first.
        by_window: Metric name to its value in each of the windows.
        names: Metrics to show.
        title: Of the table.

    Returns:
        A row a symbol with its bars and metrics, and below it the same of its bars held out.
    """
    kept = [window for window in windows if window["sample"] == "in"]
    is_held_out = len(kept) < len(windows)
    rest = f" (the first {SHOWN_SYMBOLS} of {len(kept)})" if len(kept) > SHOWN_SYMBOLS else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column("symbol", overflow="fold")
    if is_held_out:
        table.add_column("bars that were", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for name in ("bars", *names):
        table.add_column(heading(name), justify="right")
    for place, window in enumerate(kept[:SHOWN_SYMBOLS]):
        parts = (
            {"searched on": place, "held out": len(kept) + place} if is_held_out else {"": place}
        )
        for nth, (told, at) in enumerate(parts.items()):
            part = windows[at]
            cells = ["" if nth else str(window["symbol"]), *([told] if told else [])]
            cells += [str(part["first"])[:10], number(part["bars"])]
            table.add_row(*cells, *(metric(name, by_window[name][at]) for name in names))
    return table


def held_out_table(members: Mapping[int, Individual], objectives: Sequence[str]) -> Table:
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
    for place, individual in members.items():
        cells = []
        for name in ("trades", *objectives):
            group = "metrics" if name == "trades" else "objectives"
            for part in (individual, _mapping(individual.get("held_out"))):
                cells.append(metric(name, _mapping(part.get(group)).get(name)))
        table.add_row(str(place), *cells)
    return table


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
