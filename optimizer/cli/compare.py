"""Tables of recorded runs side by side."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from optimizer.cli.console import stdout
from optimizer.formatting import describe_formulas
from optimizer.report.summary import align_outcomes, compare_side_by_side
from optimizer.run.compared import RunComparison
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
            console.say(f"Settings of {run.run} that differ from those of {comparisons[0].run}:")
        elif lines:
            console.say(f"{run.run} repeats the search of {comparisons[0].run} with other limits:")
        for line in lines:
            console.say(f"  {line}")
    if all(run.is_measured_alike for run in comparisons):
        console.print(_build_beaten_table(comparisons))
    else:
        console.say(
            "Their fronts were measured on other bars or at other costs and cannot be held against "
            "each other: compare verdicts, and picks on held-out bars."
        )


def _build_table(
    comparisons: Sequence[RunComparison],
    outcomes: Sequence[Mapping[str, str]],
    objectives: Sequence[str],
) -> Table:
    table = Table(box=None)
    table.add_column("", style="dim")
    for run in comparisons:
        table.add_column(run.run, justify="right")
    for label, cells in (*compare_side_by_side(comparisons, objectives), *align_outcomes(outcomes)):
        table.add_row(label, *cells)
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
