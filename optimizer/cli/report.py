"""report: a run as one file that a browser opens."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from engine.runtime.collector import pause_collector
from optimizer.cli.flags import config_flags, option, trust_flag
from optimizer.cli.notes import note
from optimizer.cli.shared import RunName, Runs, single_command

if TYPE_CHECKING:
    from optimizer.cli.console import Lines

app = single_command()


@app.command("report")
@trust_flag("run")
@config_flags("data")
def report_run(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    out: Annotated[
        Path | None, option("--out", "File to write; the run's folder if unset.", "FILE")
    ] = None,
    member: Annotated[
        int | None, option("--member", "Member of the front to open with.", "NUMBER", min=0)
    ] = None,
) -> None:
    """Write a run's report, one page without a network; --data says where its bars are now."""
    # Tables and charts are loaded only when they are wanted.
    from optimizer.cli.console import stdout
    from optimizer.report import load_run, write_report
    from optimizer.store import find_run

    recorded = load_run(str(find_run(runs, run)), runs, _specs(flags))
    stdout().say(f"report {write_report(recorded, out, member)}")
    if recorded.bars_problem:
        note(f"the bars could not be loaded, so trades are left out: {recorded.bars_problem}")


def renew_run_report(run: Path, flags: Mapping[str, object], console: "Lines") -> None:
    """Write the report of a run anew, where it has one, and say where it is."""
    from optimizer.report import Run, renew_report

    report = renew_report(Run(run, _specs(flags)))
    if report is not None:
        console.say(f"report {report}")


def write_run_report(run: Path, console: "Lines") -> None:
    """Write the report of a run that has just ended, and say where it is."""
    with pause_collector():
        from optimizer.report import Run, write_report

    console.say(f"report {write_report(Run(run))}")


def _specs(flags: Mapping[str, object]) -> list[str] | None:
    """Sources of the bars that --data names; None where the run's own hold."""
    data = flags.get("data")
    return [str(spec) for spec in data] if isinstance(data, list | tuple) else None
