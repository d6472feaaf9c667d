"""power: how large an edge a search finds on its bars, before or after it is made."""

from pathlib import Path
from typing import Annotated

from optimizer.cli.console import print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags
from optimizer.cli.progress import open_show
from optimizer.cli.shared import CLUSTER, AsJson, ConfigFile, Quiet, Runs, Trust, single_command
from optimizer.cluster.address import Address
from optimizer.config import settings
from optimizer.config.run_config import OF_MACHINE, resolve_config

GROUPS = (
    settings.DataSettings, settings.WindowSettings, settings.StrategySettings,
    settings.CostSettings, settings.GoalSettings, settings.SearchSettings,
)  # fmt: skip
PLANNED = (*(name for group in GROUPS for name in group.model_fields), *OF_MACHINE)
"""Flags of what decides a search."""

app = single_command()


@app.command("power", cls=Sectioned)
@config_flags(*PLANNED, cluster=CLUSTER)
def measure_search(
    run: Annotated[
        str | None, argument("A recorded search; without one, flags say it.", "RUN")
    ] = None,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: ConfigFile = None,
    runs: Runs = Path("runs"),
    trust: Trust = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out how large an edge a search would find on these bars, and below which it is blind.

    Edges are planted into shuffled copies of the bars, and each copy is searched. Every search is
    recorded: after a stop the same command goes on.
    """
    from optimizer import api
    from optimizer.cli.report import say_report

    planned = resolve_config(config, {**flags, "runs": str(runs)}) if run is None else config
    with open_show(stderr(), quiet=quiet) as show:
        record = api.power(
            run, trust=trust, config=planned, cluster=cluster, progress=show,
            **{**flags, "runs": runs},
        )  # fmt: skip
    measured = None if run is None else api.load_run(run, runs)
    if measured is not None:
        say_report(measured, stderr() if as_json else stdout())
    if as_json:
        power = {**record.payload(), "sentence": record.describe()}
        print_json({"run": measured and measured.id, "power": power})
        return
    console = stdout()
    for row in record.rows:
        console.say(f"edge of {row.edge:g} R: {row.found} of {row.markets} found")
    console.say(record.describe())
