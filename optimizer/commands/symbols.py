"""Tables of many windows: a result symbol by symbol, and beside it what was held out."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from optimizer.commands.console import SHOWN_INDIVIDUALS
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
        A row a symbol: its bars and metrics, then the same of the bars held out, if any are.
    """
    kept = len([window for window in windows if window["sample"] == "in"])
    parts = [("", 0), *([("held out\n", kept)] if kept < len(windows) else [])]
    rest = f" (the first {SHOWN_SYMBOLS} of {kept})" if kept > SHOWN_SYMBOLS else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column("symbol", overflow="fold")
    for prefix, _ in parts:
        table.add_column(f"{prefix}from", no_wrap=True)
        table.add_column(f"{prefix}bars", justify="right")
        for name in names:
            table.add_column(f"{prefix}{name.replace('_', ' ')}", justify="right")
    for place, window in enumerate(windows[: min(kept, SHOWN_SYMBOLS)]):
        cells = [str(window["symbol"])]
        for _, offset in parts:
            part = windows[place + offset]
            cells += [str(part["first"])[:10], number(part["bars"])]
            cells += [metric(name, by_window[name][place + offset]) for name in names]
        table.add_row(*cells)
    return table


def held_out_table(individuals: Sequence[Mapping[str, object]], objectives: Sequence[str]) -> Table:
    """Members of a front in the bars that they were found on, and in those held out.

    Args:
        individuals: As `describe_individuals` gives them, best first.
        objectives: Their names.

    Returns:
        A table of at most `SHOWN_INDIVIDUALS`.
    """
    title = "Held out: bars that the search never saw, beside those it saw"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in ("trades", *objectives):
        heading = name.replace("_", "\n")
        table.add_column(heading, justify="right")
        table.add_column(f"held out\n{heading}", justify="right", style="bold")
    for place, individual in enumerate(individuals[:SHOWN_INDIVIDUALS]):
        cells = []
        for name in ("trades", *objectives):
            group = "metrics" if name == "trades" else "objectives"
            for part in (individual, _mapping(individual.get("held_out"))):
                cells.append(metric(name, _mapping(part.get(group)).get(name)))
        table.add_row(str(place), *cells)
    return table


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
