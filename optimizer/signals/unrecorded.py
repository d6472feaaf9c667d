"""Runs that cannot be written: the process keeps the records of a signal or a watch."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from optimizer.store import RunStore
from optimizer.store.files import DATABASE, OWNER
from optimizer.store.payload import encode

Findings = list[tuple[str, Mapping[str, object]]]
"""Names and rows of evidence, oldest first."""


def may_record(path: Path) -> bool:
    """True if a run's folder and files may be written, by their permissions and their disk."""
    there = [file for file in (path, path / DATABASE, path / OWNER) if os.access(file, os.F_OK)]
    return all(os.access(file, os.W_OK, effective_ids=True) for file in there)


def describe_unrecorded(path: Path) -> str:
    """Note on the missing record in a run that cannot be written."""
    return f"{path} cannot be written: this is not recorded"


def open_to_record(path: Path, findings: Findings) -> RunStore:
    """Open a run for writing, or for reading if it cannot be written.

    `findings` takes the rows that cannot be recorded, and has those of before.
    """
    if may_record(path):
        return RunStore.open(path, writable=True)
    return _UnrecordedStore(path, findings)


class _UnrecordedStore(RunStore):
    """A run that is read, with rows of evidence beside it."""

    def __init__(self, path: Path, findings: Findings) -> None:
        super().__init__(path, None)
        self._findings = findings

    @property
    def evidence(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """Rows of evidence, those beside the run last."""
        return (*super().evidence, *self._findings)

    def add_evidence(self, name: str, payload: Mapping[str, object]) -> None:
        """Keep a row, in the form that a recorded one is read back in."""
        row = json.loads(encode(payload, what=f"the evidence '{name}'"))
        self._findings.append((name, row))

    def flush(self) -> None:
        """Nothing waits for a disk."""
