"""runs list: a line a run, at once: nothing is imported that searches or computes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from optimizer.commands.console import plain_table, print_json, stdout
from optimizer.commands.shared import Order
from optimizer.grades import GRADE_WORDS, GRADES
from optimizer.runs.listing import RunSummary, list_runs
from optimizer.shown import fraction, number

DATED, WIDE = 100, 140
"""Columns of a terminal from which on the list says the date, and everything else too."""

PLACES: dict[str, int] = {grade: place for place, grade in enumerate(GRADES)}
"""Of grades, from the worst on."""

ORDERS: dict[Order, Callable[[RunSummary], float | None]] = {
    "verdict": lambda run: PLACES.get(_grade(run)),
    "strength": lambda run: run.strength,
    "return": lambda run: run.total_return,
    "trades": lambda run: run.trades,
}
"""What runs are sorted by, the greatest first; they stand in the order of creation otherwise."""

RIGHT = ("strength", "return", "trades", "done", "front")


def list_command(
    runs: Path, *, order: Order, grade: str | None, symbol: str | None, as_json: bool
) -> None:
    """Print runs: those of a grade and of a symbol where such are named."""
    known = list_runs(runs)
    chosen = _in_order([run for run in known if _is_wanted(run, grade, symbol)], order)
    if as_json:
        print_json([asdict(run) | {"path": str(run.path)} for run in chosen])
        return
    if not known:
        stdout().say(f"there are no runs in {runs}; start one with: python -m optimizer evolve")
        return
    if not chosen:
        stdout().say(
            f"of {len(known):,} in {runs} there is no such run: see them all with runs list"
        )
        return
    _print_table(chosen)
    for run in chosen:
        if run.damaged:
            stdout().say(f"{run.id}: {run.damaged}")


def _is_wanted(run: RunSummary, grade: str | None, symbol: str | None) -> bool:
    names = [one.casefold() for one in run.symbols]
    return grade in (None, _grade(run)) and (symbol is None or symbol.casefold() in names)


def _in_order(runs: Sequence[RunSummary], order: Order) -> list[RunSummary]:
    """The greatest first, those without a number last; equal ones as they were created."""
    value = ORDERS.get(order)
    if value is None:
        return list(runs)
    numbers = {run.id: value(run) for run in runs}
    return sorted(runs, key=lambda run: (numbers[run.id] is None, -(numbers[run.id] or 0.0)))


def _grade(run: RunSummary) -> str:
    """Grade of a finished run, an empty text of another."""
    return "" if run.front_size is None else run.verdict or "not_judged"


def _print_table(runs: Sequence[RunSummary]) -> None:
    console = stdout()
    rows = [_cells(run, is_wide=console.width >= WIDE) for run in runs]
    headings = [name for name in rows[0] if name != "date" or console.width >= DATED]
    table = plain_table(*headings, right=RIGHT, is_folded=True)
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*(row[name] for name in headings))
    console.print(table)


def _cells(run: RunSummary, *, is_wide: bool) -> dict[str, str]:
    """Texts of a line by heading."""
    grade = _grade(run)
    words, symbols = GRADE_WORDS.get(grade, grade), ", ".join(run.symbols[:1])
    if len(run.symbols) > 1:
        symbols += f" +{len(run.symbols) - 1}"
    answer = {
        "symbols": symbols,
        "strength": number(run.strength),
        "return": fraction(run.total_return),
        "trades": number(run.trades),
    }
    date = {"date": (run.created_at or "")[:10]}
    if not is_wide:
        return {"run": run.id, "verdict": words or run.status, **answer, **date}
    done = f"{max(run.generations - 1, 0):,}/{number(run.planned)}"
    search = {"strategy": run.strategy or "", "data": run.data or "", "done": done}
    front = {"front": number(run.front_size)}
    status = {"run": run.id, "status": run.status, "verdict": words}
    return {**status, **search, **front, **answer, **date}
