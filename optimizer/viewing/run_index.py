"""The index of runs: a line each; only changed runs are read anew."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from data.errors import list_some
from optimizer.errors import StoreError
from optimizer.formatting import GRADE_RANKS, fraction, number
from optimizer.store.files import DATABASE, LABELS, OWNER
from optimizer.store.listing import (
    JUDGED_NOW,
    RunSummary,
    find_status,
    list_runs,
    scan_runs,
    show_name,
    summarise,
)

COLUMNS = {
    "run": "",
    "verdict": "",
    "strategy": "",
    "symbols": "",
    "pick": "strength of the pick; with a schedule of the account of all steps, as what follows",
    "expected": "R a trade that the pick is expected to earn on other bars, after selection",
    "folds": "R a trade of picks of folds, on bars after those that they were searched on",
    "held out": "R a trade on bars that were held out, once they are opened",
    "CAGR": "what equity gained a year, of a pick on the bars that were searched",
    "expected CAGR": "the same where the pick earns the R that is expected of it",
    "drawdown": "deepest fall of equity",
    "trades": "of the same",
    "note": "its tags, and its note",
}
"""Columns of the index, and what they are where a word is not enough."""

NUMBERS = ("pick", "expected", "folds", "held out", "CAGR", "expected CAGR", "drawdown", "trades")
"""Columns of numbers, which a filter compares."""

WATCHED = (DATABASE, f"{DATABASE}-wal", OWNER, LABELS)
"""Files of a run without whose change its line stays."""

MOST_SYMBOLS = 3

Signature = tuple[object, ...]


class RunIndex:
    """Runs of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[Signature, RunSummary]] = {}
        self._turn = threading.Lock()

    def list_summaries(self) -> list[RunSummary]:
        """Summaries of all runs, oldest first."""
        with self._turn:
            runs = list_runs(self.folder, self._read)
            ids = {run.id for run in runs}
            self._known = {name: known for name, known in self._known.items() if name in ids}
        return runs

    def find(self, run_id: str) -> Path:
        """Folder of a run of the listing; no path is made of words of a client."""
        for folder, why in scan_runs(self.folder):
            if show_name(folder) == run_id:
                if why:
                    raise StoreError(f"This run is left out: {why}.")
                return folder
        raise StoreError("There is no such run: it was deleted, moved or never there.")

    def _read(self, path: Path) -> RunSummary:
        signature = read_signature(path)
        known = self._known.get(path.name)
        if known is None or known[0] != signature:
            known = signature, summarise(path)
            self._known[path.name] = known
        # An owner that is killed, or that only judges, leaves these files as they are.
        run = known[1]
        if run.status == "running":
            return replace(run, status=find_status(path))
        is_unjudged = run.status == "finished" and run.verdict is None
        if is_unjudged and find_status(path) == "running":
            return replace(run, status=JUDGED_NOW)
        return run


def read_signature(path: Path) -> Signature:
    """Stamp that changes whenever a run does: its files' numbers, sizes and times."""
    return tuple(sign_file(path / name) for name in WATCHED)


def sign_file(path: Path) -> Signature | None:
    """Stamp that changes whenever a file does; None without one."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def list_rows(runs: list[RunSummary]) -> list[object]:
    """Lines of the index, newest first: texts as people read them, and keys to sort by."""
    return [_build_row(index, run) for index, run in reversed([*enumerate(runs)])]


def _build_row(place: int, run: RunSummary) -> Mapping[str, object]:
    rank = GRADE_RANKS.get(run.grade, -1)
    symbols = list_some(run.symbols[:MOST_SYMBOLS], len(run.symbols))
    cells: tuple[tuple[str, object], ...] = (
        (run.id, place),
        (run.state, rank),
        (run.strategy or "", None),
        (symbols or run.data or "", None),
        (number(run.strength), run.strength),
        (number(run.expected), run.expected),
        (number(run.folds), run.folds),
        (number(run.held_out), run.held_out),
        (fraction(run.cagr), run.cagr),
        (fraction(run.expected_cagr), run.expected_cagr),
        (fraction(run.max_drawdown), run.max_drawdown),
        (number(run.trades), run.trades),
        (" · ".join(filter(None, (", ".join(run.tags), run.note))), None),
    )
    problem = "; ".join(filter(None, (run.damaged, run.drift and f"drift: {run.drift}")))
    return {
        "id": run.id,
        "began": (run.created_at or "")[:16].replace("T", " "),
        "grade": run.grade,
        "status": run.status,
        "cells": cells,
        "problem": problem,
    }
