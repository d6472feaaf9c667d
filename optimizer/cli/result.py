"""A result as a person and as a program read it: the verdict, the front, and what proves it."""

from collections.abc import Mapping, Sequence

from optimizer.cli.console import Lines, stdout
from optimizer.cli.tables import (
    front_tables,
    front_title,
    genes_tables,
    held_out_table,
    windows_table,
)
from optimizer.evidence.judgement import (
    Judgement,
    derive_verdict,
    expect_members,
    find_pick,
)
from optimizer.formatting import describe_formulas
from optimizer.goals.advice import advise, describe_failures, describe_nearest
from optimizer.goals.objectives import find_metric
from optimizer.report.summary import CLOSED, Fact, select, summarize_result
from optimizer.run.tables import SHOWN_MEMBERS, find_differing
from optimizer.store.caveats import describe_gone
from optimizer.store.result import RunResult, choose_noun

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


def result_json(result: RunResult, judgement: Judgement | None) -> Mapping[str, object]:
    """A result behind its judgement, before its summary.

    Where there is no judgement, it stands behind such a verdict, and the pick.
    """
    verdict: dict[str, object] = {"verdict": derive_verdict(result, None).payload()}
    if judgement is None and (pick := find_pick(result, None)) is not None:
        verdict["pick"] = pick.payload()
    judged = {"expected": None, **(judgement.payload() if judgement else verdict)}
    summary = [fact._asdict() for fact in summarize_result(result, judgement)]
    return {"judgement": judged, **result.payload(), "summary": summary}


def print_result(result: RunResult, judgement: Judgement | None, *, is_whole: bool) -> None:
    """Print the front, its certificate and where it is recorded; `print_answer` follows.

    Args:
        result: Of the run.
        judgement: Its newest; None where there is none.
        is_whole: Whether to print all members, not `tables.SHOWN_MEMBERS` of them.
    """
    console, facts = stdout(), summarize_result(result, judgement)
    pick = find_pick(result, judgement)
    if result.resumed:
        console.say(f"run {result.run} had {result.resumed}; this is its result")
    searched, (tried, *found, certificate) = select(facts, "asked")[0], select(facts, "found")
    console.say(searched.value)
    console.say(f"{tried.value}, {tried.note}")
    console.say_all(map(format_fact, found))
    console.print()
    if result.front:
        is_marked = pick is not None and not _is_stitched(judgement)
        chosen = pick.member if pick is not None and is_marked else None
        if _is_stitched(judgement):
            console.say("One search over all bars, which the verdict is not about:")
        _print_front(console, result, judgement, facts, chosen, is_whole=is_whole)
    else:
        _say_empty(console, result)
    console.print()
    console.say(format_fact(certificate))
    console.say(f"front {result.front_hash[:12]}, recorded in {result.path}")


def format_fact(fact: Fact) -> str:
    """A fact as a line."""
    note = f" ({fact.note})" if fact.note else ""
    return f"{fact.label.lower()}: {fact.value}{note}"


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
    console, facts = stdout(), summarize_result(result, judgement)
    console.print()
    print_verdict(console, facts)
    for fact in select(facts, "subject", "expected"):
        console.say(f"{fact.label}: {fact.value}")
    console.say_all(fact.value for fact in _find(facts, "return"))
    console.say_all(f"Next: {fact.value}" for fact in select(facts, "next"))


def print_verdict(console: Lines, facts: Sequence[Fact]) -> None:
    """Print verdict and reasons."""
    (verdict,) = select(facts, "verdict")
    console.say(f"{verdict.note}{verdict.value}", style=f"bold {COLOURS[verdict.tone]}")
    console.say_all(f"  {reason.value}" for reason in select(facts, "reason"))


def _find(facts: Sequence[Fact], label: str) -> list[Fact]:
    return [fact for fact in facts if fact.label == label]


def _say_apart(console: Lines, facts: Sequence[Fact], label: str) -> None:
    for fact in _find(facts, label):
        console.print()
        console.say(fact.value)


def _print_front(
    console: Lines,
    result: RunResult,
    judgement: Judgement | None,
    facts: Sequence[Fact],
    pick: int | None,
    *,
    is_whole: bool,
) -> None:
    """Members and their genes, what was held out, and the first member window by window."""
    most, data = len(result.front) if is_whole else SHOWN_MEMBERS, result.data
    members = find_differing(result.front, result.objectives, pick, most)
    title = front_title(len(result.front), len(members), pick)
    title += "".join(f"; {fact.value}" for fact in _find(facts, "Numbers"))
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
    _say_apart(console, facts, "bound")
    if result.front[0].held_out is not None:
        console.print()
        console.print(held_out_table(members, result.objectives))
    elif data.held_out_bars:
        _say_apart(console, facts, CLOSED)
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
