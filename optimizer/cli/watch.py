"""watch: whether a run's new trades are worse than those that it is judged by."""

from pathlib import Path

import typer

from optimizer.cli.flags import config_flags, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import DATA, AsJson, Now, RunName, Runs, single_command

app = single_command()

ALARM = 12
"""Exit code where drift has come; 0 where it has not."""


@app.command("watch", cls=Sectioned)
@trust_flag("run")
@config_flags(*DATA, "finer")
def watch_drift(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Hold a run's trades since its bars against those that it is judged by, and record it.

    Exit code: 0 no alarm, 12 an alarm: the new ones are worse, however often one looked.
    """
    from optimizer.cli.console import print_json, stdout
    from optimizer.cli.signal import read_clock
    from optimizer.evidence.judgement import read_expected
    from optimizer.signals.drift import watch_run
    from optimizer.signals.unrecorded import describe_unrecorded, may_record
    from optimizer.store import RunStore, find_run

    path = find_run(runs, run)
    record = watch_run(path, flags, read_clock(now))
    if may_record(path):
        _renew_report(path)
    else:
        note(describe_unrecorded(path))
    with RunStore.open(path) as store:
        expected, outlook = read_expected(store)
    if as_json:
        known = {"expected": expected and expected.payload(), "sentence": record.sentence}
        print_json({"run": path.name, "drift": record.payload(), **known})
    else:
        console = stdout()
        console.say(record.sentence)
        console.say(
            f"Held against {record.reference_trades:,} trades ({record.source}), which make sure "
            f"of {record.least_mean:.3f} R each; bars until {record.until}."
        )
        if outlook:
            console.say(f"Expected of the pick: {outlook}")
    raise typer.Exit(0 if record.alarm_at is None else ALARM)


def _renew_report(path: Path) -> None:
    """Write the report of a run anew, unless it would lose its charts to bars that have grown."""
    from optimizer.report import Run, renew_report
    from optimizer.store.files import REPORT

    if not (path / REPORT).is_file():
        return
    recorded = Run(path)
    if recorded.bars_problem:
        note("the report shows this once it is made from the run's own bars: report RUN --data")
    else:
        renew_report(recorded)
