"""Rows of evidence: searches that were repeated, kept as they end, and found by their settings."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, NamedTuple, TypeVar

from optimizer.errors import StoreError
from optimizer.evidence.folds import FoldSettings, PathSettings
from optimizer.evidence.holdout import LookSettings
from optimizer.evidence.jobs.workers import Executor
from optimizer.evidence.judgement import Judgement
from optimizer.evidence.null import NullSettings
from optimizer.evidence.schedule import NullScheduleSettings, StepSettings
from optimizer.evidence.statistic import RowSettings
from optimizer.store import RunStore
from optimizer.store.payload import Payload

QUESTIONS: Mapping[str, type[RowSettings[Any]]] = {
    settings.question: settings
    for settings in (
        NullSettings,
        FoldSettings,
        PathSettings,
        StepSettings,
        NullScheduleSettings,
        LookSettings,
    )
}
"""Questions that leave rows before a judgement states them, by the name of their rows."""

SETTINGS = "settings"
"""Field of a row that holds its settings."""


class Numbered(Payload):
    """A row with a number."""

    number: int


Row = TypeVar("Row", bound=Numbered)

Rows = Sequence[tuple[str, Mapping[str, object]]]
"""Questions and rows of evidence, oldest first."""

Watch = Callable[[str, int, int, str], None]
"""Callback of progress: a part, how many of its steps are done and planned, a word on them."""


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
            raise StoreError(f"row {missing[0]} of '{self._question}' is missing")
        return [self.known[number] for number in range(count)]


class Unstated(NamedTuple):
    """Rows of one question and settings that no judgement states."""

    what: str  # in words, with their number
    flags: str  # of the judge that goes on with them

    @property
    def note(self) -> str:
        """Note of a judgement that leaves them out."""
        return f"not judged to the end: {self.what}, which judge {self.flags} goes on with"


def list_unstated(rows: Rows, judgements: Iterable[Judgement]) -> list[Unstated]:
    """Rows that an interrupted judge left, in the order in which they were begun."""
    counts = Counter(
        QUESTIONS[name].read(row.get(SETTINGS, {})) for name, row in rows if name in QUESTIONS
    )
    known = tuple(judgements)
    return [
        Unstated(settings.describe(count), settings.flags)
        for settings, count in counts.items()
        if not any(_is_stated(settings, count, judgement) for judgement in known)
    ]


def _is_stated(settings: RowSettings[Any], count: int, judgement: Judgement) -> bool:
    recorded = getattr(judgement, settings.part)
    return recorded is not None and settings.is_stated(recorded, count)
