"""judge: whether a run's front is more than luck, and all evidence in plain words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optimizer.cli.clusters import cluster_flags, connect_cluster
from optimizer.cli.flags import config_flags, option, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import JUDGED, AsJson, Quiet, RunName, Runs, single_command
from optimizer.cluster.address import Address
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from optimizer.evidence.judgement import Judgement

app = single_command()


@app.command("judge", cls=Sectioned)
@trust_flag("run")
@config_flags(*JUDGED)
@cluster_flags
def judge_recorded(  # noqa: PLR0913 - one argument a flag
    run: RunName,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    runs: Runs = Path("runs"),
    pick: Annotated[
        int | None,
        option("--pick", "Judge this member, not the strongest.", "NUMBER", min=0),
    ] = None,
    open_: Annotated[
        bool, option("--open", "Look at the bars that were held out; each look is counted.")
    ] = False,
    schedule: Annotated[
        str | None,
        option("--schedule", "The same as --every EVERY --train TRAIN.", "EVERY,TRAIN"),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out whether a run's front is more than luck, and say so in plain words."""
    from optimizer.cli.console import print_json, stderr, stdout
    from optimizer.cli.judge_request import Asked, choose_executor, naming_resume
    from optimizer.cli.progress import open_show
    from optimizer.cli.report import renew_run_report
    from optimizer.cli.result import print_answer
    from optimizer.config.evidence import EvidenceSettings
    from optimizer.config.run_config import make_config
    from optimizer.evidence.judge import build_plan, judge_run
    from optimizer.evidence.judgement import read_judgement
    from optimizer.run.tables import require_result
    from optimizer.store import RunStore, find_run

    flags = {**flags, **_parse_schedule(schedule)}
    request, path = Asked(flags, pick, is_open=open_), find_run(runs, run)
    with RunStore.open(path) as store:
        earlier = read_judgement(store)
        notes = require_result(store).data.notes
    settings = make_config(flags, where="judge", flags=flags)
    plan = build_plan(settings, flags, earlier, pick=pick, is_open=open_)
    data_flags = {
        key: value for key, value in flags.items() if key not in EvidenceSettings.model_fields
    }
    joining = connect_cluster(cluster, path.parent)
    with (
        naming_resume(path, settings, request),
        joining as workers,
        open_show(stderr(), quiet=quiet) as show,
    ):
        judgement = judge_run(path, plan, data_flags, show, executor=choose_executor(workers))
    if not quiet:
        note(*notes)
    if as_json:
        renew_run_report(path, flags, stderr())
        print_json({"run": path.name, "judgement": judgement.payload()})
        return
    console = stdout()
    console.print(_build_evidence_table(judgement))
    renew_run_report(path, flags, console)
    with RunStore.open(path) as store:
        print_answer(require_result(store), judgement)


def _build_evidence_table(judgement: "Judgement") -> "Table":
    """All evidence, a row a sentence."""
    from rich.table import Table

    from optimizer.evidence.judgement import weigh_evidence

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for row in weigh_evidence(judgement):
        table.add_row(row.about, row.sentence)
    return table


def _parse_schedule(text: str | None) -> dict[str, object]:
    """Flags that a text such as ``30d,180d`` stands for."""
    if text is None:
        return {}
    every, comma, train = text.partition(",")
    if not comma:
        raise ConfigError(f"--schedule {text!r} must look like 30d,180d")
    return {"every": every.strip(), "train": train.strip()}
