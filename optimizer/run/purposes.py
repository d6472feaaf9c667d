"""The one way from a run's record to a task, and to its search again; a table of the purposes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from data.shell import write_command
from engine.certificate import data_hash
from engine.runtime.machine import available_cores
from optimizer.config.run_config import RunConfig, format_flag, make_config, overlaid
from optimizer.config.settings import CostSettings, DataSettings, StrategySettings, WindowSettings
from optimizer.errors import ConfigError, StoreError
from optimizer.run.record import (
    Identity,
    build_identity,
    read_identity,
    require_same,
    require_same_columns,
    tell_changed_columns,
)
from optimizer.run.tables import hash_genomes, load_warm_start, newest_front, require_result
from optimizer.run.task import Task, prepare
from optimizer.run.trust import (
    confine_places,
    require_same_file,
    require_warm_start,
    restore_strategies,
)
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.caveats import OPENED
from optimizer.store.files import NO_GENERATION
from optimizer.store.result import RunHeader, RunResult, overlap

ALL = frozenset(part.name for part in fields(Identity))
VALUES = ALL - {"settings", "warm_start", "search_version"}
"""Parts that decide what an individual trades and is worth, by whatever search it is found."""

BARS = frozenset(("data_hash", "windows"))

WINDOWS = frozenset(WindowSettings.model_fields)
ASKED = WINDOWS.union(DataSettings.model_fields, CostSettings.model_fields)
"""Flags that ask for other bars, parts of them, or costs than those of the run."""


BY_RULE = ("plateau", "max_evaluations")
"""Rules that end a search by its findings; on other bars that may be sooner or later."""


@dataclass(frozen=True)
class Purpose:
    """Bars, code and limits that a purpose has of a record."""

    # The run's; all that its sources have now, uncut; or as flags name them.
    bars: Literal["recorded", "newest", "named"]
    # Whether windows that the run held out are among them: also once they were opened alone.
    held_out: Literal["all", "opened", "none"]
    same: frozenset[str]  # parts of the identity that must be as recorded
    # Strategy and functions of a person's own as recorded, these once they are trusted; with
    # "present" the file in its place is read too, to refuse a changed one.
    code: Literal["recorded", "present"] = "recorded"
    # Generations as the run began, or as named last; then a search follows.
    limits: Literal["begun", "planned"] = "begun"


# The first genomes of a search are known after its task: its caller compares the identity.
RESUME = Purpose("recorded", "all", ALL, code="present", limits="planned")
JUDGE = Purpose("recorded", "all", VALUES)
VERIFY = Purpose("recorded", "none", VALUES)
SHOW = Purpose("recorded", "opened", VALUES)
COMBINE = Purpose("recorded", "none", VALUES)  # in a portfolio
REPLAY = Purpose("named", "opened", VALUES - {"costs"})
SIGNAL = Purpose("newest", "all", VALUES - BARS)


def restore_task(store: RunStore, purpose: Purpose, flags: Mapping[str, object]) -> Task:
    """Task of a recorded run for a purpose; `flags` say where the data is, if it has moved.

    To replay, other bars are taken whole unless flags cut them: ranges and held-out parts of the
    run are of its own bars, and hold where the bars are the same and have only moved.

    ConfigError when a flag contradicts the run, bars have another duration, or bars to replay are
    still held out. StoreError when members would not be judged as they were then, naming each
    difference, or an untrusted file or code would be needed.
    """
    if purpose.bars == "named":
        _refuse_strategy_flags(store, flags)
        purpose = purpose if flags.keys() & ASKED else SHOW
    recorded = read_identity(store)
    task, is_own = _load(store, purpose, flags)
    if purpose.bars != "recorded":
        _require_same_duration(store, task)
    elif purpose.limits == "planned":
        return task
    else:
        tell_changed_columns(store, task.markets.series)
    parts = purpose.same if is_own else purpose.same - BARS
    require_same(store.run_id, recorded, build_identity(task, None), parts)
    if purpose.held_out == "all" or (purpose.held_out == "opened" and is_opened(store)):
        return task
    if not is_own:
        _refuse_held_out(store, task)
    return task.closed if is_own else task


def restore_front(path: Path, purpose: Purpose, flags: Mapping[str, object]) -> tuple[Task, Floats]:
    """Newest front of a run, as genomes [F, G], after its task for a purpose."""
    with RunStore.open(path) as store:
        front = newest_front(store).genomes
        return restore_task(store, purpose, flags), front


def restore_limits(store: RunStore, task: Task, result: RunResult) -> dict[str, int | None]:
    """Settings with which a run's search ends again by its rule.

    A search that time ended ends with the generations that it reached.
    """
    if result.stopped_by not in BY_RULE:
        return {"generations": result.generation, "plateau": None}
    planned = max(store.planned or task.config.generations, result.generation)
    return {"generations": planned, "plateau": task.config.plateau}


def restore_start(store: RunStore, task: Task) -> Floats | None:
    """The genomes that a run began with; ConfigError when its file or run holds others now."""
    recorded = read_identity(store).warm_start
    if recorded is None:
        return None
    require_warm_start(store, task.config)
    warm_start = load_warm_start(task.config, task.spec.layout)
    if warm_start is None or hash_genomes(warm_start.genomes) != recorded:
        raise ConfigError(
            f"run '{store.run_id}' began with other candidates than {task.config.warm_start} "
            "holds now: put them back, because the search is repeated to judge it"
        )
    return warm_start.genomes


def is_opened(store: RunStore) -> bool:
    """True if the bars that a run held out have been looked at."""
    return any(name == OPENED for name, _ in store.evidence)


def recorded_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    """Configuration of a recorded run, with flags in it.

    A knob that is no longer there is left out, and missing in the identity if it decided anything.
    StoreError when the run has recorded none, ConfigError when a value is wrong.
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


def planned_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    """Configuration of a run, with the generations of its last command."""
    config, last = recorded_config(store, flags), store.last_generation()
    if "generations" in flags:
        return config
    done = NO_GENERATION if last is None else last.number
    planned = max(store.planned or config.generations, done)
    return config.model_copy(update={"generations": planned})


def _load(store: RunStore, purpose: Purpose, flags: Mapping[str, object]) -> tuple[Task, bool]:
    """Task that flags ask for, and whether it has the run's own bars and windows."""
    config = (planned_config if purpose.limits == "planned" else recorded_config)(store, flags)
    if purpose.bars == "recorded":
        return _prepare(store, config, purpose, flags), True
    has_windows = bool(flags.keys() & WINDOWS)
    if purpose.bars == "newest" or ("data" in flags and not has_windows):
        defaults = {name: RunConfig.model_fields[name].default for name in WINDOWS}
        task = _prepare(store, config.model_copy(update=defaults), purpose, flags)
        if purpose.bars == "newest" or not _has_recorded_bars(store, task):
            return task, False
    return _prepare(store, config, purpose, flags), not has_windows


def _has_recorded_bars(store: RunStore, task: Task) -> bool:
    return data_hash(task.markets.series) == read_identity(store).data_hash


def _prepare(store: RunStore, config: RunConfig, purpose: Purpose, flags: Collection[str]) -> Task:
    """Task of a configuration with the strategy of a run."""
    is_present = purpose.code == "present"
    known, published = restore_strategies(store, flags, reads_file=is_present)
    task = prepare(
        config,
        for_search=purpose.limits == "planned",
        known=known,
        published=published,
        may_fetch="data" in flags,
    )
    if is_present:
        require_same_file(store, task.spec)
    return task


def _refuse_strategy_flags(store: RunStore, flags: Collection[str]) -> None:
    for name in StrategySettings.model_fields:
        if name in flags:
            raise ConfigError(
                f"{format_flag(name)}: run '{store.run_id}' says strategy and bounds; leave it out"
            )


def _require_same_duration(store: RunStore, task: Task) -> None:
    """Refuse bars of another duration, because genes count bars."""
    searched, now = RunHeader.read(store.header).data.rsplit(" ", 1)[-1], task.markets.timeframe
    if now != searched:
        raise ConfigError(
            f"run '{store.run_id}' searched bars of {searched}, these are of {now}: lengths count "
            f"bars, so its members would mean something else; name bars of {searched}, or shorter "
            f"ones with --timeframe {searched}"
        )


def _refuse_held_out(store: RunStore, task: Task) -> None:
    """Refuse bars that a run held out: each look at them is counted."""
    if overlap(require_result(store).data.held_out, task.markets.describe()):
        raise ConfigError(
            f"run '{store.run_id}' held out bars that are among these, and nobody has opened them: "
            f"{write_command('judge', store.path, '--open')} counts the look"
        )
