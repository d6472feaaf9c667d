"""Summary of a result: facts on the search, its front, the verdict and the next step, each once.

Terminal, page, notebook and JSON show these facts; `optimizer.report.facts` adds those that need
bars, or the whole record.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from data.shell import write_command
from engine.certificate import Certificate
from optimizer.evidence.expectation import ExpectedRecord
from optimizer.evidence.judgement import (
    Judgement,
    derive_verdict,
    describe_count,
    describe_expected,
    describe_subject,
    expect_member,
    find_pick,
    suggest_next,
    weigh_evidence,
)
from optimizer.evidence.null import NULL_FLAGS
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.statistic import Weighed
from optimizer.evidence.verdict import NEXT, SIMULATED, Verdict
from optimizer.formatting import (
    GRADE_WORDS,
    describe_formulas,
    format_count,
    fraction,
    metric,
    number,
)
from optimizer.goals.advice import describe_bounds
from optimizer.search.generation import Floats
from optimizer.store.caveats import describe_account, describe_gone, describe_return
from optimizer.store.result import (
    Member,
    RunResult,
    WindowDescription,
    describe_certificate,
    describe_quality,
    describe_windows,
)

if TYPE_CHECKING:
    from optimizer.run.compared import RunComparison

Kind = Literal[
    "verdict", "next", "subject", "expected", "reason", "evidence", "figure", "caution", "asked",
    "found",
]  # fmt: skip

DROPPED = ("invalid", "luck", "lost")
"""Grades after which held-out bars have nothing left to say: each look at them counts."""

CLOSED = "held-out bars"
"""Label of the fact on bars that nobody has looked at."""

CANNOT_KNOW = "Whether the market stays as it is, no number of these bars can know."


class Fact(NamedTuple):
    """One thing that is known of a run."""

    kind: Kind
    label: str
    value: str
    note: str = ""  # stands beside the value in smaller print
    # A grade; ``gain`` or ``loss``; ``for`` or ``against`` more than luck; ``grave`` or ``mild``.
    tone: str = ""


def summarize_result(result: RunResult, judgement: Judgement | None) -> list[Fact]:
    """Facts of a finished run, as far as its record alone has them."""
    pick = find_pick(result, judgement)
    facts = [*_list_beliefs(result, judgement), *_list_searched(result, judgement)]
    if judgement is not None:
        rows = (*weigh_evidence(judgement), *_list_missing(result, judgement))
        facts += map(describe_row, rows)
    facts += _list_closed(result, derive_verdict(result, judgement).grade)
    made = None if judgement is None else judgement.schedule
    if judgement is not None and made is not None:
        facts += _list_stitched(made, judgement)
    elif pick is not None:
        expected = expect_member(result, judgement, pick.member)
        is_sized = result.risk_fraction is None
        facts += list_figures(result.front[pick.member], expected, is_sized=is_sized)
        facts += list_caveats(result.front[pick.member])
    bounds = list_bounds(result.front, result.genomes, result.bounds, result.options)
    return [*facts, *_list_held_out(result.front), *bounds]


def select(facts: Iterable[Fact], *kinds: Kind) -> list[Fact]:
    """Facts of some kinds, in their order."""
    return [fact for fact in facts if fact.kind in kinds]


def describe_verdict(verdict: Verdict) -> Iterator[Fact]:
    """Grade and sentence without the next step, then the reasons."""
    sentence = verdict.sentence.partition(NEXT)[0]
    market = SIMULATED if sentence.startswith(SIMULATED) else ""
    word = GRADE_WORDS[verdict.grade].capitalize()
    yield Fact("verdict", word, sentence.removeprefix(market), market, verdict.grade)
    yield from (Fact("reason", "", reason) for reason in verdict.reasons)


def shorten_verdict(verdict: Fact) -> str:
    """Sentence of a verdict without the grade that stands before it."""
    head, _, rest = verdict.value.partition(": ")
    if not (rest and head.lower().startswith(verdict.label.lower())):
        return verdict.value
    return rest[:1].upper() + rest[1:]


def describe_row(row: Weighed) -> Fact:
    """A row of evidence."""
    return Fact("evidence", row.about, row.sentence, tone=row.speaks)


def _list_beliefs(result: RunResult, judgement: Judgement | None) -> Iterator[Fact]:
    """Verdict, its subject, the expectation of it, and the next step."""
    verdict, pick = derive_verdict(result, judgement), find_pick(result, judgement)
    yield from describe_verdict(verdict)
    about, sentence = describe_subject(result, judgement)
    if sentence:
        yield Fact("subject", about.capitalize(), sentence)
    if pick is not None and (expected := describe_expected(result, judgement, pick.member)):
        is_known = expect_member(result, judgement, pick.member) is not None
        yield Fact("expected", "Expected", expected, CANNOT_KNOW if is_known else "")
    yield Fact("next", "Next", suggest_next(result, verdict, judgement))


def _list_searched(result: RunResult, judgement: Judgement | None) -> Iterator[Fact]:
    """Bars and goals of a search, and its effort."""
    data = result.data
    kept = f" and {format_count(data.held_out_bars, 'bar')} held out" if data.held_out_bars else ""
    simulated = ", a SIMULATED market" if data.is_simulated else ""
    searched = f"{result.strategy} on {data.symbol} {data.timeframe}"
    yield Fact(
        "asked", "Searched", f"{searched}, {format_count(data.bars, 'bar')}{kept}{simulated}"
    )
    yield from list_ranges(data.windows, data.timeframe)
    if numbers := describe_windows(data.windows, result.over_windows):
        yield Fact("asked", "Numbers", numbers)
    yield from list_goals(result.objectives, describe_formulas(result.formulas))
    yield Fact("found", "Tried", describe_count(result, judgement), _describe_seconds(result))
    yield from list_quality(data.windows)
    if diversity := _describe_diversity(result):
        yield Fact("found", "Diversity", diversity)
    yield describe_replay(result.certificate)


def describe_replay(certificate: Certificate) -> Fact:
    """Agreement of reference and engine."""
    hashes = f"ledger {certificate.ledger_hash[:12]}, data {certificate.data_hash[:12]}"
    return Fact("found", "Certificate", describe_certificate(certificate), hashes)


def list_ranges(windows: Sequence[WindowDescription], timeframe: str) -> Iterator[Fact]:
    """From when to when bars reach: those searched on, and those held out."""
    for name, is_held_out in (("In-sample", False), ("Held out", True)):
        part = [window for window in windows if window.is_held_out == is_held_out]
        if part:
            yield Fact("asked", name, _describe_range(part, timeframe))


def _describe_range(windows: Sequence[WindowDescription], timeframe: str) -> str:
    first, last = min(w.first for w in windows), max(w.last for w in windows)
    ends = " to ".join(text[:16].replace("T", " ") for text in (first, last))
    noun = "symbol" if len({window.symbol for window in windows}) == len(windows) else "window"
    many = f" in {format_count(len(windows), noun)}" if len(windows) > 1 else ""
    bars = format_count(sum(window.bars for window in windows), "bar")
    return f"{ends} UTC, {bars} of {timeframe}{many}"


def list_goals(objectives: Sequence[str], formulas: Iterable[str]) -> Iterator[Fact]:
    """Objectives of a search, and their formulas."""
    yield Fact("asked", "Objectives", ", ".join(name.replace("_", " ") for name in objectives))
    yield from (Fact("asked", "Formula", line) for line in formulas)


def list_quality(windows: Iterable[WindowDescription]) -> Iterator[Fact]:
    """Gaps and silent bars."""
    for line in describe_quality(windows):
        name, _, lacking = line.partition(": ")
        yield Fact("found", name.capitalize(), lacking)


def _describe_seconds(result: RunResult) -> str:
    """Seconds of the search; compiling, done once for a machine, stands apart."""
    timing = result.timing
    is_part = timing.evaluated < result.evaluated
    last = f"the last {number(timing.evaluated)} of them " if is_part else ""
    compiled = f", and {timing.compile_s:.1f} s of compiling" if timing.compile_s >= 0.05 else ""
    return f"{last}in {timing.warm_s:.1f} s{compiled}"


def _describe_diversity(result: RunResult) -> str:
    """Sentence where the bounds allowed fewer individuals than planned; else empty."""
    evaluated, wanted = result.individuals, result.population
    if result.search == "lattice" or evaluated >= wanted:
        return ""
    if evaluated == 1:
        return "diversity 0: the bounds allow one candidate, the search had nothing to vary"
    fewer = f"{format_count(evaluated, 'candidate')} where {number(wanted)} were asked for"
    return f"low diversity: no more than {fewer} could be found within the bounds"


def _list_missing(result: RunResult, judgement: Judgement) -> Iterator[Weighed]:
    """Rows on evidence that is not there yet."""
    path = Path(result.path)
    judge = write_command("judge", path)
    is_short = any(note.startswith("no folds: ") for note in judgement.notes)
    if judgement.folds is None and judgement.schedule is None and not is_short:
        yield Weighed("folds", f"Nobody searched again in folds: {judge} does.")
    if judgement.causal is None:
        yield Weighed("look-ahead", f"Not looked for yet: {judge} {NULL_FLAGS[0]} does.")
    if judgement.power is None and judgement.verdict.grade == "luck" and not judgement.schedule:
        power = write_command("power", path)
        yield Weighed("power", f"Not known: {power} says how large an edge would be found.")
    if judgement.held_out is None and not result.data.held_out_bars:
        yield Weighed("held-out bars", "No bars were held out.")


def _list_closed(result: RunResult, grade: str) -> Iterator[Fact]:
    """Held-out bars still closed, and whether to look at them: not for a front to drop."""
    if result.data.held_out_bars and all(member.held_out is None for member in result.front):
        closed = format_count(result.data.held_out_bars, "bar")
        closed += " held out, which nobody has looked at"
        judge = write_command("judge", Path(result.path), "--open")
        step = "; keep them closed for another search" if grade in DROPPED else f": {judge}"
        yield Fact("evidence", CLOSED, closed + step)


def list_bounds(
    members: Sequence[Member],
    genomes: Floats,
    bounds: Mapping[str, tuple[float, float]],
    options: Mapping[str, Sequence[str]],
) -> Iterator[Fact]:
    """Genes [F, G] of members that lie at the bounds of the search."""
    if members and bounds and (text := describe_bounds(genomes, bounds, options)):
        yield Fact("caution", "bound", text, tone="mild")


def _list_held_out(members: Sequence[Member]) -> Iterator[Fact]:
    """How members did on bars that the search has not seen, where some did badly."""
    held = [member.held_out.metrics.get("mean_r") for member in members if member.held_out]
    losing = sum(value is not None and value <= 0 for value in held)
    silent, count = sum(value is None for value in held), len(members)
    if losing or silent:
        text = f"Held out, {number(losing)} of {format_count(count, 'member')} lost"
        text += f" and {number(silent)} did not trade." if silent else "."
        tone = "grave" if losing + silent == count else "mild"
        yield Fact("caution", "held out", text, tone=tone)


def list_caveats(member: Member) -> Iterator[Fact]:
    """Facts that a member's return hides."""
    tone = "grave" if member.gone else "mild"
    for text in describe_account(member, 1):
        yield Fact("caution", "return", text, tone=tone)


def list_figures(
    member: Member, expected: ExpectedRecord | None, *, is_sized: bool
) -> Iterator[Fact]:
    """Few numbers of a member that a reader looks for first.

    `expected` is None if unknown; a strategy that sizes trades has its leverage in other
    figures.
    """
    values = {**member.objectives, **member.metrics}
    texts = {name: metric(name, value) for name, value in values.items()}
    yield _grow(values.get("total_return"), values.get("cagr"), describe_return(member))
    marked = values.get("max_drawdown_marked")
    closes = f"{fraction(marked)} with open positions, by bar closes"
    note = "between closed trades" if marked is None else closes
    yield Fact("figure", "Deepest drawdown", metric("max_drawdown", values["max_drawdown"]), note)
    note = f"{texts['win_rate']} of them gain, {texts['mean_r']} R a trade"
    yield Fact("figure", "Trades", texts["trades"], note)
    if expected is not None:
        year = expected.year
        a_year = "" if year is None else f"; {year.headline}, {year.range}"
        note = f"{expected.range} in eight of ten cases{a_year}"
        yield Fact("figure", "Expected", expected.headline, note, _sign(expected.mean))
    note = f"{texts['mean_hold_bars']} bars a trade"
    yield Fact("figure", "In the market", texts["exposure"], note)
    if not is_sized and values.get("median_leverage") is not None:
        note = f"at most {texts['max_leverage']} times the account"
        yield Fact("figure", "Position, median", f"{texts['median_leverage']} x", note)
    total, hold, raw = (
        values.get(name) for name in ("total_return", "hold_at_equal_volatility", "buy_and_hold")
    )
    if total is not None and hold is not None and raw is not None:
        yield compare_with_hold(total, hold, raw)


def _list_stitched(made: ScheduleRecord, judgement: Judgement) -> Iterator[Fact]:
    """The same of the account of all steps, as they are recorded."""
    growth = judgement.answer.cagr if judgement.answer else None
    yield _grow(made.equity - 1.0, growth, describe_gone(made.gone) if made.gone else "")
    closed = "between closed trades"
    yield Fact("figure", "Deepest drawdown", fraction(made.max_drawdown), closed)
    note = f"{made.format('mean_r')} R a trade, strength {made.format('strength')}"
    yield Fact("figure", "Trades", number(made.trades), note)
    changed = "" if made.changed is None else f"the pick changed at {made.changed:.0%} of dates"
    yield Fact("figure", "Steps", number(len(made.rows)), changed)


def _grow(total: float | None, growth: float | None, beside: str) -> Fact:
    made, beside = metric("total_return", total), beside and f"; {beside}"
    if growth is None:
        return Fact("figure", "Return", made, f"in all{beside}", _sign(total))
    value = metric("cagr", growth)
    return Fact("figure", "Return a year", value, f"{made} in all{beside}", _sign(growth))


def compare_with_hold(total: float, hold: float, raw: float) -> Fact:
    """Return beside that of holding at the same volatility; unscaled as small print."""
    points = f"{100 * (total - hold):+,.1f}"
    note = f"points at equal volatility: holding made {fraction(hold)} ({fraction(raw)} unscaled)"
    return Fact("figure", "Against buy and hold", points, note, _sign(total - hold))


def _sign(value: float | None) -> str:
    return "" if not value else "gain" if value > 0 else "loss"


def describe_outcome(result: RunResult, judgement: Judgement | None) -> dict[str, str]:
    """Verdict, pick and held-out bars of a run, each a line beside those of other runs."""
    pick, made = find_pick(result, judgement), None if judgement is None else judgement.schedule
    named, strength = "none", None
    if made is not None:
        steps = format_count(len(made.rows), "step")
        named, strength = f"{steps}, {format_count(made.trades, 'trade')}", made.strength
    elif pick is not None:
        named = f"member {pick.member}, {format_count(pick.trades, 'trade')}"
        strength = pick.strength
    expected, unknown = None, "-"
    if pick is not None:
        expected = expect_member(result, judgement, pick.member)
        outlook = describe_expected(result, judgement, pick.member)
        unknown = "not known yet" if outlook else "-"
    year = None if expected is None else expected.year
    held = None if judgement is None else judgement.held_out
    closed = "closed" if result.data.held_out_bars else "none"
    return {
        "verdict": GRADE_WORDS[derive_verdict(result, judgement).grade],
        "pick": named,
        "strength of the pick": number(strength),
        "expected of it": unknown if expected is None else expected.headline,
        "in eight of ten cases": "-" if expected is None else expected.range,
        "expected a year": "-" if year is None else year.headline.removesuffix(" a year"),
        "in eight of ten cases, a year": "-" if year is None else year.range,
        "held-out bars": closed if held is None else f"{number(held.mean_r)} R a trade",
    }


def align_outcomes(outcomes: Sequence[Mapping[str, str]]) -> list[tuple[str, list[str]]]:
    """Lines of several outcomes, a cell a run; a dash where a run is not finished."""
    names = dict.fromkeys(name for outcome in outcomes for name in outcome)
    return [(name, [outcome.get(name, "-") for outcome in outcomes]) for name in names]


def compare_side_by_side(
    comparisons: Sequence["RunComparison"], objectives: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Lines on what runs tried and reached, a cell a run."""
    rows = [
        ("bars", [run.data for run in comparisons]),
        ("status", [run.status for run in comparisons]),
    ]
    for label, name in (
        ("generations", "generations"),
        ("candidates evaluated", "evaluated"),
        ("seconds", "seconds"),
        ("front", "front"),
    ):
        rows.append((label, [number(getattr(run, name)) for run in comparisons]))
    for index, name in enumerate(objectives):
        best = [metric(name, run.best[index]) if run.best else "-" for run in comparisons]
        rows.append((f"best {name}", best))
    if all(run.is_measured_alike for run in comparisons):
        shares = [fraction(run.hypervolume) for run in comparisons]
        rows.append(("hypervolume, of all together", shares))
    return rows
