"""Rows of evidence: searches that were repeated, kept as they end, and found by their settings."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

from data.progress import Progress, Watch
from optimizer.errors import StoreError
from optimizer.evidence.statistic import RowSettings
from optimizer.store import RunStore
from optimizer.store.payload import Payload

SETTINGS = "settings"
"""Field of a row that holds its settings."""


class Numbered(Payload):
    """A row with a number."""

    number: int


Row = TypeVar("Row", bound=Numbered)

Ended = Generator[tuple[Any, Row], None, None]
"""Jobs with their rows, as they end."""


class Checkpoint(Generic[Row]):
    """Rows of one question and settings, those of an interrupted judge among them.

    Args:
        store: Of the run, open for writing.
        settings: Theirs.
        kind: Their type.

    Attributes:
        known: By number; of those with the same number the newest.
    """

    def __init__(self, store: RunStore, settings: RowSettings[Any], kind: type[Row]) -> None:
        self._store, self._question = store, settings.question
        self._settings = settings.payload()
        rows = (
            kind.read(row)
            for name, row in store.evidence
            if name == self._question and row.get(SETTINGS) == self._settings
        )
        self.known = {row.number: row for row in rows}

    def add(self, row: Row) -> None:
        """Hand a row to the store."""
        self.known[row.number] = row
        self._store.add_evidence(self._question, {SETTINGS: self._settings, **row.payload()})

    def list_missing(self, count: int) -> list[int]:
        """Numbers of rows that are not known yet, of 0 up to a count."""
        return [number for number in range(count) if number not in self.known]

    def search_missing(
        self, search: Callable[[Sequence[int]], Iterable[tuple[int, Row]]], count: int
    ) -> None:
        """Make rows in this process that are not known yet, and have them on disk."""
        if missing := self.list_missing(count):
            for _, row in search(missing):
                self.add(row)
            self._store.flush()

    def complete(self, count: int, ended: Ended[Row], watch: Watch, part: str) -> list[Row]:
        """Rows 0 up to a count; `ended` makes the unknown ones, kept as they end."""
        watch(Progress(f"judging: {part}", len(self.known), count))
        with closing(ended):
            for _, row in ended:
                self.add(row)
                watch(Progress(f"judging: {part}", len(self.known), count))
        return self.require(count)

    def require(self, count: int) -> list[Row]:
        """Rows 0 up to a count.

        Raises:
            StoreError: When one is missing.
        """
        if missing := self.list_missing(count):
            raise StoreError(f"row {missing[0]} of '{self._question}' is missing")
        return [self.known[number] for number in range(count)]
