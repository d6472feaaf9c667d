"""parity: reference against engine, trade for trade."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engine.parity import certify
from optimizer.commands.console import certificate_line, stderr, stdout
from optimizer.commands.evolve import refuse_red
from optimizer.commands.output import print_json
from optimizer.config import make_config, overlaid, resolve_config
from optimizer.errors import StoreError
from optimizer.generation import Floats
from optimizer.operators import sample_genomes
from optimizer.randomness import stream
from optimizer.runs import RunStore, find_run
from optimizer.search import front_of
from optimizer.task import Task, header_of, prepare


def parity_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    individuals: int,
    *,
    run: str | None,
    runs: Path,
    engine: str,
    as_json: bool,
) -> None:
    """Compare individuals and print the certificate; red is an error."""
    if run is None:
        task = prepare(resolve_config(config_file, flags), for_search=True)
        genomes = random_individuals(task, individuals)
    else:
        task, genomes = recorded_front(find_run(runs, run), flags)
    for note in task.bars.notes:
        stderr().say(f"note: {note}")
    certificate = certify(task.engine(device=engine), genomes).as_dict()
    if as_json:
        print_json(certificate)
    else:
        stdout().say(certificate_line(certificate))
    refuse_red(certificate)


def random_individuals(task: Task, count: int) -> Floats:
    """Legal genomes [count, G], uniform within the bounds, from the task's seed."""
    rng = stream(task.config.seed, 0, "initial")
    genomes, _ = task.spec.layout.repair(sample_genomes(rng, task.spec.layout, count))
    return genomes


def recorded_front(path: Path, flags: Mapping[str, object]) -> tuple[Task, Floats]:
    """The task of a recorded run and the genomes [F, G] of its newest front.

    Args:
        path: Directory of the run.
        flags: Where the data is now, if it has moved; nothing that decides a result.

    Returns:
        Task and genomes.

    Raises:
        StoreError: When the run is damaged, or bars or rules are not those of the run.
    """
    with RunStore.open(path) as store:
        recorded = store.header.get("command")
        last = store.last_generation()
        if not isinstance(recorded, dict) or last is None:
            raise StoreError(f"run '{store.run_id}' has recorded no generation yet")
        task = prepare(
            make_config(overlaid(recorded, flags), where=f"run '{store.run_id}'", flags=flags)
        )
        same = ("data_hash", "genes", "costs", "window", "strategy")
        now = header_of(task, "cpu")
        for name in same:
            if _plain(now[name]) != _plain(store.header.get(name)):
                raise StoreError(
                    f"{name} is not that of run '{store.run_id}': "
                    f"recorded {store.header.get(name)}, now {now[name]}"
                )
    genomes = np.array(last.population.genomes[front_of(last.population)])
    return task, genomes


def _plain(value: object) -> object:
    """As JSON reads it back: tuples are lists."""
    return list(value) if isinstance(value, tuple) else value
