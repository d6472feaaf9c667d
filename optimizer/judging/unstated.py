"""Rows of evidence that no judgement states, which a judge leaves that was interrupted."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import comb

from optimizer.evidence.null import DEFAULT_SEARCHES, NullKind
from optimizer.formatting import format_count, number
from optimizer.judging.checkpoint import Rows
from optimizer.judging.judgement import Judgement
from optimizer.run.purposes import OPENED

NULL = re.compile(r"null/(?P<keep>none|day|week)/(?P<kind>shuffled|mirrored)")
FOLD = re.compile(r"fold/(?P<kind>rolling|anchored)-(\d{1,4})-(\d{1,4})-(\d{1,9})")
CPCV = re.compile(r"cpcv/(\d{1,3})-(\d{1,3})-(\d{1,9})-(\d{1,9})")
SCHEDULE = re.compile(r"schedule/(rolling|anchored)-(\w{2,7})-(\w{2,7})-(\d{1,9})(-near)?")
NULL_SCHEDULE = re.compile(
    r"null-schedule/(rolling|anchored)-(\w{2,7})-(\w{2,7})-(\d{1,9})"
    r"-(strength|near|keep)/(none|day|week)/(shuffled|mirrored)"
)
LOOK = re.compile(OPENED)
"""Names of rows up to their numbers, with the settings that decide them."""


@dataclass(frozen=True)
class Unstated:
    """Rows of one kind that no judgement states."""

    what: str  # their kind in words, with their number
    flags: str  # of the judge that goes on with them

    @property
    def note(self) -> str:
        """Note of a judgement that leaves them out."""
        return f"not judged to the end: {self.what}, which judge {self.flags} goes on with"


def list_unstated(rows: Rows, judgements: Iterable[Judgement]) -> list[Unstated]:
    """Kinds of rows that are in none of the judgements, in the order in which they were begun."""
    known = tuple(judgements)
    counts: dict[str, int] = {}
    for name, _ in rows:
        kind = name if name == OPENED else name.rpartition("/")[0]
        counts[kind] = counts.get(kind, 0) + 1
    unstated = []
    for name, count in counts.items():
        for pattern, (states, describe) in KINDS_OF_ROWS.items():
            match = pattern.fullmatch(name)
            if match and not any(states(match, count, judgement) for judgement in known):
                unstated.append(describe(match, count))
    return unstated


def _states_null(match: re.Match[str], count: int, judgement: Judgement) -> bool:
    if judgement.null is None or judgement.null.keep != match["keep"]:
        return False
    kind: NullKind | None = getattr(judgement.null, match["kind"])
    # Whether mirrored bars count is decided by what was found on shuffled ones.
    return kind is None or kind.stopped or kind.run >= count


def _describe_null(match: re.Match[str], count: int) -> Unstated:
    searches = "1 search" if count == 1 else f"{number(count)} searches"
    flags = f"--null {DEFAULT_SEARCHES} --null-keep {match['keep']}"
    return Unstated(f"{searches} on {match['kind']} bars", flags)


def _states_folds(match: re.Match[str], _: int, judgement: Judgement) -> bool:
    folds, (kind, *numbers) = judgement.folds, match.groups()
    if folds is None:
        return False
    return (folds.kind, len(folds.rows), folds.train, folds.purge) == (kind, *map(int, numbers))


def _describe_folds(match: re.Match[str], count: int) -> Unstated:
    kind, folds, train, purge = match.groups()
    flags = f"--folds {folds} --train {train} --purge {purge}"
    return Unstated(format_count(count, "fold"), flags + " --anchored" * (kind == "anchored"))


def _states_paths(match: re.Match[str], _: int, judgement: Judgement) -> bool:
    return judgement.cpcv is not None and judgement.cpcv.splits == comb(
        int(match[1]), int(match[2])
    )


def _describe_paths(match: re.Match[str], count: int) -> Unstated:
    groups, tests, purge, embargo = match.groups()
    flags = f"--cpcv {groups},{tests} --purge {purge} --embargo {embargo}"
    return Unstated(format_count(count, "combinatorial split"), flags)


def _states_schedule(match: re.Match[str], _: int, judgement: Judgement) -> bool:
    made = judgement.schedule
    if made is None:
        return False
    kind = "anchored" if made.anchored else "rolling"
    return (kind, made.every, made.train, str(made.purge)) == match.groups()[:4]


def _describe_schedule(match: re.Match[str], count: int) -> Unstated:
    rule = " --pick-by near" * (match[5] is not None)
    return Unstated(format_count(count, "step"), _name_schedule(match) + rule)


def _states_null_schedule(match: re.Match[str], count: int, judgement: Judgement) -> bool:
    made = judgement.schedule
    if not _states_schedule(match, count, judgement) or made is None or made.null is None:
        return False
    kind: NullKind | None = made.null.kinds.get(match[7])
    return kind is None or kind.stopped or kind.run >= count


def _describe_null_schedule(match: re.Match[str], count: int) -> Unstated:
    flags = f"{_name_schedule(match)} --pick-by {match[5]} --null-keep {match[6]}"
    return Unstated(
        f"{format_count(count, 'schedule')} on {match[7]} bars",
        f"{flags} --null {DEFAULT_SEARCHES}",
    )


def _name_schedule(match: re.Match[str]) -> str:
    flags = f"--every {match[2]} --train {match[3]} --purge {match[4]}"
    return flags + " --anchored" * (match[1] == "anchored")


def _states_look(_match: re.Match[str], _: int, judgement: Judgement) -> bool:
    return judgement.held_out is not None


def _describe_look(_match: re.Match[str], count: int) -> Unstated:
    return Unstated(f"{format_count(count, 'look')} at held-out bars", "--open")


States = Callable[[re.Match[str], int, Judgement], bool]
Describe = Callable[[re.Match[str], int], Unstated]

KINDS_OF_ROWS: Mapping[re.Pattern[str], tuple[States, Describe]] = {
    NULL: (_states_null, _describe_null),
    FOLD: (_states_folds, _describe_folds),
    CPCV: (_states_paths, _describe_paths),
    SCHEDULE: (_states_schedule, _describe_schedule),
    NULL_SCHEDULE: (_states_null_schedule, _describe_null_schedule),
    LOOK: (_states_look, _describe_look),
}
"""Of rows by name: whether a judgement states them, and what they are in words."""
