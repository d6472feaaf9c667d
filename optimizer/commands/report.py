"""report: a run as one file that a browser opens."""

from collections.abc import Mapping
from pathlib import Path

from optimizer.commands.console import Lines, stdout
from optimizer.commands.notes import COMPILES, note, telling
from optimizer.runs import find_run


@telling((COMPILES,), note)
def report_command(
    flags: Mapping[str, object], name: str, runs: Path, out: Path | None, member: int | None
) -> None:
    """Write a run's report and say where."""
    # Tables and charts are loaded only when they are wanted.
    from optimizer.report import load_run, write_report

    run = load_run(str(find_run(runs, name)), runs, _specs(flags))
    stdout().say(f"report {write_report(run, out, member)}")


def renew_run_report(run: Path, flags: Mapping[str, object], console: Lines) -> None:
    """Write the report of a run anew, where it has one, and say where it is."""
    from optimizer.report import Run, renew_report

    report = renew_report(Run(run, _specs(flags)))
    if report is not None:
        console.say(f"report {report}")


def write_run_report(run: Path, console: Lines) -> None:
    """Write the report of a run that has just ended, and say where it is."""
    from optimizer.report import Run, write_report

    console.say(f"report {write_report(Run(run))}")


def _specs(flags: Mapping[str, object]) -> list[str] | None:
    """Where the bars are now, as --data says; None where a run's own word holds."""
    data = flags.get("data")
    return [str(spec) for spec in data] if isinstance(data, list | tuple) else None
