"""Judgements beside their own rows: differing, left out; no bars are needed for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.evidence.null import DEFAULT_STOP_AFTER, MOST_P, NullKind, NullRecord, tally
from optimizer.judging.checkpoint import Rows, read_numbered
from optimizer.judging.judgement import JUDGEMENT, Judgement
from optimizer.judging.null import KINDS, NullSearch, list_strengths
from optimizer.judging.unstated import Unstated, list_unstated
from optimizer.store.result import RunResult
from optimizer.verifying.differing import find_differences

OF_TRIALS = ("sharpe", "cscv", "bootstrap")
"""Parts that are recorded with the trials, where these fitted memory."""

LASTING = ("robust", "causal", "null", "folds", "cpcv", "trials", "held_out", "schedule")
"""Parts that stay in later judgements of the same pick."""


@dataclass(frozen=True)
class RecordedJudgements:
    """Judgements of a run, with its rows of evidence."""

    rows: Rows  # names and rows of evidence, oldest first
    judgements: tuple[Judgement, ...]  # those among them

    @classmethod
    def read(cls, rows: Rows) -> "RecordedJudgements":
        """That of rows of evidence.

        Raises:
            StoreError: When a judgement is damaged.
        """
        return cls(rows, tuple(Judgement.read(row) for name, row in rows if name == JUDGEMENT))

    @property
    def newest(self) -> Judgement | None:
        """The one that counts; None where it was never judged."""
        return self.judgements[-1] if self.judgements else None

    def list_earlier_rows(self, number: int) -> Rows:
        """Rows that were there when a judgement was recorded."""
        indices = [index for index, (name, _) in enumerate(self.rows) if name == JUDGEMENT]
        return self.rows[: indices[number]]

    def list_unfinished(self) -> list[Unstated]:
        """Rows left by an interrupted judge."""
        return list_unstated(self.rows, self.judgements)

    def problems(self, result: RunResult) -> Iterator[str]:
        """Parts that the newest judgement lacks or has otherwise than its rows, a line each."""
        judgement = self.newest
        if judgement is None:
            return
        for left in list_unstated(self.list_earlier_rows(-1), self.judgements):
            if left.note not in judgement.notes:
                yield f"the judgement says nothing of {left.what} that are recorded before it"
        yield from self._missing_parts(judgement, result)
        if judgement.null is not None:
            # It stays in later judgements as it was found.
            first = [earlier.null for earlier in self.judgements].index(judgement.null)
            yield from _null_problems(self.list_earlier_rows(first), judgement.null)

    def _missing_parts(self, judgement: Judgement, result: RunResult) -> Iterator[str]:
        required = set(["pick", "robust"] if result.front else [])
        if judgement.null is not None:
            required.add("causal")
        if judgement.trials is not None and judgement.trials.evaluated:
            required.update(OF_TRIALS)
        if any(getattr(judgement, name) is not None for name in (*OF_TRIALS, "stability")):
            required.add("trials")
        if len(self.judgements) > 1:
            before = self.judgements[-2]
            if before.pick and judgement.pick and before.pick.member == judgement.pick.member:
                required.update(name for name in LASTING if getattr(before, name) is not None)
        for name in sorted(required):
            if getattr(judgement, name) is None:
                yield f"judgement.{name} is left out, and what it goes with is there"


def find_stop_rule(null: NullRecord) -> int:
    """After how many null searches the rest was left; of a former version by where it stopped."""
    stopped = null.shuffled.strength.at_least if null.shuffled.stopped else DEFAULT_STOP_AFTER
    return null.stop_after or stopped


def _null_problems(rows: Rows, null: NullRecord) -> Iterator[str]:
    """Differences of a record on null searches from their own rows."""
    for kind in KINDS:
        recorded: NullKind | None = getattr(null, kind)
        known = read_numbered(rows, f"null/{null.keep}/{kind}", NullSearch)
        if recorded is not None:
            yield from _kind_problems(f"judgement.null.{kind}", recorded, null, known)
        # Mirrored bars are searched only where p on shuffled ones is small.
        if (recorded is None) != (kind != KINDS[0] and null.shuffled.strength.p > MOST_P):
            yield f"judgement.null.{kind}: it does not follow from p on {KINDS[0]} bars"


def _kind_problems(
    what: str, recorded: NullKind, null: NullRecord, known: dict[int, NullSearch]
) -> Iterator[str]:
    value = recorded.strength.value
    strengths = list_strengths(known)
    threshold = float("-inf") if value is None else value
    counted = tally(threshold, strengths, find_stop_rule(null))
    expected = (counted.searches, counted.is_stopped, counted.at_least, float(counted.p))
    names = ("run", "stopped", "strength.at_least", "strength.p")
    numbers = (recorded.run, recorded.stopped, recorded.strength.at_least, recorded.strength.p)
    for name, number, follows in zip(names, numbers, expected, strict=True):
        yield from find_differences(f"{what}.{name}", number, follows)
    made = [known[number + 1].strength for number in range(counted.searches)]
    yield from find_differences(f"{what}.strengths", list(recorded.strengths), made)
