"""Judgement of a run's pick, as it is recorded, printed and read back.

A number that is undefined is None, and ``why`` has the reason by its name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from optimizer.evidence.bootstrap import BootstrapRecord
from optimizer.evidence.checkpoint import SETTINGS
from optimizer.evidence.cscv import CscvRecord
from optimizer.evidence.folds import FoldSettings, FoldsRecord, PathSettings, PathsRecord
from optimizer.evidence.holdout import HeldOutRecord, LookSettings
from optimizer.evidence.lookahead import CausalRecord
from optimizer.evidence.null import NullRecord, NullSettings
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.robust import RobustRecord
from optimizer.evidence.schedule import NullScheduleSettings, ScheduleRecord, StepSettings
from optimizer.evidence.sharpe import SharpeRecord
from optimizer.evidence.statistic import RowSettings, Statistic
from optimizer.evidence.trials import TrialsRecord
from optimizer.evidence.verdict import Verdict
from optimizer.store.answers import JUDGEMENT, RunAnswer
from optimizer.store.payload import OPTIONAL, Payload
from optimizer.store.result import RunResult, load_result
from optimizer.store.store import RunStore

READ_FIRST = ("schedule", "null", "folds", "cpcv", "held_out")
"""Statistics that decide; the others follow as they are recorded."""

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

Rows = Sequence[tuple[str, Mapping[str, object]]]
"""Questions and rows of evidence, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Judgement(Payload):
    """All evidence on a run; a part that was not asked for is None."""

    what: ClassVar[str] = "the judgement"

    verdict: Verdict
    pick: PickRecord | None = None
    null: NullRecord | None = None
    folds: FoldsRecord | None = None
    cpcv: PathsRecord | None = None
    trials: TrialsRecord | None = None
    sharpe: SharpeRecord | None = None
    cscv: CscvRecord | None = None
    bootstrap: BootstrapRecord | None = None
    robust: RobustRecord | None = None
    causal: CausalRecord | None = None
    held_out: HeldOutRecord | None = None
    # Of the search repeated through time; the verdict is about it where it was made.
    schedule: Annotated[ScheduleRecord | None, OPTIONAL] = None
    searches: int = 1  # distinct fronts that were searched on bars overlapping these, this included
    # Forecasts fitted on these bars before one was chosen for the strategy to read.
    fits: Annotated[int, OPTIONAL] = 0
    notes: tuple[str, ...] = ()  # parts that were left out, and why
    answer: Annotated[RunAnswer | None, OPTIONAL] = None  # None where none can be picked
    # Version of those that gave the verdict; 0 where it was not recorded.
    rules: Annotated[int, OPTIONAL] = 0

    @property
    def tries(self) -> int:
        """Number of tries on these bars: each forecast counts as a search does."""
        return self.searches + self.fits

    @property
    def parts(self) -> Iterator[Statistic]:
        """Statistics that were made, in the order in which they are read."""
        order = dict.fromkeys((*READ_FIRST, *(part.name for part in fields(self))))
        values = (getattr(self, name) for name in order)
        return (part for part in values if isinstance(part, Statistic))


def read_opened_result(store: RunStore) -> tuple[RunResult | None, Judgement | None]:
    """The result of a run with what was opened of it, and its newest judgement; None without."""
    result = load_result(store)
    judgement = None if result is None else read_judgement(store)
    return result and add_held_out(result, judgement), judgement


def read_judgement(store: RunStore) -> Judgement | None:
    """The newest judgement of a run; None where it was never judged.

    Raises:
        StoreError: When the evidence is damaged.
    """
    rows = [row for name, row in store.evidence if name == JUDGEMENT]
    return Judgement.read(rows[-1]) if rows else None


def read_judgements(store: RunStore) -> list[Judgement]:
    """All judgements of a run, oldest first.

    Raises:
        StoreError: When the evidence is damaged.
    """
    return [Judgement.read(row) for name, row in store.evidence if name == JUDGEMENT]


def add_held_out(result: RunResult, judgement: Judgement | None) -> RunResult:
    """A result whose members have their figures on held-out bars, where those were opened."""
    if judgement is None or judgement.held_out is None:
        return result
    held_out = judgement.held_out
    recorded = zip(result.front, held_out.members, held_out.by_window, strict=True)
    front = tuple(
        replace(member, held_out=figures, by_window=by_window)
        for member, figures, by_window in recorded
    )
    return replace(result, front=front)


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
