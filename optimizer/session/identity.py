"""What a run is: everything that decides its results, in one place.

Two runs with the same identity find the same individuals and the same values, bit for bit, on any
machine, as far as both have come. A knob says itself what it decides (`optimizer.config.knobs`);
here the values of those that decide are put together with what was made of the others.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from engine.batch import ENGINE_VERSION
from engine.replay.certificate import data_hash
from optimizer.errors import StoreError
from optimizer.goals.objectives import Goals
from optimizer.runs import RunStore
from optimizer.runs.texts import encode
from optimizer.search import SEARCH_VERSION
from optimizer.session.differences import different_lines
from optimizer.session.task import Task

VALUES = ("strategy", "costs", "goals", "data_hash", "windows", "engine_version")
"""Parts that decide what an individual trades and what it is worth, whoever finds it."""

CHANCE = "seed"
"""The knob in which runs differ that ask the same question twice."""

ADVICE = {
    "strategy": "undo the change of the strategy or of its bounds",
    "data_hash": "name the bars of the run with --data",
    "warm_start": "begin with the same individuals",
    "engine_version": "use the version that recorded it",
    "search_version": "use the version that recorded it",
}
"""What to do where a part differs; the others are flags that can be left out."""


@dataclass(frozen=True)
class Identity:
    """What decides the results of a run, in parts that JSON can hold.

    Args:
        settings: Knobs of the search, by value; the seed is one of them.
        costs: Knobs of costs and risk, by value.
        goals: Objectives with what they measure and whether more is better, and constraints.
        strategy: With its bounds, as `StrategySpec.described`.
        data_hash: Of all series, as `engine.replay.certificate.data_hash`.
        windows: Each with its series, first bar, the bar after the last, and its role.
        warm_start: Hash of the genomes that the search begins with; None without any.
        engine_version: Of the law.
        search_version: Of the search.
    """

    settings: Mapping[str, object]
    costs: Mapping[str, object]
    goals: Mapping[str, object]
    strategy: Mapping[str, object]
    data_hash: str
    windows: Sequence[Mapping[str, object]]
    warm_start: str | None
    engine_version: int
    search_version: int

    @property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of all parts as canonical JSON."""
        return hashlib.sha256(encode(asdict(self), what="the identity")).hexdigest()

    def as_dict(self) -> dict[str, object]:
        """What a run's header keeps; `recorded_identity` reads it back."""
        return {"digest": self.digest, **asdict(self)}

    def differences(
        self, other: "Identity", words: tuple[str, str] = ("recorded", "now")
    ) -> dict[str, tuple[str, ...]]:
        """In which parts another identity differs.

        Args:
            other: What to compare with.
            words: What stands before the value of this one and of the other.

        Returns:
            Part to one line for each value that differs, with both values; parts that agree are
            left out.
        """
        found: dict[str, tuple[str, ...]] = {}
        for part in fields(self):
            old, new = (getattr(one, part.name) for one in (self, other))
            # Knobs are known by their own names, whatever part they are in.
            place = () if part.name in ("settings", "goals") else (part.name,)
            if lines := different_lines(old, new, words, place):
                found[part.name] = lines
        return found

    def asks_the_same(self, other: "Identity") -> bool:
        """Whether both are the same search but for chance, so that their fronts can be compared."""
        differing = self.differences(other)
        chance = {name: value for name, value in other.settings.items() if name == CHANCE}
        return not differing or (
            set(differing) == {"settings"} and {**self.settings, **chance} == other.settings
        )


def identity_of(task: Task, warm_start: str | None) -> Identity:
    """What decides the results of a task.

    Args:
        task: Configuration, bars and strategy.
        warm_start: As `session.warm_start.hash_of`.
    """
    return Identity(
        settings=task.config.deciding("search"),
        costs=task.config.deciding("costs"),
        goals=_described_goals(task.goals),
        strategy=task.spec.described,
        data_hash=data_hash(task.markets.series),
        windows=[asdict(window) for window in task.markets.all_windows],
        warm_start=warm_start,
        engine_version=ENGINE_VERSION,
        search_version=SEARCH_VERSION,
    )


def recorded_identity(header: Mapping[str, object]) -> Identity | None:
    """The identity that stands in a run's header.

    Args:
        header: As `RunStore.header`.

    Returns:
        None where a version recorded the run that did not say all that decides it.

    Raises:
        StoreError: When a newer version recorded the run, and something decides it that is
            unknown here.
    """
    found = header.get("identity")
    if not isinstance(found, dict):
        return None
    names = [part.name for part in fields(Identity)]
    unknown = sorted(found.keys() - {*names, "digest"})
    if unknown:
        raise StoreError(
            f"'{unknown[0]}' decides the results of this run and is unknown to this version: use "
            "the version that recorded it"
        )
    parts: dict[str, Any] = {name: found.get(name) for name in names}
    return Identity(**parts)


def require_identity(store: RunStore) -> Identity:
    """The identity of a run, to build on.

    Raises:
        StoreError: As `recorded_identity`, and when the run does not say all that decides it.
    """
    found = recorded_identity(store.header)
    if found is None:
        raise StoreError(
            f"run '{store.run_id}' was recorded by a version ({_versions(store.header)}) that did "
            "not record all that decides results: what it found can be shown and exported, but it "
            "cannot be resumed, nor its members judged again; start a new run"
        )
    return found


def require_same(
    run: str, recorded: Identity, present: Identity, *, only_values: bool = False
) -> None:
    """Refuse to build on a run whose results would be others now.

    Args:
        run: Its id.
        recorded: What decided its results.
        present: What decides results now.
        only_values: Whether individuals are only judged again, not searched for.

    Raises:
        StoreError: Naming each value that differs, as recorded and as it is now, and what to do.
    """
    if recorded.digest == present.digest:
        return
    found = recorded.differences(present)
    differing = [part for part in found if not only_values or part in VALUES]
    if differing:
        aim = "its members cannot be judged again" if only_values else "it cannot be resumed"
        advice = dict.fromkeys(ADVICE.get(part, "give it as recorded") for part in differing)
        lines = "".join(f"\n  {line}" for part in differing for line in found[part])
        raise StoreError(
            f"run '{run}': {aim}, what decides its results has changed:{lines}\n"
            f"  {', '.join(advice)}, or start a new run"
        )


def _described_goals(goals: Goals) -> dict[str, object]:
    return {
        "objectives": [asdict(objective) for objective in goals.objectives],
        "constraints": [constraint.text for constraint in goals.constraints],
        "over_windows": goals.over,
        "min_trades": goals.min_trades,
    }


def _versions(header: Mapping[str, object]) -> str:
    """Versions of engine and search that an older header names."""
    versions = header.get("versions")
    known = versions if isinstance(versions, dict) else {}
    return ", ".join(f"{name} {known.get(name, 'unknown')}" for name in ("engine", "search"))
