"""judge: whether a run's front is more than luck, and all evidence in plain words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from optimizer.cli.console import print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, config_flags, option
from optimizer.cli.notes import note
from optimizer.cli.progress import open_show
from optimizer.cli.shared import CLUSTER, AsJson, Quiet, RunName, Runs, Trust, single_command
from optimizer.cluster.address import Address
from optimizer.config.run_config import JUDGED, make_config

if TYPE_CHECKING:
    from rich.table import Table

    from optimizer.evidence.judgement import Judgement
    from optimizer.store.result import RunResult

app = single_command()


@app.command("judge", cls=Sectioned)
@config_flags("data", *JUDGED, cluster=CLUSTER)
def judge_recorded(  # noqa: PLR0913 - one argument a flag
    run: RunName,
    *,
    flags: dict[str, Any],
    cluster: Address | None,
    runs: Runs = Path("runs"),
    pick: Annotated[
        int | None,
        option("--pick", "Judge this member, not the strongest.", "NUMBER", min=0),
    ] = None,
    open_: Annotated[
        bool, option("--open", "Look at the bars that were held out; each look is counted.")
    ] = False,
    trust: Trust = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out whether a run's front is more than luck, and say so in plain words."""
    from optimizer import api
    from optimizer.cli.report import say_report
    from optimizer.cli.result import print_answer

    make_config(flags, where="judge", flags=flags)
    with open_show(stderr(), quiet=quiet) as show:
        judged = api.judge(
            run, runs, pick=pick, is_open=open_, trust=trust, cluster=cluster, progress=show,
            **flags,
        )  # fmt: skip
    result, judgement = judged.require_result(), judged.require_judgement()
    if not quiet:
        note(*result.data.notes)
    if as_json:
        say_report(judged, stderr())
        print_json({"run": judged.id, "judgement": judgement.payload()})
        return
    console = stdout()
    console.print(_build_evidence_table(result, judgement))
    say_report(judged, console)
    print_answer(result, judgement)


def _build_evidence_table(result: "RunResult", judgement: "Judgement") -> "Table":
    """All evidence, a row a sentence."""
    from rich.table import Table

    from optimizer.report.summary import select, summarize_result

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for fact in select(summarize_result(result, judgement), "evidence"):
        table.add_row(fact.label, fact.value)
    return table
