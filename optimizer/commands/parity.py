"""parity: reference against engine, trade for trade."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.certificate import Certificate
from engine.replay.certificate import certify
from optimizer.cluster.address import Address
from optimizer.commands.clusters import connect_cluster
from optimizer.commands.console import print_json, stdout
from optimizer.commands.notes import COMPILES, note, telling
from optimizer.commands.tables import certificate_line
from optimizer.config.run_config import resolve_config
from optimizer.runs import find_run
from optimizer.runs.result import refuse_red
from optimizer.search.generation import Floats
from optimizer.session.genes_file import chosen_member
from optimizer.session.header import recorded_front
from optimizer.session.task import Task, prepare

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster


@telling((COMPILES,), note)
def parity_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    individuals: int,
    *,
    front: tuple[str, Path, int | None] | None,
    engine: str,
    as_json: bool,
    cluster: Address | None,
) -> None:
    """Compare individuals and print the certificate; red is an error.

    `front` is a run, the folder of runs, and the member to compare, or None for all of them.
    """
    if front is None:
        task = prepare(resolve_config(config_file, flags), for_search=True)
        genomes = task.random_individuals(individuals)
    else:
        run, runs, member = front
        task, genomes = recorded_front(find_run(runs, run), flags)
        if member is not None:
            place = chosen_member(f"run '{run}'", len(genomes), member)
            genomes = genomes[place : place + 1]
    for line in task.notes:
        note(line)
    with connect_cluster(cluster, Path(task.config.runs)) as workers:
        certificate = _certify_genomes(task, genomes, engine, workers)
    if as_json:
        print_json(certificate.as_dict())
    else:
        stdout().say(certificate_line(certificate))
    refuse_red(certificate)


def _certify_genomes(
    task: Task, genomes: Floats, device: str, workers: "Cluster | None"
) -> Certificate:
    """The certificate of individuals [N, G]; on a cluster, where its workers hold the bars."""
    if workers is None:
        return certify(task.full_engine(device=device), genomes)
    from optimizer.cluster.sharded import ShardedEngine

    markets = task.markets
    engine = ShardedEngine(workers, task, markets.series, markets.all_windows, device)
    return engine.certify(genomes)
