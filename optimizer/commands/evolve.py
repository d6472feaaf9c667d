"""evolve: search, certify, and show the front."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from optimizer.commands.console import (
    Individual,
    Lines,
    certificate_line,
    front_table,
    front_title,
    genes_table,
    shown_members,
    stderr,
    stdout,
)
from optimizer.commands.live import Watcher
from optimizer.commands.output import print_json
from optimizer.commands.report import tell_report
from optimizer.commands.restart import Restart
from optimizer.commands.symbols import held_out_table, symbols_table
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, ParityError
from optimizer.goals.aggregation import MEAN
from optimizer.goals.objectives import MISSED, parse_objective
from optimizer.runs import find_run
from optimizer.session.workflow import Result, resume_run, start_run
from optimizer.shown import counted, fraction, number


def evolve_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    resume: str | None,
    begun: RunConfig | None,
    *,
    own: Sequence[str] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Evolve or go on, print the result, and fail when the certificate is red.

    Args:
        flags: Fields that were given.
        config_file: TOML file, None for none.
        resume: Name of the run to go on with, None for a new one.
        begun: Configuration of a new run.
        own: Arguments of this process, where it may begin them anew; None where it is not ours.
        as_json: Whether to print JSON.
        quiet: Whether to show no progress.
    """
    if resume is not None and config_file is not None:
        raise ConfigError("--resume takes its configuration from the run; leave --config out")
    kept = {"--json": as_json, "--quiet": quiet, "--no-report": not flags.get("report", True)}
    restart = own and Restart.of_command(
        own,
        [*(flag for flag, given in kept.items() if given), *({"--debug"} & {*own})],
        is_resumed=resume is not None,
    )
    with Watcher(quiet=quiet, restart=restart or None).listening() as watcher:
        if begun is not None:
            result = start_run(begun, watcher, watcher.should_stop)
        else:
            runs = Path(str(flags.get("runs", RunConfig.model_fields["runs"].default)))
            path = find_run(runs, resume or "latest")
            result = resume_run(path, flags, watcher, watcher.should_stop)
    if as_json:
        print_json(result)
    else:
        print_result(result)
    if flags.get("report", True):
        tell_report(Path(str(result["path"])), stderr() if as_json else stdout())
    refuse_red(_mapping(result["certificate"]))


def print_result(result: Result) -> None:
    """Print the front, its certificate and where it is recorded."""
    console = stdout()
    data, timing = _mapping(result["data"]), _mapping(result["timing"])
    objectives = [str(name) for name in _list(result["objectives"])]
    front = [_mapping(member) for member in _list(result["front"])]
    if result.get("resumed"):
        console.say(f"run {result['run']} had {result['resumed']}; this is its result")
    simulated = ", a SIMULATED market" if data["is_simulated"] else ""
    held_out = data.get("held_out_bars")
    kept = f" and {counted(held_out, 'bar')} held out" if held_out else ""
    console.say(
        f"{result['strategy']} on {data['symbol']} {data['timeframe']}, "
        f"{counted(data['bars'], 'bar')}{kept}{simulated}; "
        f"{counted(timing['evaluated'], 'individual')} evaluated in "
        f"{timing['search_s']:.1f} s"
    )
    _tell_diversity(console, result)
    console.print()
    if front:
        members = shown_members(front, objectives)
        console.say(front_title(len(front), len(members)) + _told_over(result), style="italic")
        console.print(front_table(members, objectives))
        console.print()
        console.print(genes_table(members))
        for table in _tables_of_windows(data, members, objectives):
            console.print()
            console.print(table)
    else:
        found = _mapping(result.get("infeasible")).items()
        reasons = ", ".join(f"{name.replace('_', ' ')} {number(count)}" for name, count in found)
        console.say("No strategy traded well enough to be judged: the front is empty.")
        console.say(f"Individuals of the last generation: {reasons or 'none'}.")
        console.say("Try longer data, wider bounds (--bound), or fewer --min-trades.")
    regret = result.get("regret")
    if isinstance(regret, Mapping):
        console.print()
        console.say(_regret_line(regret))
    console.print()
    console.say(certificate_line(_mapping(result["certificate"])))
    console.say(f"front {str(result['front_hash'])[:12]}, recorded in {result['path']}")


def _tell_diversity(console: Lines, result: Result) -> None:
    """Say when the bounds allowed fewer individuals than were asked for."""
    if result.get("search") == "lattice":
        return
    found, asked = int(str(result["individuals"])), int(str(result.get("population", 0)))
    if found == 1 < asked:
        console.say("diversity 0: the bounds allow one individual, the search had nothing to vary")
    elif found < asked:
        told = f"{counted(found, 'individual')} where {number(asked)} were asked for"
        console.say(f"low diversity: no more than {told} could be found within the bounds")


def refuse_red(certificate: Mapping[str, object]) -> None:
    """Raise when reference and engine disagree.

    Raises:
        ParityError: With the first mismatch in full.
    """
    if certificate["mismatches"]:
        raise ParityError(f"reference and engine disagree\n{certificate['first_mismatch']}")


def _tables_of_windows(
    data: Mapping[str, object], members: Mapping[int, Individual], objectives: Sequence[str]
) -> Iterator[Table]:
    """What was held out, and the first member symbol by symbol, where there is more than one."""
    windows = [_mapping(window) for window in _list(data.get("windows"))]
    if data.get("held_out_bars"):
        yield held_out_table(members, objectives)
    metrics = [parse_objective(name).metric for name in objectives if name != MISSED]
    names = list(dict.fromkeys(["trades", *metrics]))
    if _symbols(data) > 1:
        by_window = {name: _list(told) for name, told in _mapping(members[0]["by_window"]).items()}
        yield symbols_table(windows, by_window, names, "Individual 0, symbol by symbol")


def _told_over(result: Result) -> str:
    """What numbers mean where there are several symbols; empty where there is one."""
    symbols, over = _symbols(_mapping(result["data"])), str(result.get("over_windows", MEAN))
    if symbols < 2:
        return ""
    if over == MEAN:
        return f"; each number is a mean over {symbols:,} symbols"
    return f"; objectives are the {over} of {symbols:,} symbols, other numbers means"


def _symbols(data: Mapping[str, object]) -> int:
    return len({_mapping(window)["symbol"] for window in _list(data.get("windows"))})


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _regret_line(regret: Mapping[str, object]) -> str:
    """How much of a lattice's true front a genetic search found, in a line."""
    return (
        f"regret: a genetic search that judged {number(regret['evaluated'])} of the lattice's "
        f"{number(regret['points'])} points found {fraction(regret['share'])} of the hypervolume "
        f"and {number(regret['found'])} of {counted(regret['front'], 'member')} of the true front"
    )
