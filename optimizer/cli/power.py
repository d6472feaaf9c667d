"""power: how large an edge a search finds on its bars, before or after it is made."""

from pathlib import Path
from typing import Annotated

from optimizer.cli.clusters import cluster_flags, connect_cluster
from optimizer.cli.flags import argument, config_flags, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import AsJson, ConfigFile, Quiet, Runs, single_command
from optimizer.cluster.address import Address
from optimizer.config.compute import ComputeSettings, DeviceSettings
from optimizer.config.data import CostSettings, DataSettings, StrategySettings, WindowSettings
from optimizer.config.run_config import format_flag, resolve_config
from optimizer.config.search import GoalSettings, SearchSettings
from optimizer.errors import ConfigError, StoppedError

OF_MACHINE = (*DeviceSettings.model_fields, *ComputeSettings.model_fields)

PLANNED = (
    *DataSettings.model_fields, *WindowSettings.model_fields, *StrategySettings.model_fields,
    *CostSettings.model_fields, *GoalSettings.model_fields, *SearchSettings.model_fields,
    *OF_MACHINE,
)  # fmt: skip
"""Flags of what decides a search."""

app = single_command()


@app.command("power", cls=Sectioned)
@trust_flag("run")
@config_flags(*PLANNED)
@cluster_flags
def measure_search(
    run: Annotated[
        str | None, argument("A recorded search; without one, flags say it.", "RUN")
    ] = None,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: ConfigFile = None,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out how large an edge a search would find on these bars, and below which it is blind.

    Edges are planted into shuffled copies of the bars, each of which is searched. Every search is
    recorded: whoever stops it goes on later.
    """
    from optimizer.cli.console import print_json, stderr, stdout
    from optimizer.cli.judge_request import choose_executor
    from optimizer.cli.progress import open_show
    from optimizer.cli.report import renew_run_report
    from optimizer.evidence.judge import measure_power
    from optimizer.evidence.power_searches import measure_planned_power
    from optimizer.store import find_run

    path = None if run is None else find_run(runs, run)
    if path is not None:
        _refuse_other_search(path, flags, config)
    joining = connect_cluster(cluster, runs if path is None else path.parent)
    with joining as workers, open_show(stderr(), quiet=quiet) as show:
        tell = (lambda _: None) if quiet else note
        executor = choose_executor(workers)
        try:
            if path is None:
                planned = resolve_config(config, {**flags, "runs": str(runs)})
                record = measure_planned_power(planned, show, tell, executor)
            else:
                record = measure_power(path, flags, show, tell, executor)
        except KeyboardInterrupt:
            words = "stopped; searches are recorded, the same command goes on"
            raise StoppedError(words) from None
    if path is not None:
        renew_run_report(path, flags, stderr() if as_json else stdout())
    if as_json:
        power = {**record.payload(), "sentence": record.describe()}
        print_json({"run": path and path.name, "power": power})
        return
    console = stdout()
    for row in record.rows:
        console.say(f"edge of {row.edge:g} R: {row.found} of {row.markets} found")
    console.say(record.describe())


def _refuse_other_search(path: Path, flags: dict[str, object], config: Path | None) -> None:
    """Refuse what says another search than that of a run."""
    given = ["--config"] * (config is not None) + [
        format_flag(name) for name in flags if name not in ("data", *OF_MACHINE)
    ]
    if given:
        raise ConfigError(f"{given[0]}: run '{path.name}' says what it searched; leave it out")
