"""Searches that were repeated, each kept as a row of evidence as soon as it has ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Generic, TypeVar

from optimizer.errors import StoreError
from optimizer.judging.workers import Executor
from optimizer.store import RunStore
from optimizer.store.payload import Payload


class Numbered(Payload):
    """A row with a number."""

    number: int


Row = TypeVar("Row", bound=Numbered)

Rows = Sequence[tuple[str, Mapping[str, object]]]
"""Names and rows of evidence, oldest first."""

Watch = Callable[[str, int, int, str], None]
"""Callback of progress: a part, how many of its steps are done and planned, a word on them."""


class Checkpoint(Generic[Row]):
    """Rows of one kind, those of an interrupted judge among them.

    Args:
        store: Of the run, open for writing.
        name: Of their part, with the settings that decide them.
        kind: Their type.

    Attributes:
        known: By number.
    """

    def __init__(self, store: RunStore, name: str, kind: type[Row]) -> None:
        self._store, self._name = store, name
        self.known = read_numbered(store.evidence, name, kind)

    def add(self, row: Row) -> None:
        """Hand a row to the store."""
        self.known[row.number] = row
        self._store.add_evidence(f"{self._name}/{row.number}", row.payload())

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

    def complete(self, count: int, workers: Executor, watch: Watch, part: str) -> list[Row]:
        """Rows 0 up to a count; each that is not known yet is made, and kept as it ends."""
        jobs = self.list_missing(count)
        watch(part, len(self.known), count, "")
        with closing(workers.results(jobs)) as ended:
            for _, row in ended:
                self.add(row)
                watch(part, len(self.known), count, "")
        return self.require(count)

    def require(self, count: int) -> list[Row]:
        """Rows 0 up to a count.

        Raises:
            StoreError: When one is missing.
        """
        if missing := self.list_missing(count):
            raise StoreError(f"{self._name}/{missing[0]} is missing")
        return [self.known[number] for number in range(count)]


def read_numbered(rows: Rows, name: str, kind: type[Row]) -> dict[int, Row]:
    """Rows of one kind by number; of those with the same number the newest."""
    return {
        int(key.rpartition("/")[2]): kind.read(row)
        for key, row in dict(rows).items()
        if key.rpartition("/")[0] == name
    }
