"""A recorded run taken up again: its task, as it was, and the members of its newest front."""

from collections.abc import Mapping
from pathlib import Path

from optimizer.runs import RunStore
from optimizer.search.generation import Floats
from optimizer.session.exported import newest_front
from optimizer.session.header import recorded_config
from optimizer.session.identity import identity_of, require_identity, require_same
from optimizer.session.task import Task, prepare


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
        front = newest_front(store)
        return recorded_task(store, flags), front.genomes


def recorded_task(store: RunStore, flags: Mapping[str, object]) -> Task:
    """What a recorded run was asked to do, with its bars.

    Args:
        store: The run, open.
        flags: Where the data is now, if it has moved; nothing that decides a result.

    Returns:
        The task.

    Raises:
        StoreError: When individuals would not be judged as they were then, naming what differs.
    """
    recorded = require_identity(store)
    task = prepare(recorded_config(store, flags))
    require_same(store.run_id, recorded, identity_of(task, None), only_values=True)
    return task
