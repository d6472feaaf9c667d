"""Tables of recorded runs side by side."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from optimizer.cli.console import stdout
from optimizer.evidence.judgement import (
    derive_verdict,
    find_pick,
    read_expected,
    read_opened_result,
)
from optimizer.formatting import describe_formulas, format_count, fraction, metric, number
from optimizer.grades import GRADE_WORDS
from optimizer.run.compared import RunComparison
from optimizer.store import RunStore
from optimizer.store.result import RunHeader


def print_comparison(
    comparisons: Sequence[RunComparison],
    outcomes: Sequence[Mapping[str, str]],
    header: RunHeader,
) -> None:
    """Print what differs, by the header of the first, and how much of a common front each found."""
    console = stdout()
    console.print(_build_table(comparisons, outcomes, header.objectives))
    console.say_all(describe_formulas(header.formulas))
    for run in comparisons[1:]:
        lines = (*run.differs, *run.limits)
        if not run.is_comparable:
            console.say(f"{run.run} was asked for something else than {comparisons[0].run}:")
        elif lines:
            console.say(f"{run.run} is another try at what {comparisons[0].run} was asked for:")
        for line in lines:
            console.say(f"  {line}")
    if all(run.is_measured_alike for run in comparisons):
        console.print(_build_beaten_table(comparisons))
    else:
        console.say(
            "Their fronts were measured on other bars or at other costs and cannot be held against "
            "each other: compare verdicts, and picks on held-out bars."
        )


def describe_outcome(store: RunStore) -> dict[str, str]:
    """Verdict, pick and held-out bars of a run, as far as it has come."""
    result, judgement = read_opened_result(store)
    if result is None:
        return {}
    pick = find_pick(result, judgement)
    held = None if judgement is None else judgement.held_out
    closed = "closed" if result.data.held_out_bars else "none"
    trades = "none" if pick is None else format_count(pick.trades, "trade")
    named = trades if pick is None else f"member {pick.member}, {trades}"
    strength = None if pick is None else pick.strength
    if judgement is not None and judgement.schedule is not None:
        made = judgement.schedule
        steps = format_count(len(made.rows), "step")
        named, strength = f"{steps}, {format_count(made.trades, 'trade')}", made.strength
    expected, outlook = read_expected(store)
    unknown = "not known yet" if outlook else "-"
    year = None if expected is None else expected.year
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


def _build_table(
    comparisons: Sequence[RunComparison],
    outcomes: Sequence[Mapping[str, str]],
    objectives: Sequence[str],
) -> Table:
    table = Table(box=None)
    table.add_column("", style="dim")
    for run in comparisons:
        table.add_column(run.run, justify="right")
    table.add_row("bars", *(run.data for run in comparisons))
    table.add_row("status", *(run.status for run in comparisons))
    table.add_row("generations", *(number(run.generations) for run in comparisons))
    table.add_row("candidates evaluated", *(number(run.evaluated) for run in comparisons))
    table.add_row("seconds", *(number(run.seconds) for run in comparisons))
    table.add_row("front", *(number(run.front) for run in comparisons))
    for index, name in enumerate(objectives):
        best = (metric(name, run.best[index]) if run.best else "-" for run in comparisons)
        table.add_row(f"best {name}", *best)
    if all(run.is_measured_alike for run in comparisons):
        shares = (fraction(run.hypervolume) for run in comparisons)
        table.add_row("hypervolume, of all together", *shares)
    for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
        table.add_row(name, *(outcome.get(name, "-") for outcome in outcomes))
    return table


def _build_beaten_table(comparisons: Sequence[RunComparison]) -> Table:
    table = Table(box=None, title="Share of a front that another beats", title_justify="left")
    table.add_column("", style="dim")
    for run in comparisons:
        table.add_column(f"of {run.run}", justify="right")
    for index, run in enumerate(comparisons):
        shares = (
            "-" if index == other else f"{share:.0%}" for other, share in enumerate(run.beaten)
        )
        table.add_row(run.run, *shares)
    return table
