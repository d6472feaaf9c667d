"""report: a run as one file that a browser opens."""

from pathlib import Path

from optimizer.commands.console import Lines, stdout
from optimizer.runs import find_run


def report_command(name: str, runs: Path, out: Path | None, member: int | None) -> None:
    """Write a run's report and say where."""
    tell_report(find_run(runs, name), out, member, stdout())


def tell_report(run: Path, out: Path | None, member: int | None, console: Lines) -> None:
    """Write the report of the run in a directory, and say where it is."""
    # Tables and charts are loaded only when they are wanted.
    from optimizer.report import Run, write_report

    console.say(f"report {write_report(Run(run), out, member)}")
