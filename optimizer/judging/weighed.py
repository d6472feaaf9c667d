"""All evidence in the order in which it is to be read: first what disagrees with the verdict."""

from collections.abc import Iterator
from typing import NamedTuple

from optimizer.evidence.unseen import MOST_DOUBT
from optimizer.evidence.verdict import MOST_P, MOST_P_OF_ALL
from optimizer.judging.judgement import FoldsRecord, HeldOutRecord, Judgement
from optimizer.judging.verdict import tally_in, unseen_in
from optimizer.judging.words import sentences

FOR, AGAINST = "for", "against"
"""More than luck; where evidence says neither, nothing."""

CHECKED = {
    "neighbours": "plateau",
    "costs": "costs",
    "late entries": "delay",
    "within a bar": "within_bar",
    "left out": "left_out",
}
"""Rows to the checks of `optimizer.evidence.robust.CHECKS`."""


class Weighed(NamedTuple):
    """A row of evidence.

    Args:
        speaks: ``for`` or ``against`` more than luck, empty for neither.
    """

    about: str
    sentence: str
    speaks: str


def weighed(found: Judgement) -> list[Weighed]:
    """All evidence but the pick, a sentence each, first what disagrees with the verdict."""
    sides = dict(_sides(found))
    disagrees = FOR if found.verdict.grade == "luck" else AGAINST
    rows = [Weighed(*row, sides.get(row[0], "")) for row in sentences(found) if row[0] != "pick"]
    return sorted(rows, key=lambda row: row.speaks != disagrees)


def _sides(found: Judgement) -> Iterator[tuple[str, str]]:
    """For or against, by row; what decides by the rules of the verdict, the rest at 1 in 20."""
    null = found.null
    kinds = [] if null is None else [("shuffled", null.shuffled), ("mirrored", null.mirrored)]
    ps = [(f"{name} bars", tally_in(kind).p) for name, kind in kinds if kind is not None]
    yield from ((name, _side(p <= MOST_P)) for name, p in ps)
    yield "folds", _side_of(found.folds, found.tries)
    looks = 1 if found.held_out is None else found.held_out.looks
    yield "held-out bars", _side_of(found.held_out, looks)
    if found.sharpe is not None and found.sharpe.dsr_effective is not None:
        yield "sharpe a day", _side(found.sharpe.dsr_effective >= 1 - MOST_DOUBT)
    if found.bootstrap is not None and found.bootstrap.spa_p is not None:
        yield "all trials", _side(found.bootstrap.spa_p <= MOST_DOUBT)
    if found.robust is not None:
        checks = found.robust.checks
        # One that passes says that a result is sturdy, which luck may be too.
        yield from ((row, AGAINST) for row, name in CHECKED.items() if not checks.get(name, True))
    if found.causal is not None and found.causal.mismatches:
        yield "look-ahead", AGAINST
    if ps and max(p for _, p in ps) * found.tries > MOST_P_OF_ALL:
        yield "searches", AGAINST


def _side(is_for: bool) -> str:
    return FOR if is_for else AGAINST


def _side_of(record: FoldsRecord | HeldOutRecord | None, times: int) -> str:
    """What trades on unseen bars say, which may be neither."""
    unseen = unseen_in(record)
    if unseen is None or not (unseen.contradicts or unseen.confirms(times)):
        return ""
    return _side(unseen.confirms(times))
