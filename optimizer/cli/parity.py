"""parity: reference against engine, trade for trade."""

from pathlib import Path
from typing import Annotated, Literal

from optimizer.cli import shared
from optimizer.cli.console import print_json, stdout
from optimizer.cli.flags import Sectioned, config_flags, option
from optimizer.cli.notes import note
from optimizer.cluster import join_cluster
from optimizer.cluster.address import Address
from optimizer.config.run_config import TRADES, resolve_config
from optimizer.errors import ConfigError

app = shared.single_command()


@app.command("parity", cls=Sectioned)
@config_flags(*TRADES, "seed", cluster=shared.CLUSTER)
def compare_engines(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: shared.ConfigFile = None,
    individuals: Annotated[
        int,
        option("--individuals", "Random candidates to compare.", "COUNT", min=1, max=shared.MOST),
    ] = 100,
    run: Annotated[str | None, option("--run", "Compare the front of this run.", "RUN")] = None,
    runs: shared.Runs = Path("runs"),
    member: shared.Member = None,
    trust: shared.Trust = False,
    engine: Annotated[
        Literal["cpu", "cuda"],
        option("--engine", "What is compared with the reference.", "cpu|cuda"),
    ] = "cpu",
    as_json: shared.AsJson = False,
) -> None:
    """Compare the batch engine with the reference, trade for trade."""
    from engine.replay.certificate import certify
    from optimizer.cli.result import format_fact
    from optimizer.report.summary import describe_replay
    from optimizer.run.purposes import SHOW, restore_front
    from optimizer.run.tables import chosen_member
    from optimizer.run.task import prepare
    from optimizer.run.trust import find_trusted
    from optimizer.store.result import refuse_red

    if run is None and member is not None:
        raise ConfigError("--member chooses from the front of a run: add --run")
    path = find_trusted(run, runs, trust=trust)
    if path is None:
        task = prepare(resolve_config(config, flags), for_search=True)
        genomes = task.random_individuals(individuals)
    else:
        task, genomes = restore_front(path, SHOW, flags)
        if member is not None:
            number = chosen_member(f"run '{run}'", len(genomes), member)
            genomes = genomes[number : number + 1]
    note(*task.notes)
    with join_cluster(cluster, Path(task.config.runs)) as workers:
        if workers is None:
            certificate = certify(task.full_engine(device=engine), genomes)
        else:
            from optimizer.cluster.sharded import ShardedEngine

            every = task.markets.all_windows
            # The workers hold the bars, so they compare.
            sharded = ShardedEngine(workers, task, task.markets.series, every, engine)
            certificate = sharded.certify(genomes)
    if as_json:
        print_json(certificate.as_dict())
    else:
        stdout().say(format_fact(describe_replay(certificate)))
    refuse_red(certificate)
