"""doctor: what this machine offers, and why a GPU is not used."""

from dataclasses import asdict

from optimizer.cli.console import facts_table, print_json, stdout
from optimizer.cli.flags import taking
from optimizer.cli.shared import CLUSTER, AsJson, single_command
from optimizer.cluster import join_cluster
from optimizer.cluster.address import Address
from optimizer.errors import ConfigError

app = single_command()


@app.command("doctor")
@taking(cluster=CLUSTER)
def look_around(*, cluster: Address | None, as_json: AsJson = False) -> None:
    """Show the parts of this machine, or of each worker, and why a GPU is not used."""
    from optimizer.cli.machine_facts import build_workers_table, collect_machine_facts

    if cluster is None:
        facts = collect_machine_facts()
        if as_json:
            print_json(facts)
        else:
            stdout().print(facts_table(facts))
        return
    with join_cluster(cluster, may_differ=True) as workers:
        assert workers is not None
        from optimizer.cluster.cluster import measure_workers

        measured, versions = measure_workers(workers), workers.here.versions
    if as_json:
        print_json(
            {"workers": [{**asdict(worker), "fit": not worker.differs} for worker in measured]}
        )
    else:
        stdout().print(build_workers_table(measured))
        stdout().print(f"here: {', '.join(map(' '.join, versions.items()))}")
    if unfit := [
        f"{worker.name}: {', '.join(worker.differs)}" for worker in measured if worker.differs
    ]:
        raise ConfigError("; ".join(unfit))
