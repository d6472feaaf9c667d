"""What a run's record says of its circumstances, and what was asked for in it."""

from collections.abc import Mapping
from datetime import UTC, datetime

from engine.machine import versions
from optimizer.config.run_config import RunConfig, make_config, overlaid
from optimizer.errors import StoreError
from optimizer.runs import RunStore
from optimizer.session.differences import different_lines
from optimizer.session.identity import Identity
from optimizer.session.task import Task


def header_of(task: Task, device: str, identity: Identity) -> dict[str, object]:
    """What a run record keeps of its circumstances.

    Args:
        task: What the run does.
        device: Where it is evaluated.
        identity: What decides its results; all else is there for people.
    """
    config, markets, strategy = task.config, task.markets, identity.strategy
    return {
        "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "identity": identity.as_dict(),
        "command": config.model_dump(mode="json"),
        "strategy": task.spec.name,
        "genes": strategy["genes"],
        "data": f"{markets.symbol} {markets.timeframe}",
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
        },
    }


def changed_circumstances(
    recorded: Mapping[str, object], present: Mapping[str, object]
) -> tuple[str, ...]:
    """What differs between two headers beside what decides results.

    Args:
        recorded: Of the run.
        present: That a new run would get now.

    Returns:
        A line for each knob, library or device that is another one now.
    """
    names = ("command", "device", "versions")
    old, new = ({name: header.get(name) for name in names} for header in (recorded, present))
    return different_lines(old, new)


def recorded_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    """What a run was asked to do.

    Args:
        store: The run, open.
        flags: What is given anew.

    Returns:
        The configuration of the run with the flags in it; a knob that is no longer there is left
        out, and missing in the identity if it decided anything.

    Raises:
        StoreError: When the run does not say.
        ConfigError: When a value is wrong.
    """
    recorded = store.header.get("command")
    if not isinstance(recorded, dict):
        raise StoreError(f"run '{store.run_id}' does not say what it was asked to do")
    known = {name: value for name, value in recorded.items() if name in RunConfig.model_fields}
    return make_config(overlaid(known, flags), where=f"run '{store.run_id}'", flags=flags)
