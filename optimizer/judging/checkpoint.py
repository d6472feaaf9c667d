"""Searches that were repeated, each kept as a row of evidence as soon as it has ended."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

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


def read_numbered(rows: Rows, name: str, kind: type[Row]) -> dict[int, Row]:
    """Rows of one kind by number; of those with the same number the newest."""
    return {
        int(key.rpartition("/")[2]): kind.read(row)
        for key, row in dict(rows).items()
        if key.rpartition("/")[0] == name
    }
