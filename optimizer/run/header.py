"""Circumstances in a run's record, and its task taken up again."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from engine.runtime.machine import available_cores, versions
from optimizer.config.run_config import RunConfig, make_config, overlaid
from optimizer.errors import StoreError
from optimizer.run.columns import (
    FITS,
    HASHES,
    column_hashes,
    list_fits,
    require_same_columns,
    tell_changed_columns,
)
from optimizer.run.identity import (
    Identity,
    build_identity,
    different_lines,
    require_identity,
    require_same,
)
from optimizer.run.recorded_code import (
    changed_file,
    format_strategy_address,
    published_strategy,
    recorded_strategy,
    require_same_file,
    strategy_file,
)
from optimizer.run.recorded_places import confine_places
from optimizer.run.tables import newest_front
from optimizer.run.task import Task, prepare
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from strategy import find_strategy
from strategy.clock import zone_version

OPENED = "opened"
"""Name of the evidence that held-out bars were looked at."""


def build_run_header(task: Task, device: str, identity: Identity) -> dict[str, object]:
    """Circumstances that a run records; only the identity among them decides its results."""
    config, markets, strategy = task.config, task.markets, identity.strategy
    file = strategy_file(task.spec)
    zones = {name: zone_version(name) for name in task.spec.zones}
    return {
        "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "identity": identity.as_dict(),
        "command": config.model_dump(mode="json"),
        "strategy": task.spec.name,
        "strategy_file": file and file.payload(),
        **({FITS: fits} if (fits := list_fits(task.spec, config.column_file)) else {}),
        **({HASHES: hashes} if (hashes := column_hashes(markets.series)) else {}),
        "genes": strategy["genes"],
        "data": f"{markets.symbol} {markets.timeframe}",
        "symbols": list(dict.fromkeys(markets.symbols)),
        "is_simulated": markets.is_simulated,
        "windows": [[window.start, window.end] for window in markets.windows],
        "held_out": [[window.start, window.end] for window in markets.held_out],
        "objectives": list(task.goals.names),
        "failure_names": list(task.goals.failure_names),
        "costs": identity.costs,
        "generations": config.generations,
        "seed": config.seed,
        "device": device,
        "notes": list(task.notes),
        "versions": {
            "engine": identity.engine_version,
            "strategy": task.spec.version,
            "search": identity.search_version,
            **versions(),
            **({"zones": zones} if zones else {}),
        },
    }


PLACES = frozenset({"runs", "cache", "strategy"})
"""Knobs that are not taken from a record: the run is where it is, its strategy in its record."""


def changed_circumstances(
    recorded: Mapping[str, object], present: Mapping[str, object], flags: Collection[str]
) -> tuple[str, ...]:
    """A line for each knob, library or device that differs between two headers.

    Of places only what `flags` name was asked for.
    """
    names, left_out = ("command", "device", "versions"), PLACES.difference(flags)
    old, new = ({name: header.get(name) for name in names} for header in (recorded, present))
    for header in (old, new):
        if isinstance(command := header["command"], dict):
            kept = {name: value for name, value in command.items() if name not in left_out}
            header["command"] = kept
    return different_lines(old, new)


def recorded_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    """Configuration of a recorded run, with flags in it.

    A knob that is no longer there is left out, and missing in the identity if it decided
    anything.

    Raises:
        StoreError: When the run has recorded none.
        ConfigError: When a value is wrong.
    """
    recorded = store.header.get("command")
    if not isinstance(recorded, dict):
        raise StoreError(f"run '{store.run_id}' does not say what it was asked to do")
    known = {name: value for name, value in recorded.items() if name in RunConfig.model_fields}
    if isinstance(threads := known.get("threads"), int) and threads > available_cores():
        # Another machine may have had more, and it decides nothing.
        known["threads"] = None
    known = confine_places(store, {**known, "strategy": str(store.header.get("strategy"))}, flags)
    where = f"run '{store.run_id}'"
    made = make_config(overlaid(known, flags), where=where, flags=flags)
    if flags.keys() & {"aligned_columns", "column_file"}:
        require_same_columns(store.run_id, make_config(known, where=where), made)
    return made


def recorded_front(path: Path, flags: Mapping[str, object]) -> tuple[Task, Floats]:
    """The task of a recorded run, as `shown_task`, and the genomes [F, G] of its newest front.

    `flags` say where the data is now, if it has moved.
    """
    with RunStore.open(path) as store:
        front = newest_front(store)
        return shown_task(store, flags), front.genomes


def shown_task(store: RunStore, flags: Mapping[str, object]) -> Task:
    """Task of a recorded run to be shown: with held-out bars only once they were opened."""
    task = recorded_task(store, flags)
    return task if is_opened(store) else task.closed


def is_opened(store: RunStore) -> bool:
    """Whether the bars that a run held out have been looked at."""
    return any(name == OPENED for name, _ in store.evidence)


def recorded_task(store: RunStore, flags: Mapping[str, object]) -> Task:
    """Task of a recorded run, with all of its bars.

    Raises:
        StoreError: When individuals would not be judged as they were then, naming what differs.
    """
    recorded = require_identity(store)
    task = prepare_recorded(store, recorded_config(store, flags), may_fetch="data" in flags)
    tell_changed_columns(store, task.markets.series)
    require_same(store.run_id, recorded, build_identity(task, None), only_values=True)
    return task


def prepare_recorded(
    store: RunStore, config: RunConfig, *, may_fetch: bool, for_search: bool = False
) -> Task:
    """Task of a configuration with the strategy of a run; see `prepare`."""
    known = recorded_strategy(store)
    published = published_strategy(store) if known is None else None
    return prepare(
        config, for_search=for_search, known=known, published=published, may_fetch=may_fetch
    )


def task_to_resume(store: RunStore, config: RunConfig, flags: Mapping[str, object]) -> Task:
    """The task of a run to go on with, whose strategy is the recorded one.

    Of a run that was begun here its own file is read again where it was changed, to refuse another
    strategy; else no file is, unless a person names it.
    """
    may_fetch, file = "data" in flags, changed_file(store)
    if "strategy" in flags:
        task = prepare(config, for_search=True, may_fetch=may_fetch)
    elif file is not None:
        published = find_strategy(format_strategy_address(store, file))
        task = prepare(config, for_search=True, published=published, may_fetch=may_fetch)
    else:
        return prepare_recorded(store, config, may_fetch=may_fetch, for_search=True)
    require_same_file(store, task.spec)
    return task
