"""A line a run, at once: nothing is imported that searches or computes."""

from collections.abc import Callable, Sequence

from optimizer.cli.console import plain_table, stdout
from optimizer.cli.shared import Order
from optimizer.formatting import GRADE_RANKS, Grade, fraction, number
from optimizer.store.labels import Labels
from optimizer.store.listing import RunSummary

DATED, WIDE = 100, 140
"""Columns of a terminal from which on the list has dates and tags, and everything else too."""

ONLY_DATED, ONLY_WIDE = ("date", "tags"), ("strategy", "done", "front", "expected")

ORDERS: dict[Order, Callable[[RunSummary], float | None]] = {
    "verdict": lambda run: GRADE_RANKS.get(run.grade),
    "strength": lambda run: run.strength,
    "return": lambda run: run.total_return,
    "trades": lambda run: run.trades,
}
"""Keys that runs are sorted by, the greatest first; else they stand in the order of creation."""

RIGHT = ("strength", "expected", "return", "trades", "done", "front")


def choose_runs(
    runs: Sequence[RunSummary],
    grade: Grade | None,
    symbol: str | None,
    tags: Sequence[str],
    *,
    order: Order,
) -> list[RunSummary]:
    """Runs of a grade, on a symbol in whatever case, with all tags; None and empty for all."""
    chosen = [
        run
        for run in runs
        if grade in (None, run.grade)
        and (symbol is None or symbol.casefold() in (name.casefold() for name in run.symbols))
        and all(Labels(run.tags).has(tag) for tag in tags)
    ]
    return _sort_runs(chosen, order)


def print_runs(runs: Sequence[RunSummary]) -> None:
    """Print runs, a line each, then their labels, drift and damage."""
    _print_table(runs)
    _print_labels(runs)
    for run in runs:
        if run.drift:
            stdout().say(f"{run.id}: drift: {run.drift}")
        if run.damaged:
            stdout().say(f"{run.id}: {run.damaged}")


def _sort_runs(runs: Sequence[RunSummary], order: Order) -> list[RunSummary]:
    """The greatest first, those without a number last; equal ones as they were created."""
    value = ORDERS.get(order)
    if value is None:
        return list(runs)
    numbers = {run.id: value(run) for run in runs}
    return sorted(runs, key=lambda run: (numbers[run.id] is None, -(numbers[run.id] or 0.0)))


def _print_table(runs: Sequence[RunSummary]) -> None:
    """Runs as a table: the wider the terminal, the more columns."""
    console = stdout()
    rows = [_list_cells(run) for run in runs]
    headings = [*rows[0]]
    if console.width < WIDE:
        headings = [name for name in headings if name not in ONLY_WIDE]
    if console.width < DATED:
        headings = [name for name in headings if name not in ONLY_DATED]
    if not any(row["tags"] for row in rows) and "tags" in headings:
        headings.remove("tags")
    table = plain_table(*headings, right=RIGHT, is_folded=True)
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*(row[name] for name in headings))
    console.print(table)


def _print_labels(runs: Sequence[RunSummary]) -> None:
    """Notes of runs, and tags where the table has no room for them, a line each."""
    console = stdout()
    for run in runs:
        tags = f"[{', '.join(run.tags)}]" if run.tags and console.width < DATED else ""
        if label := " ".join(filter(None, (tags, run.note))):
            console.say(f"{run.id}: {label}")


def _list_cells(run: RunSummary) -> dict[str, str]:
    """Texts of a line by heading; of a run without a result how far it has come."""
    done = f"{max(run.generations - 1, 0):,}/{number(run.planned)}"
    return {
        "run": run.id,
        "verdict": run.state,
        "strategy": run.strategy or "",
        "bars": _name_bars(run),
        "done": done,
        "front": number(run.front_size),
        "strength": number(run.strength),
        "expected": number(run.expected),
        "return": fraction(run.total_return),
        "trades": number(run.trades),
        "date": (run.created_at or "")[:10],
        "tags": ", ".join(run.tags),
    }


def _name_bars(run: RunSummary) -> str:
    """Symbol and duration of a bar; of several symbols the first, and how many more."""
    data, count = run.data or "", len(run.symbols)
    durations = data.removeprefix(f"{count} symbols ")
    return data if durations == data else f"{run.symbols[0]} +{count - 1} {durations}"
