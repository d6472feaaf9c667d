"""report: a run as one file that a browser opens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from optimizer.cli.console import Lines, stdout
from optimizer.cli.flags import config_flags, option
from optimizer.cli.notes import note
from optimizer.cli.shared import RunName, Runs, Trust, single_command

if TYPE_CHECKING:
    from optimizer.report import Run

app = single_command()


@app.command("report")
@config_flags("data")
def report_run(
    run: RunName,
    *,
    flags: dict[str, Any],
    runs: Runs = Path("runs"),
    out: Annotated[
        Path | None, option("--out", "File to write; the run's folder if unset.", "FILE")
    ] = None,
    member: Annotated[
        int | None, option("--member", "Member of the front to open with.", "NUMBER", min=0)
    ] = None,
    trust: Trust = False,
) -> None:
    """Write a run's report, one page without a network; --data says where its bars are now."""
    # Tables and charts are loaded only when they are wanted.
    from optimizer import api
    from optimizer.report.page import write_report

    recorded = api.load_run(run, runs, trust=trust, **flags)
    stdout().say(f"report {write_report(recorded, out, member)}")
    if recorded.bars_problem:
        note(f"the bars could not be loaded, so trades are left out: {recorded.bars_problem}")


def say_report(run: "Run", console: "Lines") -> None:
    """Say where the report of a run is, if there is one."""
    from optimizer.store.files import REPORT

    if (run.path / REPORT).is_file():
        console.say(f"report {run.path / REPORT}")
