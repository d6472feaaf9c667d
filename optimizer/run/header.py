"""Circumstances in a run's record, and its task taken up again."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from engine.runtime.machine import versions
from optimizer.run.columns import (
    FITS,
    HASHES,
    column_hashes,
    list_fits,
)
from optimizer.run.identity import (
    Identity,
    different_lines,
)
from optimizer.run.recorded_code import (
    strategy_file,
)
from optimizer.run.task import Task
from strategy.clock import zone_version


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
