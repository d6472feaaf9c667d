"""A result as a person and as a program read it: the verdict, the front, and what proves it."""

from collections.abc import Mapping
from pathlib import Path

from data.shell import write_command
from optimizer.cli.console import Lines, stdout
from optimizer.cli.tables import (
    format_certificate,
    front_tables,
    front_title,
    genes_tables,
    held_out_table,
    windows_table,
)
from optimizer.evidence.judgement import (
    Judgement,
    derive_verdict,
    describe_count,
    describe_expected,
    describe_subject,
    expect_members,
    find_pick,
    suggest_next,
)
from optimizer.evidence.verdict import NEXT, Verdict
from optimizer.formatting import describe_formulas, format_count, number
from optimizer.goals.advice import advise, describe_bounds, describe_failures, describe_nearest
from optimizer.goals.objectives import find_metric
from optimizer.run.differing import SHOWN_MEMBERS, find_differing
from optimizer.store.caveats import describe_account, describe_gone
from optimizer.store.result import RunResult, choose_noun, describe_quality
from optimizer.store.windows import describe_windows, list_searched_windows

COLOURS = {
    "invalid": "red",
    "too_little": "red",
    "luck": "red",
    "lost": "red",
    "not_judged": "yellow",
    "weak": "yellow",
    "holds": "cyan",
    "robust": "cyan",
}
"""Of each grade; never the only sign of it."""

DROPPED = ("invalid", "luck", "lost")
"""Grades after which held-out bars have nothing left to say: each look at them counts."""


def result_json(result: RunResult, judgement: Judgement | None) -> Mapping[str, object]:
    """A result behind its judgement; where there is none, behind such a verdict, and the pick.

    ``counted`` is how its counts of individuals go together.
    """
    verdict: dict[str, object] = {"verdict": derive_verdict(result, None).payload()}
    if judgement is None and (pick := find_pick(result, None)) is not None:
        verdict["pick"] = pick.payload()
    judged = {"expected": None, **(judgement.payload() if judgement else verdict)}
    counted = describe_count(result, judgement)
    return {"judgement": judged, **result.payload(), "counted": counted}


def print_result(result: RunResult, judgement: Judgement | None, *, is_whole: bool) -> None:
    """Print the front, its certificate and where it is recorded; `print_answer` follows.

    Args:
        result: Of the run.
        judgement: Its newest; None where there is none.
        is_whole: Whether to print all members, not `tables.SHOWN_MEMBERS` of them.
    """
    console, data = stdout(), result.data
    pick = find_pick(result, judgement)
    if result.resumed:
        console.say(f"run {result.run} had {result.resumed}; this is its result")
    simulated = ", a SIMULATED market" if data.is_simulated else ""
    kept = f" and {format_count(data.held_out_bars, 'bar')} held out" if data.held_out_bars else ""
    console.say(
        f"{result.strategy} on {data.symbol} {data.timeframe}, "
        f"{format_count(data.bars, 'bar')}{kept}{simulated}"
    )
    console.say(f"{describe_count(result, judgement)}, {_describe_seconds(result)}")
    console.say_all(describe_quality(data.windows))
    _say_diversity(console, result)
    console.print()
    if result.front:
        is_marked = pick is not None and not _is_stitched(judgement)
        chosen = pick.member if pick is not None and is_marked else None
        if _is_stitched(judgement):
            console.say("One search over all bars, which the verdict is not about:")
        _print_front(console, result, judgement, chosen, is_whole=is_whole)
    else:
        _say_empty(console, result)
    console.print()
    console.say(format_certificate(result.certificate))
    console.say(f"front {result.front_hash[:12]}, recorded in {result.path}")


def _is_stitched(judgement: Judgement | None) -> bool:
    """Whether the verdict is about the account of all steps of a schedule."""
    return judgement is not None and judgement.schedule is not None


def _say_empty(console: Lines, result: RunResult) -> None:
    """Say why a front is empty, what came nearest, and what to change."""
    failures, nearest = result.infeasible, result.nearest
    console.say("No candidate is feasible: the front is empty.")
    console.say(describe_failures(failures, sum(failures.values())))
    if nearest is not None:
        console.say(describe_nearest(failures, nearest.metrics, nearest.undefined, result.formulas))
    metrics, undefined = ({}, {}) if nearest is None else (nearest.metrics, nearest.undefined)
    is_silent = all(window.silent == window.bars for window in result.data.windows)
    console.say(advise(failures, metrics, undefined, is_silent=is_silent))
    for table in () if nearest is None else genes_tables({0: nearest}, console.width):
        console.print()
        console.say("Genes of the nearest", style="italic")
        table.title = None
        console.print(table)


def print_answer(result: RunResult, judgement: Judgement | None) -> None:
    """Print what a person looks for, as the last lines: verdict, pick, next step."""
    console, verdict = stdout(), derive_verdict(result, judgement)
    console.print()
    print_verdict(console, verdict)
    about, sentence = describe_subject(result, judgement)
    if sentence:
        console.say(f"{about.capitalize()}: {sentence}")
    pick = find_pick(result, judgement)
    if pick is not None and (expected := describe_expected(result, judgement, pick.member)):
        console.say(f"Expected: {expected}")
    if pick is not None and not _is_stitched(judgement):
        console.say_all(describe_account(result.front[pick.member], 1))
    console.say(f"Next: {suggest_next(result, verdict, judgement)}")


def print_verdict(console: Lines, verdict: Verdict) -> None:
    """Print verdict and reasons; the next step, where the sentence names it, stands apart."""
    console.say(verdict.sentence.partition(NEXT)[0], style=f"bold {COLOURS[verdict.grade]}")
    for reason in verdict.reasons:
        console.say(f"  {reason}")


def _print_front(
    console: Lines,
    result: RunResult,
    judgement: Judgement | None,
    pick: int | None,
    *,
    is_whole: bool,
) -> None:
    """Members and their genes, what was held out, and the first member window by window."""
    most, data = len(result.front) if is_whole else SHOWN_MEMBERS, result.data
    members = find_differing(result.front, result.objectives, pick, most)
    title = front_title(len(result.front), len(members), pick) + _describe_rule(result)
    console.say(title, style="italic")
    expected = expect_members(result, judgement, members)
    console.print(*front_tables(members, result.objectives, console.width, pick, expected))
    console.say_all(describe_formulas(result.formulas))
    for number_of, member in members.items():
        if member.gone:
            console.say(f"Member {number_of} is no result: {describe_gone(member.gone)}.")
    for table in genes_tables(members, console.width):
        console.print()
        console.print(table)
    bounds = result.bounds
    if bounds and (sentence := describe_bounds(result.genomes, bounds, result.options)):
        console.print()
        console.say(sentence)
    if result.front[0].held_out is not None:
        console.print()
        console.print(held_out_table(members, result.objectives))
    elif data.held_out_bars:
        console.print()
        console.say(_describe_closed(result, derive_verdict(result, judgement).grade))
    if len({window.label for window in data.windows}) > 1:
        metrics = [metric for name in result.objectives if (metric := find_metric(name))]
        by_window = {name: members[0].by_window.get(name, ()) for name in ("trades", *metrics)}
        # Held-out windows come last, and are left out.
        windows = data.windows[: len(by_window["trades"])]
        noun = choose_noun(data.windows)
        title = f"Member 0, {noun} by {noun}"
        if windows:
            console.print()
            console.print(windows_table(windows, by_window, title))


def _describe_closed(result: RunResult, grade: str) -> str:
    """Number of held-out bars, and whether to look at them: of a front to drop, no."""
    closed = (
        f"{format_count(result.data.held_out_bars, 'bar')} held out, which nobody has looked at"
    )
    if grade in DROPPED:
        return f"{closed}; keep them closed for another search"
    return f"{closed}: {write_command('judge', Path(result.path), '--open')}"


def _describe_seconds(result: RunResult) -> str:
    """Seconds of the search; compiling, done once for a machine, stands apart."""
    timing = result.timing
    is_part = timing.evaluated < result.evaluated
    last = f"the last {number(timing.evaluated)} of them " if is_part else ""
    compiled = f", and {timing.compile_s:.1f} s of compiling" if timing.compile_s >= 0.05 else ""
    return f"{last}in {timing.warm_s:.1f} s{compiled}"


def _say_diversity(console: Lines, result: RunResult) -> None:
    """Say when the bounds allowed fewer individuals than were asked for."""
    evaluated, wanted = result.individuals, result.population
    if result.search == "lattice" or evaluated >= wanted:
        return
    if evaluated == 1:
        console.say("diversity 0: the bounds allow one candidate, the search had nothing to vary")
        return
    fewer = f"{format_count(evaluated, 'candidate')} where {number(wanted)} were asked for"
    console.say(f"low diversity: no more than {fewer} could be found within the bounds")


def _describe_rule(result: RunResult) -> str:
    """Meaning of numbers over several windows to search on; empty where there is one."""
    rule = describe_windows(list_searched_windows(result.data.windows), result.over_windows)
    return f"; {rule}" if rule else ""
