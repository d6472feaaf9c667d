"""What a page says of a judgement: the pick, all evidence row by row, folds as a table."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optimizer.evidence.verdict import SIMULATED
from optimizer.judging.judgement import FoldRow, Judgement, Number, Range, VerdictRecord
from optimizer.judging.words import Weighed, sentences, weighed
from optimizer.report.charts.chart import words
from optimizer.report.tables import Tables
from optimizer.shown import number

FOLD_COLUMNS = ("fold", "searched on", "tested on", "trades", "mean R", "efficiency")

ALONE = "Not judged: one individual, without the search that found it."


@dataclass(frozen=True)
class Answer:
    """The first part of a page.

    Args:
        grade: One of `optimizer.evidence.verdict.GRADES`, which decides the colour.
        word: The same in words.
        pick: What is judged, empty where that is not known.
        evidence: First what disagrees with the verdict.
        folds: Cells of a row each, in `FOLD_COLUMNS`.
    """

    grade: str
    word: str
    sentence: str
    reasons: tuple[str, ...]
    pick: str
    evidence: tuple[Weighed, ...]
    folds: tuple[tuple[str, ...], ...]


def answer(run: Tables) -> Answer:
    """Whether a run is more than luck, and everything that is known of it."""
    verdict, found = run.verdict, run.judgement
    return Answer(
        verdict.grade,
        words(verdict.grade).capitalize(),
        verdict.sentence,
        verdict.reasons,
        "" if found is None else _pick(found),
        () if found is None else (*weighed(found), *_missing(run, found)),
        () if found is None or found.folds is None else _folds(found.folds.rows),
    )


def alone(is_simulated: bool) -> VerdictRecord:
    """What is said of an individual that no search led to."""
    return VerdictRecord("not_judged", (SIMULATED if is_simulated else "") + ALONE)


def _pick(found: Judgement) -> str:
    sentence = next((one for about, one in sentences(found) if about == "pick"), "")
    genes = {} if found.pick is None else found.pick.genes
    shown = ", ".join(f"{words(name)} {number(value)}" for name, value in genes.items())
    return f"{sentence} Its genes: {shown}."


def _missing(run: Tables, found: Judgement) -> Iterator[Weighed]:
    """Rows of what nobody has asked for yet."""
    judge = f"python -m optimizer judge {shlex.quote(str(run.path))}"
    if found.folds is None:
        yield Weighed("folds", f"Nobody searched again in folds: {judge} does.", "")
    if found.causal is None:
        yield Weighed("look-ahead", f"Not looked for yet: {judge} --null 199 does.", "")
    if found.held_out is None:
        closed = f"Closed: {judge} --open looks at them, and every look is counted."
        is_held_out = bool(run.header.held_out)
        yield Weighed("held-out bars", closed if is_held_out else "No bars were held out.", "")


def _folds(rows: Sequence[FoldRow]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            str(place),
            _range(row.train),
            _range(row.test) + (f", without {', '.join(row.untested)}" if row.untested else ""),
            number(row.trades),
            _figure(row.mean_r, row, "mean_r"),
            _figure(row.efficiency, row, "efficiency"),
        )
        for place, row in enumerate(rows, start=1)
    )


def _figure(value: Number, row: FoldRow, name: str) -> str:
    return f"{value:.3g}" if value is not None else f"undefined: {row.why.get(name, 'unknown')}"


def _range(ranges: Sequence[Range]) -> str:
    """Days of windows, from the first to the last."""
    first, last = min(one.first for one in ranges), max(one.last for one in ranges)
    return f"{first[:10]} to {last[:10]}"
