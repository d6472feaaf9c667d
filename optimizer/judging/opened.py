"""Held-out bars: closed until somebody asks, and every look at them is counted."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data.files import NoFileError, open_ordinary, taking_turns
from engine.certificate import data_hash
from engine.replay.certificate import certify
from optimizer.errors import ConfigError, StoreError
from optimizer.evidence.unseen import unseen_of
from optimizer.judging.judgement import HeldOutRecord, numbers
from optimizer.judging.pick import Pick
from optimizer.runs import RunStore
from optimizer.runs.listing import run_folders
from optimizer.runs.result import RunResult, WindowDescription, recorded_result, refuse_red
from optimizer.session.exported import newest_front
from optimizer.session.header import OPENED, is_opened
from optimizer.session.individuals import describe_individuals
from optimizer.session.recorded_rows import record_rows
from optimizer.session.task import Task
from optimizer.written import write_whole

LOOKS = "looks.json"
"""Under the folder of runs: which fronts held-out bars were opened for."""


def held_out_record(task: Task, store: RunStore, result: RunResult, pick: Pick) -> HeldOutRecord:
    """What the front did on held-out bars; the look is recorded before anything is seen.

    Args:
        task: With the held-out windows.
        store: Of the run, open for writing.
        result: Of the run.
        pick: Named before, as `check_open` allows.

    Raises:
        StoreError: When the look cannot be recorded.
        ParityError: When reference and engine disagree there.
    """
    markets = task.markets
    windows = [one for one in result.data.windows if one.is_held_out]
    content, front = data_hash(markets.series), result.front_hash
    looks = record_look(store.path.parent, windows, content, front)
    if not is_opened(store):
        noted = {"looks": looks, "front": front, "member": pick.member}
        store.add_evidence(OPENED, noted)
        store.flush()
    engine, genomes = task.full_engine(device="cpu"), newest_front(store).genomes
    refuse_red(certify(engine, genomes))
    ledgers, places = engine.trades(pick.genome), markets.places("held_out")
    found = unseen_of([ledgers[place] for place in places], markets.series, markets.held_out)
    described = describe_individuals(task, engine, genomes)
    record_rows(store, task.spec, markets.series, genomes)
    return HeldOutRecord(
        looks=looks,
        trades=found.trades,
        closing_days=found.closing_days,
        members=tuple(one.held_out for one in described if one.held_out is not None),
        by_window=tuple(one.by_window for one in described),
        **numbers(mean_r=found.mean_r, psr=found.psr),
    )


def check_open(task: Task, store: RunStore, pick: Pick) -> None:
    """Refuse to open what is not there, or for somebody who was named after a look.

    Raises:
        ConfigError: When nothing was held out, or it was opened already with another pick.
    """
    if not task.markets.held_out:
        raise ConfigError("--open: no bars were held out, evolve with --holdout 20%")
    for name, row in store.evidence:
        if name == OPENED and row.get("member", pick.member) != pick.member:
            raise ConfigError(
                f"--pick {pick.member}: held-out bars were opened with member {row['member']} as "
                "the pick; who is named after that is not confirmed by them"
            )


def record_look(runs: Path, windows: Sequence[WindowDescription], content: str, front: str) -> int:
    """Note that a front is looked at on held-out bars; how many were, that share a bar with them.

    The same front again is no new look. Processes that look at once take turns.

    Args:
        runs: Folder of runs.
        windows: That are held out.
        content: Hash of the series.
        front: Hash of the front.

    Raises:
        StoreError: When the list of looks cannot be read.
        OptimizerError: When it cannot be written.
    """
    path, bars = runs / LOOKS, bars_of(windows)
    try:
        with taking_turns(runs):
            looks = _looks(path)
            seen = {look["front"] for look in looks if overlap(look["bars"], bars)}
            if front not in seen:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                looks.append({"content": content, "bars": bars, "front": front, "when": now})
                write_whole(path, json.dumps(looks, indent=1) + "\n")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None
    return len(seen | {front})


def searches_on_these_bars(path: Path, result: RunResult) -> int:
    """Distinct fronts beside a run, of finished runs that searched bars that it searched too."""
    own = _searched(result)
    fronts = {result.front_hash}
    for folder in run_folders(path.parent):
        if folder == path:
            continue
        try:
            with RunStore.open(folder) as store:
                other = recorded_result(store)
        except StoreError:
            # A run that cannot be read was searched all the same; nobody knows on what.
            continue
        if other is not None and overlap(_searched(other), own):
            fronts.add(other.front_hash)
    return len(fronts)


def bars_of(windows: Iterable[WindowDescription]) -> list[dict[str, str]]:
    """Which bars windows have, as looks are noted and `overlap` takes them."""
    return [{"symbol": one.symbol, "first": one.first, "last": one.last} for one in windows]


def overlap(some: Sequence[dict[str, str]], others: Sequence[dict[str, str]]) -> bool:
    """Whether ranges of bars of one symbol share a time; ISO times are in order as texts."""
    return any(
        one["symbol"] == other["symbol"]
        and one["first"] <= other["last"]
        and other["first"] <= one["last"]
        for one in some
        for other in others
    )


def _searched(result: RunResult) -> list[dict[str, str]]:
    return bars_of(one for one in result.data.windows if not one.is_held_out)


def _looks(path: Path) -> list[dict[str, Any]]:
    try:
        with open_ordinary(path) as file:
            found = json.load(file)
    except FileNotFoundError:
        return []
    except (NoFileError, OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}): it counts looks, restore it") from None
    if not isinstance(found, list):
        raise StoreError(f"{path} is no list of looks: it counts them, restore it")
    return found
