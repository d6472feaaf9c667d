"""The front of a recorded run, on its own bars or on others, at its own costs or at others."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.shell import write_command
from engine.certificate import data_hash
from optimizer.config.data import CostSettings, DataSettings, StrategySettings, WindowSettings
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.errors import ConfigError
from optimizer.judging.holdout import list_bar_ranges, overlap
from optimizer.run.header import is_opened, prepare_recorded, recorded_config, shown_task
from optimizer.run.identity import build_identity, require_identity, require_same
from optimizer.run.tables import newest_front, require_result
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.result import RunHeader

WINDOWS = frozenset(WindowSettings.model_fields)
ASKED = WINDOWS.union(DataSettings.model_fields, CostSettings.model_fields)
"""Flags that ask for other bars, parts of them, or costs than those of the run."""


def replay_front(path: Path, flags: Mapping[str, object]) -> tuple[Task, Floats]:
    """The task of a run as flags change it, and the genomes [F, G] of its newest front.

    Other bars are taken whole unless flags cut them: ranges and held-out parts of the run are of
    its own bars, and hold where the bars are the same and have only moved.

    Raises:
        ConfigError: When a flag contradicts the run, or bars are among those that the run held out
            and that are not opened.
        StoreError: When members would trade otherwise than in the run, naming what differs.
    """
    with RunStore.open(path) as store:
        front = newest_front(store).genomes
        for name in StrategySettings.model_fields:
            if name in flags:
                raise ConfigError(
                    f"{format_flag(name)}: run '{store.run_id}' says strategy and bounds; leave it "
                    "out"
                )
        if not flags.keys() & ASKED:
            return shown_task(store, flags), front
        task, has_own = _build_task(store, flags)
        _require_same_bars(store, task)
        recorded, present = require_identity(store), build_identity(task, None)
        kept: dict[str, Any] = {"costs": present.costs}
        if not has_own:
            kept |= {"data_hash": present.data_hash, "windows": present.windows}
        require_same(store.run_id, replace(recorded, **kept), present, only_values=True)
        if is_opened(store):
            return task, front
        if not has_own:
            _refuse_held_out(store, task)
        return (task.closed if has_own else task), front


def prepare_whole(store: RunStore, flags: Mapping[str, object]) -> Task:
    """The task of a run on all bars that its sources have now, uncut.

    Raises:
        ConfigError: When bars have another duration than those of the run.
        StoreError: When members would trade otherwise than in the run, naming what differs.
    """
    config = recorded_config(store, flags).model_copy(update=_list_unset_windows())
    task = prepare_recorded(store, config, may_fetch="data" in flags)
    _require_same_bars(store, task)
    recorded, present = require_identity(store), build_identity(task, None)
    kept: dict[str, Any] = {"data_hash": present.data_hash, "windows": present.windows}
    require_same(store.run_id, replace(recorded, **kept), present, only_values=True)
    return task


def _list_unset_windows() -> dict[str, object]:
    """Knobs that cut windows, as they are by default."""
    return {name: RunConfig.model_fields[name].default for name in WINDOWS}


def _build_task(store: RunStore, flags: Mapping[str, object]) -> tuple[Task, bool]:
    """Task that flags ask for, and whether it has bars and windows of the run's own."""
    config = recorded_config(store, flags)
    is_own = not flags.keys() & WINDOWS
    if is_own and "data" in flags:
        unset = config.model_copy(update=_list_unset_windows())
        task = prepare_recorded(store, unset, may_fetch=True)
        if data_hash(task.markets.series) != require_identity(store).data_hash:
            return task, False
    return prepare_recorded(store, config, may_fetch="data" in flags), is_own


def _require_same_bars(store: RunStore, task: Task) -> None:
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
    held_out = list_bar_ranges(require_result(store).data.held_out)
    if overlap(held_out, list_bar_ranges(task.markets.describe())):
        raise ConfigError(
            f"run '{store.run_id}' held out bars that are among these, and nobody has opened them: "
            f"{write_command('judge', store.path, '--open')} counts the look"
        )
