"""Header of a run, and the identity in it: everything that decides its results.

Two runs with the same identity find the same individuals and the same values, bit for bit, on any
machine, as far as both have come. A knob names its effect itself (`optimizer.config.values`); here
the values of deciding knobs stand beside the parts made of the others.
"""

import hashlib
import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from data import Bars
from engine import ENGINE_VERSION
from engine.certificate import data_hash
from engine.runtime.machine import versions
from optimizer.config.run_config import RunConfig
from optimizer.errors import StoreError
from optimizer.goals.objectives import Goals
from optimizer.run.markets import parse_column_file
from optimizer.run.task import Task
from optimizer.search import SEARCH_VERSION
from optimizer.store import RunStore
from optimizer.store.payload import Payload, encode
from strategy.clock import zone_version
from strategy.model import Strategy
from strategy.records import write_value
from strategy.source_location import StrategySource

CHANCE = "seed"
"""The knob in which runs differ that ask the same question twice."""

ADVICE = {
    "strategy": "undo the change of the strategy or of its bounds",
    "data_hash": "name the bars of the run with --data",
    "warm_start": "begin with the same candidates",
    "engine_version": "use the version that recorded it",
    "search_version": "use the version that recorded it",
}
"""Remedies where a part differs; the others are flags that can be left out."""

ABSENT = object()
"""Stands for a value that only the other record has."""

log = logging.getLogger(__name__)

MOST_CHARACTERS = 80
"""Of a value in a line."""

KeyPath = tuple[str, ...]

PLACES = frozenset({"runs", "cache", "strategy"})
"""Knobs that are not taken from a record: the run is where it is, its strategy in its record."""

FITS = "forecast_fits"
"""In a run's header: digests of the forecasts that were fitted on its bars."""

HASHES = "column_hashes"
"""In a run's header: hashes of its extra columns, to name those whose values are others."""


@dataclass(frozen=True)
class Identity:
    """All that decides the results of a run, in parts that JSON can hold."""

    settings: Mapping[str, object]  # knobs of the search, by value; the seed is one of them
    costs: Mapping[str, object]
    # Objectives with measure and direction, and constraints.
    goals: Mapping[str, object]
    strategy: Mapping[str, object]  # with its bounds, as `Strategy.described`
    data_hash: str  # of all series, as `engine.certificate.data_hash`
    # Each with its series, first bar, the bar after the last, and its role.
    windows: Sequence[Mapping[str, object]]
    warm_start: str | None  # hash of the genomes that the search begins with; None without any
    engine_version: int
    search_version: int

    @property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of all parts as canonical JSON."""
        return hashlib.sha256(encode(asdict(self), what="the identity")).hexdigest()

    def as_dict(self) -> dict[str, object]:
        """Parts as a run's header keeps them; `read_identity` reads them back."""
        return {"digest": self.digest, **asdict(self)}

    def differences(
        self, other: "Identity", words: tuple[str, str] = ("recorded", "now")
    ) -> dict[str, tuple[str, ...]]:
        """Part to a line for each value that differs; parts that agree are left out.

        `words` stand before the value of this one and of the other.
        """
        differing: dict[str, tuple[str, ...]] = {}
        for part in fields(self):
            old, new = (getattr(identity, part.name) for identity in (self, other))
            # Knobs are known by their own names, whatever part they are in.
            prefix = () if part.name in ("settings", "goals") else (part.name,)
            if lines := different_lines(old, new, words, prefix):
                differing[part.name] = lines
        return differing

    def measures_the_same(self, other: "Identity") -> bool:
        """True if equal trades are worth the same in both, so that values can be compared."""
        alike = ("costs", "data_hash", "windows", "engine_version")
        return all(getattr(self, name) == getattr(other, name) for name in alike) and all(
            self.goals.get(name) == other.goals.get(name) for name in ("objectives", "over_windows")
        )

    def asks_the_same(self, other: "Identity") -> bool:
        """True if both are the same search but for chance, so that their fronts can be compared."""
        differing = self.differences(other)
        chance = {name: value for name, value in other.settings.items() if name == CHANCE}
        return not differing or (
            set(differing) == {"settings"} and {**self.settings, **chance} == other.settings
        )


def build_identity(task: Task, warm_start: str | None) -> Identity:
    """Identity of a task; `warm_start` as `tables.hash_genomes`."""
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


def read_identity(store: RunStore) -> Identity:
    """The identity in the header of a run, to build on.

    StoreError when it has other parts than this version knows.
    """
    recorded = store.header.get("identity")
    names = {part.name for part in fields(Identity)}
    if not isinstance(recorded, dict) or recorded.keys() - {"digest"} != names:
        raise StoreError(
            f"run '{store.run_id}' names other parts that decide its results than this version: "
            "use the version that recorded it, or start a new run"
        )
    return Identity(**{name: recorded[name] for name in names})


def require_same(
    run: str,
    recorded: Identity,
    present: Identity,
    parts: Collection[str] | None = None,
    *,
    strategies: tuple[str, str] = ("", ""),
) -> None:
    """Refuse to build on a run with other results now.

    Individuals that are judged again, not searched for, ask that `parts` are the same, not all.
    `strategies` are the names of both: of two strategies no gene and no condition is compared.
    StoreError names each value that differs, as recorded and as it is now, and a remedy.
    """
    if recorded.digest == present.digest:
        return
    lines_by_part = recorded.differences(present)
    if "strategy" in lines_by_part and strategies[0] != strategies[1]:
        lines_by_part["strategy"] = different_lines(*strategies, prefix=("strategy",))
    differing = [part for part in lines_by_part if parts is None or part in parts]
    if differing:
        aim = "it cannot be resumed" if parts is None else "its members cannot be judged again"
        advice = dict.fromkeys(ADVICE.get(part, "give it as recorded") for part in differing)
        lines = "".join(f"\n  {line}" for part in differing for line in lines_by_part[part])
        raise StoreError(
            f"run '{run}': {aim}, what decides its results has changed:{lines}\n"
            f"  {', '.join(advice)}, or start a new run"
        )


def different_lines(
    old: object, new: object, words: tuple[str, str] = ("recorded", "now"), prefix: KeyPath = ()
) -> tuple[str, ...]:
    """A line for each value that differs, such as ``seed: recorded 1, now 2``.

    Both are what JSON can hold; `words` stand before either value, `prefix` names what both are
    a part of.

    >>> different_lines({"costs": {"fee_bp": 5.0}}, {"costs": {"fee_bp": 1.0}})
    ('costs.fee_bp: recorded 5.0, now 1.0',)
    """
    # As they read back from a record: tuples are lists, NumPy numbers are plain.
    old, new = (json.loads(encode(value, what="the record")) for value in (old, new))
    return tuple(
        f"{'.'.join(path)}: {words[0]} {_format_value(was, old)}, "
        f"{words[1]} {_format_value(now, new)}"
        for path, was, now in _different(old, new, prefix)
    )


def _described_goals(goals: Goals) -> dict[str, object]:
    return {
        "objectives": [asdict(objective) for objective in goals.objectives],
        "constraints": [constraint.text for constraint in goals.constraints],
        "over_windows": goals.over,
        "min_trades": goals.min_trades,
    }


def _different(
    old: object, new: object, prefix: KeyPath
) -> Iterator[tuple[KeyPath, object, object]]:
    """Key paths at which two JSON values differ, with the value of either."""
    if isinstance(old, dict) and isinstance(new, dict):
        if prefix and old.get("name") != new.get("name"):
            # Another strategy differs in nearly everything.
            yield prefix, old.get("name", ABSENT), new.get("name", ABSENT)
            return
        for key in sorted(old.keys() | new.keys()):
            yield from _different(old.get(key, ABSENT), new.get(key, ABSENT), (*prefix, str(key)))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _different_lists(old, new, prefix)
    elif repr(old) != repr(new):
        # 1 is neither 1.0 nor true, and 0.0 is not -0.0.
        yield prefix, old, new


def _different_lists(
    old: list[object], new: list[object], prefix: KeyPath
) -> Iterator[tuple[KeyPath, object, object]]:
    if all(isinstance(value, str) for value in (*old, *new)):
        yield from _different_texts([*map(str, old)], [*map(str, new)], prefix)
    elif len(old) != len(new) or _are_other_nodes(old, new):
        yield prefix, _names(old), _names(new)
    else:
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            name = left.get("name") if isinstance(left, dict) else None
            yield from _different(left, right, (*prefix, str(name or number)))


def _different_texts(
    old: list[str], new: list[str], prefix: KeyPath
) -> Iterator[tuple[KeyPath, object, object]]:
    """Texts that only one list has; the whole lists where they differ in their order."""
    if old == new:
        return
    gone, come = ([text for text in a if text not in b] for a, b in ((old, new), (new, old)))
    if not gone and not come:
        gone, come = old, new
    yield prefix, ", ".join(gone) or ABSENT, ", ".join(come) or ABSENT


def _are_other_nodes(old: list[object], new: list[object]) -> bool:
    """True if two lists begin with words that differ, as encoded trees of two kinds do."""
    return all(isinstance(values[0], str) for values in (old, new)) and old[0] != new[0]


def _names(values: list[object]) -> object:
    """Names of the members of a list, where they have any."""
    return [value.get("name", value) if isinstance(value, dict) else value for value in values]


def _format_value(value: object, record: object) -> str:
    """A value of a record for a person; trees of a strategy in its words."""
    words = write_value(value, record) if isinstance(record, dict) else None
    text = "none" if value is ABSENT else words or repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


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
        **({"formulas": formulas} if (formulas := task.goals.formulas) else {}),
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


def changed_circumstances(
    recorded: Mapping[str, object], present: Mapping[str, object], flags: Collection[str]
) -> tuple[str, ...]:
    """A line for each knob, library or device that differs between two headers.

    Of places only those in `flags` count.
    """
    names, left_out = ("command", "device", "versions"), PLACES.difference(flags)
    old, new = ({name: header.get(name) for name in names} for header in (recorded, present))
    for header in (old, new):
        if isinstance(command := header["command"], dict):
            kept = {name: value for name, value in command.items() if name not in left_out}
            header["command"] = kept
    return different_lines(old, new)


def require_same_columns(run: str, recorded: RunConfig, present: RunConfig) -> None:
    """Refuse other extra columns than those of a run, naming each."""
    for flag, old, new in (
        ("--aligned-column", recorded.aligned_columns, present.aligned_columns),
        ("--column-file", recorded.column_file, present.column_file),
    ):
        was, now = ({text.partition("=")[0] for text in texts} for texts in (old, new))
        if was != now:
            terms = [f"without {name}" for name in sorted(was - now)]
            terms += [f"with {name}" for name in sorted(now - was)]
            raise StoreError(
                f"run '{run}' had other columns: {flag} asks for them {', '.join(terms)}; leave it "
                "out, or start a new run"
            )


def column_hashes(series: Sequence[Bars]) -> dict[str, str]:
    """SHA-256, hexadecimal, of each extra column of all series, by name."""
    hashes: dict[str, str] = {}
    for name in series[0].extra:
        digest = hashlib.sha256()
        for bars in series:
            values = bars.extra[name]
            digest.update(np.where(np.isnan(values), np.nan, values + 0.0).astype("<f8").tobytes())
        hashes[name] = digest.hexdigest()
    return hashes


def tell_changed_columns(store: RunStore, series: Sequence[Bars]) -> None:
    """Say which extra columns have other values than a run recorded: its data is another then."""
    recorded = store.header.get(HASHES)
    if not isinstance(recorded, dict):
        return
    for name, digest in column_hashes(series).items():
        if recorded.get(name, digest) != digest:
            log.info("column '%s' has other values than run '%s' recorded", name, store.run_id)


def list_fits(spec: Strategy, files: Sequence[str]) -> list[str]:
    """Digests of all forecasts that were fitted before a strategy read some.

    Their records name some, and their folders hold others on the same bars.
    """
    # Only now: few runs read a forecast.
    from optimizer.forecasts.column import counted_record

    names = spec.extra_columns
    read = [Path(path) for name, path, _ in map(parse_column_file, files) if name in names]
    records = map(counted_record, read)
    return sorted({fit for record in records if record is not None for fit in record.fitted})


def recorded_fits(store: RunStore) -> int:
    """Forecasts that were fitted on a run's bars, of all columns that its strategy reads."""
    return len(cast("list[str]", store.header.get(FITS, [])))


@dataclass(frozen=True)
class StrategyFile(StrategySource, Payload):
    """The file that a strategy came from, as it was when a run began."""

    what: ClassVar[str] = "the strategy's file"
    is_exact: ClassVar[bool] = True

    summary: str = ""  # of the strategy
    folder: str = ""  # from which the run began

    @property
    def python(self) -> str | None:
        """Its text where the strategy reads functions of it."""
        return self.text if self.has_functions else None

    @property
    def place(self) -> Path | None:
        """Recorded and present place of the file, for runs that were begun here alone."""
        where = Path(self.folder) / self.path
        return where if self.folder and where.is_file() else None


def strategy_file(spec: Strategy) -> StrategyFile | None:
    """The file that a strategy came from; None without one."""
    source = spec.source
    if source is None:
        return None
    return StrategyFile(**asdict(source), summary=spec.summary, folder=str(Path.cwd()))


def recorded_file(store: RunStore) -> StrategyFile | None:
    """The file that the strategy of a run came from; None without one."""
    recorded = store.header.get("strategy_file")
    return None if recorded is None else StrategyFile.read(recorded)
