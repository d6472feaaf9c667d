"""watch: a run's new trades beside the judged ones."""

from pathlib import Path

import typer

from optimizer.cli.console import print_json, stdout
from optimizer.cli.flags import Sectioned, config_flags
from optimizer.cli.notes import note
from optimizer.cli.shared import DATA, AsJson, Now, RunName, Runs, Trust, single_command

app = single_command()

ALARM = 12
"""Exit code where drift has come; 0 where it has not."""


@app.command("watch", cls=Sectioned)
@config_flags(*DATA, "finer")
def watch_drift(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    now: Now = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare a run's trades since its bars with the judged ones, and record the result.

    Exit code: 0 no alarm, 12 an alarm: the new ones are worse, however often one looked.
    """
    from optimizer import api
    from optimizer.report.summary import select, summarize_result
    from optimizer.signals.unrecorded import describe_unrecorded, may_record
    from optimizer.store.files import REPORT

    record = api.watch(run, runs=runs, now=now, trust=trust, **flags)
    watched = api.load_run(run, runs)
    if not may_record(watched.path):
        note(describe_unrecorded(watched.path))
    elif (watched.path / REPORT).is_file() and watched.bars_problem:
        note("the report shows this once it is made from the run's own bars: report RUN --data")
    expected = watched.expected
    if as_json:
        known = {"expected": expected and expected.payload(), "sentence": record.sentence}
        print_json({"run": watched.id, "drift": record.payload(), **known})
    else:
        console = stdout()
        console.say(record.sentence)
        console.say(
            f"Held against {record.reference_trades:,} trades ({record.source}); bars until "
            f"{record.until}. Alarm: when it is clear that it makes less than "
            f"{record.least_mean:.3f} R a trade."
        )
        facts = summarize_result(watched.require_result(), watched.judgement)
        console.say_all(f"Expected of the pick: {fact.value}" for fact in select(facts, "expected"))
    raise typer.Exit(0 if record.alarm_at is None else ALARM)
