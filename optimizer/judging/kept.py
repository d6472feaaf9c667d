"""Searches that were repeated, each kept as a row of evidence as soon as it has ended."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from optimizer.runs import RunStore
from optimizer.runs.payload import Payload


class Numbered(Payload):
    """A row with a number."""

    number: int


Row = TypeVar("Row", bound=Numbered)

Watch = Callable[[str, int, int, str], None]
"""Is called with a part, how many of its steps are done and planned, and a word on them."""


class Kept(Generic[Row]):
    """Rows of one kind, those of an interrupted judge among them.

    Args:
        store: Of the run, open for writing.
        name: What they are of, with the settings that decide them.
        kind: Their type.

    Attributes:
        known: By number.
    """

    def __init__(self, store: RunStore, name: str, kind: type[Row]) -> None:
        self._store, self._name = store, name
        rows: Mapping[str, Mapping[str, object]] = dict(store.evidence)
        self.known: dict[int, Row] = {
            int(key.rpartition("/")[2]): kind.read(row)
            for key, row in rows.items()
            if key.rpartition("/")[0] == name
        }

    def add(self, row: Row) -> None:
        """Hand a row to the store."""
        self.known[row.number] = row
        self._store.add_evidence(f"{self._name}/{row.number}", row.payload())
