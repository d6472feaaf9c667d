"""What a judgement states of its own rows and leaves out; no bars are needed for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.evidence.null import DEFAULT_STOP_AFTER, MOST_P, NullKind, NullRecord, tally
from optimizer.judging.judgement import JUDGEMENT, Judgement
from optimizer.judging.kept import Rows, read_numbered
from optimizer.judging.null import KINDS, NullSearch, list_strengths
from optimizer.judging.unstated import Unstated, list_unstated
from optimizer.runs.result import RunResult
from optimizer.verifying.differing import find_differences

OF_TRIALS = ("sharpe", "cscv", "bootstrap")
"""Parts that are recorded with the trials, where these fitted memory."""

LASTING = ("robust", "causal", "null", "folds", "cpcv", "trials", "held_out")
"""Parts that stay in later judgements of the same pick."""


@dataclass(frozen=True)
class Judged:
    """All that a run says of its result.

    Args:
        rows: Names and rows of evidence, oldest first.
        judgements: Those among them.
    """

    rows: Rows
    judgements: tuple[Judgement, ...]

    @classmethod
    def read(cls, rows: Rows) -> "Judged":
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
        places = [place for place, (name, _) in enumerate(self.rows) if name == JUDGEMENT]
        return self.rows[: places[number]]

    def list_unfinished(self) -> list[Unstated]:
        """What an interrupted judge left."""
        return list_unstated(self.rows, self.judgements)

    def problems(self, result: RunResult) -> Iterator[str]:
        """What the newest judgement leaves out or says otherwise than its rows, a line each."""
        said = self.newest
        if said is None:
            return
        for one in list_unstated(self.list_earlier_rows(-1), self.judgements):
            if one.note not in said.notes:
                yield f"the judgement says nothing of {one.what} that are recorded before it"
        yield from self._missing_parts(said, result)
        if said.null is not None:
            # It stays in later judgements as it was found.
            first = [one.null for one in self.judgements].index(said.null)
            yield from _null_problems(self.list_earlier_rows(first), said.null)

    def _missing_parts(self, said: Judgement, result: RunResult) -> Iterator[str]:
        required = set(["pick", "robust"] if result.front else [])
        if said.null is not None:
            required.add("causal")
        if said.trials is not None and said.trials.evaluated:
            required.update(OF_TRIALS)
        if any(getattr(said, name) is not None for name in (*OF_TRIALS, "stability")):
            required.add("trials")
        if len(self.judgements) > 1:
            before = self.judgements[-2]
            if before.pick and said.pick and before.pick.member == said.pick.member:
                required.update(name for name in LASTING if getattr(before, name) is not None)
        for name in sorted(required):
            if getattr(said, name) is None:
                yield f"judgement.{name} is left out, and what it goes with is there"


def find_stop_rule(said: NullRecord) -> int:
    """After how many null searches the rest was left; of a former version by where it stopped."""
    stopped = said.shuffled.strength.at_least if said.shuffled.stopped else DEFAULT_STOP_AFTER
    return said.stop_after or stopped


def _null_problems(rows: Rows, said: NullRecord) -> Iterator[str]:
    """What null searches are said to be, beside what their own rows say."""
    for kind in KINDS:
        recorded: NullKind | None = getattr(said, kind)
        known = read_numbered(rows, f"null/{said.keep}/{kind}", NullSearch)
        if recorded is not None:
            yield from _kind_problems(f"judgement.null.{kind}", recorded, said, known)
        # On mirrored bars is searched where shuffled ones do not say luck.
        if (recorded is None) != (kind != KINDS[0] and said.shuffled.strength.p > MOST_P):
            yield f"judgement.null.{kind}: it does not follow from p on {KINDS[0]} bars"


def _kind_problems(
    what: str, recorded: NullKind, said: NullRecord, known: dict[int, NullSearch]
) -> Iterator[str]:
    value = recorded.strength.value
    strengths = list_strengths(known)
    own = float("-inf") if value is None else value
    counted = tally(own, strengths, find_stop_rule(said))
    expected = (counted.searches, counted.is_stopped, counted.at_least, float(counted.p))
    names = ("run", "stopped", "strength.at_least", "strength.p")
    numbers = (recorded.run, recorded.stopped, recorded.strength.at_least, recorded.strength.p)
    for name, number, follows in zip(names, numbers, expected, strict=True):
        yield from find_differences(f"{what}.{name}", number, follows)
    made = [known[number + 1].strength for number in range(counted.searches)]
    yield from find_differences(f"{what}.strengths", list(recorded.strengths), made)
