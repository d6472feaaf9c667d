"""Rows of evidence: searches that were repeated, kept as they end, and found by their settings."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

from data.progress import Progress, Watch
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

    Attributes:
        known: By number; of those with the same number the newest.
    """

    def __init__(
        self, store: RunStore, question: str, settings: Mapping[str, object], kind: type[Row]
    ) -> None:
        self._store, self._question, self._settings = store, question, settings
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

    def list_missing(self, numbers: Iterable[int]) -> list[int]:
        """Some numbers with rows that are not known yet."""
        return [number for number in numbers if number not in self.known]

    def complete(
        self, numbers: Sequence[int], ended: Ended[Row], watch: Watch, phase: str
    ) -> list[Row]:
        """Rows of some numbers; `ended` makes the unknown ones, kept as they end."""

        def tell() -> None:
            known = len(numbers) - len(self.list_missing(numbers))
            watch(Progress(phase, known, len(numbers)))

        tell()
        with closing(ended):
            for _, row in ended:
                self.add(row)
                tell()
        return [self.known[number] for number in numbers]
