"""runs compare: recorded runs side by side."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from optimizer.commands.console import print_json, stdout
from optimizer.errors import ConfigError
from optimizer.grades import GRADE_WORDS
from optimizer.judging.judgement import opened_result
from optimizer.judging.verdict import derive_verdict, find_pick
from optimizer.runs import RunStore, find_run
from optimizer.runs.result import RunHeader
from optimizer.session.compared import RunComparison, compare_runs
from optimizer.shown import format_count, fraction, metric, number


def compare_command(names: Sequence[str], runs: Path, *, as_json: bool) -> None:
    """Print what differs and how much of the common front each run has found."""
    paths = [find_run(runs, name) for name in names]
    if len(paths) < 2 or len({path.resolve() for path in paths}) < len(paths):
        raise ConfigError("name two runs or more, each once")
    with ExitStack() as opened:
        stores = [opened.enter_context(RunStore.open(path)) for path in paths]
        objectives = RunHeader.read(stores[0].header).objectives
        found = compare_runs(stores)
        outcomes = [_outcome(store) for store in stores]
    if as_json:
        print_json({"objectives": objectives, "runs": [asdict(run) for run in found]})
        return
    console = stdout()
    console.print(_table(found, outcomes, objectives))
    for run in found[1:]:
        lines = (*run.differs, *run.limits)
        if not run.is_comparable:
            console.say(f"{run.run} was asked for something else than {found[0].run}:")
        elif lines:
            console.say(f"{run.run} is another try at what {found[0].run} was asked for:")
        for line in lines:
            console.say(f"  {line}")
    if all(run.is_measured_alike for run in found):
        console.print(_beaten_table(found))
    else:
        console.say(
            "Their fronts were measured on other bars or at other costs and cannot be held against "
            "each other: compare verdicts, and picks on held-out bars."
        )


def _outcome(store: RunStore) -> dict[str, str]:
    """Verdict, pick and held-out bars of a run, as far as it has come."""
    result, judgement = opened_result(store)
    if result is None:
        return {}
    pick = find_pick(result, judgement)
    held = None if judgement is None else judgement.held_out
    closed = "closed" if result.data.held_out_bars else "none"
    trades = "none" if pick is None else format_count(pick.trades, "trade")
    return {
        "verdict": GRADE_WORDS[derive_verdict(result, judgement).grade],
        "pick": trades if pick is None else f"member {pick.member}, {trades}",
        "strength of the pick": "-" if pick is None else number(pick.strength),
        "held-out bars": closed if held is None else f"{number(held.mean_r)} R a trade",
    }


def _table(
    found: Sequence[RunComparison], outcomes: Sequence[Mapping[str, str]], objectives: Sequence[str]
) -> Table:
    table = Table(box=None)
    table.add_column("", style="dim")
    for run in found:
        table.add_column(run.run, justify="right")
    table.add_row("bars", *(run.data for run in found))
    table.add_row("status", *(run.status for run in found))
    table.add_row("generations", *(number(run.generations) for run in found))
    table.add_row("candidates evaluated", *(number(run.evaluated) for run in found))
    table.add_row("seconds", *(number(run.seconds) for run in found))
    table.add_row("front", *(number(run.front) for run in found))
    for place, name in enumerate(objectives):
        best = (metric(name, run.best[place]) if run.best else "-" for run in found)
        table.add_row(f"best {name}", *best)
    if all(run.is_measured_alike for run in found):
        shares = (fraction(run.hypervolume) for run in found)
        table.add_row("hypervolume, of all together", *shares)
    for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
        table.add_row(name, *(outcome.get(name, "-") for outcome in outcomes))
    return table


def _beaten_table(found: Sequence[RunComparison]) -> Table:
    table = Table(box=None, title="Share of a front that another beats", title_justify="left")
    table.add_column("", style="dim")
    for run in found:
        table.add_column(f"of {run.run}", justify="right")
    for place, run in enumerate(found):
        shares = (
            "-" if place == other else f"{share:.0%}" for other, share in enumerate(run.beaten)
        )
        table.add_row(run.run, *shares)
    return table
