"""runs list: a line a run, at once: nothing is imported that searches or computes."""

from dataclasses import asdict
from pathlib import Path

from optimizer.commands.console import plain_table, print_json, stdout
from optimizer.runs.listing import list_runs
from optimizer.shown import GRADE_WORDS, number

WIDE = 100
"""Columns of a terminal from which on the list of runs says status and size of the front too."""


def list_command(runs: Path, *, as_json: bool) -> None:
    """Print all runs, oldest first."""
    found = list_runs(runs)
    if as_json:
        print_json([asdict(run) | {"path": str(run.path)} for run in found])
        return
    if not found:
        stdout().say(f"there are no runs in {runs}; start one with: python -m optimizer evolve")
        return
    console = stdout()
    is_wide = console.width >= WIDE
    headings = ["run", "verdict", "strategy", "data", "done"]
    if is_wide:
        headings = ["run", "status", *headings[1:], "front"]
    table = plain_table(*headings, right=("done", "front"), is_folded=True)
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    table.columns[0].no_wrap = True
    for run in found:
        is_over = run.front_size is not None
        verdict = run.verdict or "not_judged" if is_over else ""
        shown = GRADE_WORDS.get(verdict, verdict)
        first = (run.status, shown) if is_wide else (shown or run.status,)
        done = f"{max(run.generations - 1, 0):,}/{number(run.planned)}"
        last = [number(run.front_size)] if is_wide else []
        table.add_row(run.id, *first, run.strategy, run.data, done, *last)
    console.print(table)
    for run in found:
        if run.damaged:
            console.say(f"{run.id}: {run.damaged}")
