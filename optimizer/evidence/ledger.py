"""Ledger of a folder: which of all its searches may be believed, at most one in ten of them false.

Each question is a search, with whatever seeds it was made, judged or not. The evidence on it is an
e-value: the wealth of its bet against null searches. That holds however searches depend on each
other.

Source: Wang and Ramdas, "False discovery rate control with e-values", JRSS B 84, 2022 (e-BH).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated

from optimizer.evidence.figures import Number
from optimizer.formatting import format_count
from optimizer.store.listing import LEFT_OUT, Look, RunSummary, list_runs, summarise
from optimizer.store.payload import OPTIONAL, Payload
from optimizer.store.searches import TRY, list_noted

FALSE_SHARE = 0.1
"""Most of the searches believed that are false, on average."""


@dataclass(frozen=True)
class LedgerRecord(Payload):
    """All searches of a folder, and whether this one may be believed."""

    searches: int  # questions, removed ones and fitted forecasts included
    removed: int  # of them that are not there any more
    believed: int  # that may be believed together
    wealth: Number  # e-value of one of them, the mean of its seeds
    is_believed: bool  # whether that one may be
    # Sets of goals of the folder's runs on the bars of this one.
    goals: Annotated[int, OPTIONAL] = 0
    # Searches of the folder that were no search, but a single candidate.
    tried: Annotated[int, OPTIONAL] = 0

    def describe(self) -> str:
        """Sentence on the folder.

        >>> LedgerRecord(12, 0, 1, None, is_believed=False).describe()
        'Of 12 searches in this folder 1 may be believed (at most one in ten false).'
        """
        gone = f", {self.removed} of them removed," if self.removed else ""
        single = f", {self.tried} of them single candidates," if self.tried else ""
        goals = f" {self.goals} sets of goals were tried on these bars, each counts as a search."
        goals = goals if self.goals > 1 else ""
        return (
            f"Of {format_count(self.searches, 'search')} in this folder{gone}{single} "
            f"{self.believed} may be believed (at most one in ten false).{goals}"
        )

    @property
    def needed(self) -> float:
        """E-value from which on this search would be believed too."""
        others = self.believed - self.is_believed
        return self.searches / (FALSE_SHARE * (others + 1))


def count_believed(wealths: Collection[float]) -> int:
    """Number of the greatest e-values that may be believed together.

    >>> count_believed([150, 40, 3, 0.5, 0.1]), count_believed([120] + [0.5] * 11)
    (2, 1)
    >>> count_believed([110] + [0.5] * 11)
    0
    """
    falling = sorted(wealths, reverse=True)
    enough = [
        count
        for count, wealth in enumerate(falling, 1)
        if wealth >= len(falling) / (FALSE_SHARE * count)
    ]
    return max(enough, default=0)


def read_ledger(
    folder: Path, run: str, wealth: float | None, fits: int = 0, look: Look | None = None
) -> LedgerRecord:
    """Ledger of a folder of runs as the one with this id sees it, by its e-value by now.

    Each forecast fitted on its bars counts as a search; `look` is as of `summarise`, of each run.

    Raises:
        StoreError: When the folder or its list of questions cannot be read.
    """
    listed = list_runs(folder, partial(summarise, look=look))
    runs = [one if one.id != run else replace(one, wealth=wealth) for one in listed]
    mine = next(one for one in runs if one.id == run)
    return build_ledger(runs, list_noted(folder), mine, fits)


def build_ledger(
    runs: Sequence[RunSummary],
    noted: Collection[str],
    mine: RunSummary | None = None,
    fits: int = 0,
) -> LedgerRecord:
    """Ledger of the runs of a folder and of the questions that it noted; as one of them sees it.

    A question without a run, or without null searches, has the e-value 0.
    """
    by_question: dict[str, list[float]] = {question: [] for question in noted}
    for run in (run for run in runs if run.status != LEFT_OUT):
        by_question.setdefault(run.question or run.id, []).append(run.wealth or 0.0)
    tried = sum(question.startswith(TRY) for question in by_question)
    removed = sum(not wealths for wealths in by_question.values()) - tried
    values = {question: fmean(wealths or [0.0]) for question, wealths in by_question.items()}
    wealths = [*values.values(), *[0.0] * fits]
    believed = count_believed(wealths)
    least = sorted(wealths, reverse=True)[believed - 1] if believed else math.inf
    own = None if mine is None else values[mine.question or mine.id]
    bars = mine.goals[0] if mine is not None and mine.goals is not None else None
    goals = {run.goals for run in runs if run.goals is not None and run.goals[0] == bars}
    is_believed = (own or 0.0) >= least
    return LedgerRecord(len(wealths), removed, believed, own, is_believed, len(goals), tried)
