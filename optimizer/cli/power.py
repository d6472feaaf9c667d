"""power: how large an edge the search of a run would have found on its bars."""

from pathlib import Path

from optimizer.cli.clusters import cluster_flags, connect_cluster
from optimizer.cli.flags import config_flags, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import AsJson, Quiet, RunName, Runs, single_command
from optimizer.cluster.address import Address
from optimizer.config.compute import ComputeSettings, DeviceSettings

app = single_command()


@app.command("power", cls=Sectioned)
@trust_flag("run")
@config_flags("data", *DeviceSettings.model_fields, *ComputeSettings.model_fields)
@cluster_flags
def measure_recorded(
    run: RunName,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out how large an edge this search would have found, and below which it is blind.

    Edges are planted into shuffled copies of the run's bars, each of which is searched as the run
    was. Every search is recorded: whoever stops it goes on later.
    """
    from data.shell import write_command
    from optimizer.cli.console import print_json, stderr, stdout
    from optimizer.cli.judge_request import choose_executor
    from optimizer.cli.progress import open_show
    from optimizer.cli.report import renew_run_report
    from optimizer.errors import StoppedError
    from optimizer.evidence.judge import measure_power
    from optimizer.store import find_run

    path = find_run(runs, run)
    joining = connect_cluster(cluster, path.parent)
    with joining as workers, open_show(stderr(), quiet=quiet) as show:
        tell = (lambda _: None) if quiet else note
        executor = choose_executor(workers)
        try:
            record = measure_power(path, flags, show, tell, executor)
        except KeyboardInterrupt:
            again = write_command("power", path)
            raise StoppedError(f"stopped; searches are recorded, go on with: {again}") from None
    renew_run_report(path, flags, stderr() if as_json else stdout())
    if as_json:
        power = {**record.payload(), "sentence": record.describe()}
        print_json({"run": path.name, "power": power})
        return
    console = stdout()
    for row in record.rows:
        console.say(f"edge of {row.edge:g} R: {row.found} of {row.markets} found")
    console.say(record.describe())
