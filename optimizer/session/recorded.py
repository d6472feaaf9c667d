"""A recorded run taken up again: its task, as it was, and the members of its newest front."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from optimizer.config.run_config import make_config, overlaid
from optimizer.errors import StoreError
from optimizer.runs import RunStore
from optimizer.search.evolution import final_front
from optimizer.search.generation import Floats
from optimizer.session.task import Task, header_of, prepare

SAME = ("data_hash", "genes", "costs", "windows", "held_out", "strategy")
"""Fields of a header that decide what an individual does."""


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
        last = store.last_generation()
        if last is None:
            raise StoreError(f"run '{store.run_id}' has recorded no generation yet")
        task = recorded_task(store, flags)
        result = store.result
    members = [] if result is None else result.get("front")
    if isinstance(members, list) and members:
        # A finished run has polished its front since its last generation.
        return task, np.array([task.spec.layout.encode(member["genes"]) for member in members])
    return task, np.array(final_front(last).genomes)


def recorded_task(store: RunStore, flags: Mapping[str, object]) -> Task:
    """What a recorded run was asked to do, with its bars.

    Args:
        store: The run, open.
        flags: Where the data is now, if it has moved; nothing that decides a result.

    Returns:
        The task.

    Raises:
        StoreError: When bars or rules are not those of the run.
    """
    recorded = store.header.get("command")
    if not isinstance(recorded, dict):
        raise StoreError(f"run '{store.run_id}' does not say what it was asked to do")
    where = f"run '{store.run_id}'"
    task = prepare(make_config(overlaid(recorded, flags), where=where, flags=flags))
    now = header_of(task, "cpu")
    for name in SAME:
        if _plain(now[name]) != _plain(store.header.get(name)):
            raise StoreError(
                f"{name} is not that of run '{store.run_id}': "
                f"recorded {store.header.get(name)}, now {now[name]}"
            )
    return task


def _plain(value: object) -> object:
    """As JSON reads it back: tuples are lists."""
    return list(value) if isinstance(value, tuple) else value
