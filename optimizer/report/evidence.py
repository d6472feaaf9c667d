"""Evidence on a page: the pick, all evidence row by row, folds as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data.shell import write_command
from optimizer.evidence.drift import DriftRecord
from optimizer.evidence.folds import FoldRow, Range
from optimizer.evidence.judgement import (
    Judgement,
    describe_subject,
    suggest_next,
    weigh_evidence,
)
from optimizer.evidence.null import NULL_FLAGS
from optimizer.evidence.statistic import Weighed
from optimizer.evidence.verdict import NEXT, SIMULATED, Verdict
from optimizer.formatting import number
from optimizer.grades import GRADE_WORDS
from optimizer.report.charts.chart import words
from optimizer.report.schedule import format_figure, list_step_cells
from optimizer.report.tables import Tables
from optimizer.signals.drift import read_drift
from optimizer.store import RunStore

FOLD_COLUMNS = ("fold", "searched on", "tested on", "trades", "mean R", "efficiency")

CANNOT_KNOW = "Whether the market stays as it is, no number of these bars can know."


@dataclass(frozen=True)
class PageAnswer:
    """The first part of a page."""

    is_simulated: bool  # whether a program invented the market
    grade: str  # one of `optimizer.grades.GRADES`, which decides the colour
    word: str  # the same in words
    sentence: str
    step: str  # what to do next
    reasons: tuple[str, ...]
    about: str  # what is judged: the pick, or the account of all steps of a schedule
    pick: str  # a sentence on it, empty where it is not known
    expected: str  # what it is expected to earn, or how to find it out; empty of a schedule
    evidence: tuple[Weighed, ...]  # first what disagrees with the verdict
    folds: tuple[tuple[str, ...], ...]  # cells of a row each, in `FOLD_COLUMNS`
    steps: tuple[tuple[str, ...], ...]  # of a schedule, likewise in `STEP_COLUMNS`
    gene_names: tuple[str, ...]  # names of the genes
    # Of each fold, its pick's genes; empty cells where it has none.
    fold_genes: tuple[tuple[str, ...], ...]


def build_answer(run: Tables) -> PageAnswer:
    """Whether a run is more than luck, and everything that is known of it."""
    verdict, judgement = run.verdict, run.judgement
    made = None if judgement is None else judgement.schedule
    about, sentence = ("", "") if run.result is None else describe_subject(run.result, judgement)
    rows = () if judgement is None or judgement.folds is None else judgement.folds.rows
    return PageAnswer(
        run.header.is_simulated,
        verdict.grade,
        GRADE_WORDS[verdict.grade].capitalize(),
        _shorten(verdict),
        "" if run.result is None else suggest_next(run.result, verdict, judgement),
        verdict.reasons,
        about,
        sentence,
        _describe_expected(run),
        tuple(_list_evidence(run)),
        _list_fold_cells(rows),
        () if made is None else list_step_cells(made),
        tuple(words(name) for name in run.genes),
        tuple(tuple(number(row.genes.get(name)) for name in run.genes) for row in rows),
    )


def _describe_expected(run: Tables) -> str:
    """Sentence on what the pick is expected to earn, with what that cannot know."""
    sentence = run.outlook
    return f"{sentence[:1].upper()}{sentence[1:]} {CANNOT_KNOW}" if run.expected else sentence


def _shorten(verdict: Verdict) -> str:
    """The sentence of a verdict without what stands around it: the grade, and the next step."""
    sentence = verdict.sentence.removeprefix(SIMULATED).partition(NEXT)[0]
    head, colon, rest = sentence.partition(": ")
    if not (colon and head.lower().startswith(GRADE_WORDS[verdict.grade])):
        return sentence
    return rest[:1].upper() + rest[1:]


def _list_evidence(run: Tables) -> Iterator[Weighed]:
    """Drift first, which is newest; then what was judged, and what was not."""
    drift = _read_drift(run)
    if drift is not None:
        yield drift.row
    if run.judgement is not None:
        yield from weigh_evidence(run.judgement)
        yield from _list_missing(run, run.judgement)


def _read_drift(run: Tables) -> DriftRecord | None:
    if not run.is_search:
        return None
    with RunStore.open(run.path) as store:
        return read_drift(store)


def _list_missing(run: Tables, judgement: Judgement) -> Iterator[Weighed]:
    """Rows on evidence that was not asked for yet."""
    judge = write_command("judge", run.path)
    if judgement.folds is None and judgement.schedule is None:
        yield Weighed("folds", f"Nobody searched again in folds: {judge} does.", "")
    if judgement.causal is None:
        yield Weighed("look-ahead", f"Not looked for yet: {judge} {NULL_FLAGS[0]} does.", "")
    if judgement.power is None and judgement.verdict.grade == "luck" and not judgement.schedule:
        power = write_command("power", run.path)
        yield Weighed("power", f"Not known: {power} says how large an edge would be found.", "")
    if judgement.held_out is None:
        closed = f"Closed: {judge} --open looks at them, and every look is counted."
        is_held_out = bool(run.header.held_out)
        yield Weighed("held-out bars", closed if is_held_out else "No bars were held out.", "")


def _list_fold_cells(rows: Sequence[FoldRow]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            str(row_number),
            _format_range(row.train),
            _format_range(row.test)
            + (f", without {', '.join(row.untested)}" if row.untested else ""),
            number(row.trades),
            format_figure(row, "mean_r"),
            format_figure(row, "efficiency"),
        )
        for row_number, row in enumerate(rows, start=1)
    )


def _format_range(ranges: Sequence[Range]) -> str:
    """Days of windows, from the first to the last."""
    first, last = min(part.first for part in ranges), max(part.last for part in ranges)
    return f"{first[:10]} to {last[:10]}"
