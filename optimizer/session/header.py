"""What a run's record says of its circumstances, and its task taken up again."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from engine.machine import available_cores, versions
from optimizer.config.run_config import RunConfig, make_config, overlaid
from optimizer.errors import StoreError
from optimizer.runs import RunStore, is_in_run
from optimizer.runs.payload import Payload
from optimizer.search.generation import Floats
from optimizer.session.columns import (
    FITS,
    HASHES,
    column_hashes,
    fits_of,
    kept_columns,
    require_same_columns,
    tell_changed_columns,
)
from optimizer.session.exported import newest_front
from optimizer.session.identity import (
    Identity,
    different_lines,
    identity_of,
    require_identity,
    require_same,
)
from optimizer.session.recorded_rows import reading_recorded
from optimizer.session.task import Task, prepare
from strategy import STRATEGIES
from strategy.clock import zone_version
from strategy.files import first_difference, path_of, strategies_of, text_of
from strategy.narrow import AnyStrategy, at_its_narrowest, in_words
from strategy.own import OwnIndicator
from strategy.places import Source
from strategy.recorded import from_described
from strategy.rules import is_file

OPENED = "opened"
"""Name of the evidence that held-out bars were looked at."""


@dataclass(frozen=True)
class StrategyFile(Source, Payload):
    """The file that a strategy came from, as it was when a run began.

    Args:
        summary: Of the strategy.
        folder: From which the run began; former versions do not say.
    """

    what: ClassVar[str] = "the strategy's file"

    summary: str = ""
    folder: str = ""

    @property
    def place(self) -> Path | None:
        """Where the file is now: from where the run began, else from here; None: gone.

        Never in the folder of a run: that came with a record, and no code of a record is run.
        """
        places = (Path(self.folder) / self.path, Path(self.path))
        return next((one for one in places if one.is_file() and not is_in_run(one)), None)


def header_of(task: Task, device: str, identity: Identity) -> dict[str, object]:
    """What a run record keeps of its circumstances; only the identity decides its results."""
    config, markets, strategy = task.config, task.markets, identity.strategy
    file = _file_of(task.spec)
    return {
        "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "identity": identity.as_dict(),
        "command": config.model_dump(mode="json"),
        "strategy": task.spec.name,
        "strategy_file": file and file.payload(),
        **({FITS: fits} if (fits := fits_of(task.spec, config.column_file)) else {}),
        **({HASHES: hashes} if (hashes := column_hashes(markets.series)) else {}),
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
            **({"zones": zones} if (zones := _zones_of(task.spec)) else {}),
        },
    }


def recorded_strategy(store: RunStore) -> AnyStrategy | None:
    """The strategy in words of a run, as the run recorded it; None of one that is known by name.

    No code of a record is run: functions of a person's own are taken from their file, which has to
    be what it was.

    Raises:
        StoreError: When the strategy has such functions, and their file is gone or another.
    """
    described, name = require_identity(store).strategy, str(store.header.get("strategy"))
    file = _recorded_file(store)
    if "long" not in described or (file is None and name in STRATEGIES):
        return None
    own = _own_indicators(store, file) if file is not None and file.has_functions else {}
    summary = "" if file is None else file.summary
    return at_its_narrowest(from_described(described, name, summary, own))


def strategy_to_go_on_with(store: RunStore) -> AnyStrategy | None:
    """The strategy that a run recorded, where its file is gone; None where it is read again."""
    file, command = _recorded_file(store), store.header.get("command")
    is_named = isinstance(command, dict) and is_file(str(command.get("strategy")))
    is_there = is_named and file is not None and file.place is not None
    return None if is_there else recorded_strategy(store)


def require_same_file(store: RunStore, spec: AnyStrategy) -> None:
    """Refuse to go on with another strategy, or one whose own functions stand in another text.

    Raises:
        StoreError: With the first line of the file that differs, and each value.
    """
    recorded, now = _recorded_file(store), _file_of(spec)
    if recorded is None or now is None:
        return
    before = require_identity(store).strategy
    values = different_lines(before, spec.described, place=("strategy",))
    differs = first_difference(recorded.text, now.text)
    if differs is not None and (values or now.has_functions):
        lines = "".join(f"\n  {line}" for line in values)
        raise StoreError(
            f"run '{store.run_id}': {now.path} has changed, {differs}{lines}\n"
            "  undo the change, or start a new run"
        )


def _file_of(spec: AnyStrategy) -> StrategyFile | None:
    """The file that a strategy came from; None of one that came from elsewhere."""
    origin = in_words(spec)
    source = None if origin is None else origin.source
    if source is None:
        return None
    return StrategyFile(**asdict(source), summary=spec.summary, folder=str(Path.cwd()))


def _recorded_file(store: RunStore) -> StrategyFile | None:
    """The file that the strategy of a run came from; None of one that came from elsewhere."""
    recorded = store.header.get("strategy_file")
    return None if recorded is None else StrategyFile.read(recorded)


def _zones_of(spec: AnyStrategy) -> dict[str, str]:
    """Versions of the zones whose time a strategy reads."""
    origin = in_words(spec)
    return {name: zone_version(name) for name in (origin.zones if origin else ())}


def _own_indicators(store: RunStore, file: StrategyFile) -> dict[str, OwnIndicator]:
    """A person's own indicators by name, from their file as it was."""
    run_id, path, place = store.run_id, file.path, file.place
    how = f"python -m optimizer runs source {shlex.quote(str(store.path))}"
    if place is None:
        raise StoreError(
            f"run '{run_id}' needs functions of {path}, which is not here, or in the folder of a "
            f"run, whose code is not run; `{how}` prints its text"
        )
    try:
        text = text_of(place)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"run '{run_id}' needs functions of {path}, which cannot be read ({error}); `{how}` "
            "prints its text"
        ) from None
    differs = first_difference(file.text, text)
    if differs is not None:
        raise StoreError(
            f"run '{run_id}' needs {path} as it was, it has changed, {differs}; `{how}` prints "
            "its text"
        )
    made = strategies_of(text, path).values()
    # Two strategies of a file may each have an indicator of the same name.
    named = [one for one in made if one.name == store.header.get("strategy")]
    return {name: kind for one in named or made for name, kind in one.own.items()}


def changed_circumstances(
    recorded: Mapping[str, object], present: Mapping[str, object]
) -> tuple[str, ...]:
    """A line for each knob, library or device that differs between two headers."""
    names = ("command", "device", "versions")
    old, new = ({name: header.get(name) for name in names} for header in (recorded, present))
    return different_lines(old, new)


def recorded_config(store: RunStore, flags: Mapping[str, object]) -> RunConfig:
    """What a run was asked to do, with flags in it.

    A knob that is no longer there is left out, and missing in the identity if it decided
    anything.

    Raises:
        StoreError: When the run does not say.
        ConfigError: When a value is wrong.
    """
    recorded = store.header.get("command")
    if not isinstance(recorded, dict):
        raise StoreError(f"run '{store.run_id}' does not say what it was asked to do")
    known = {name: value for name, value in recorded.items() if name in RunConfig.model_fields}
    if isinstance(threads := known.get("threads"), int) and threads > available_cores():
        # Another machine may have had more, and it decides nothing.
        known["threads"] = None
    file = _recorded_file(store)
    if file is not None and file.place is not None:
        path = Path(file.path)
        # Said as it was given where that is the same file, so that nothing seems to have changed.
        if not (path.is_file() and path.samefile(file.place)):
            known["strategy"] = str(known["strategy"]).replace(file.path, str(file.place), 1)
    is_read = file is None or file.place is not None
    if is_read and is_in_run(path_of(str(known.get("strategy", "")))):
        raise StoreError(
            f"run '{store.run_id}' says that its strategy is a file in the folder of a run, whose "
            "code is not run"
        )
    if isinstance(files := known.get("column_file"), list) and "column_file" not in flags:
        known["column_file"] = kept_columns(files, store.path)
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
    """What may be shown of a recorded run: bars that it held out only once they were opened."""
    task = recorded_task(store, flags)
    return task if is_opened(store) else task.closed


def is_opened(store: RunStore) -> bool:
    """Whether somebody has looked at the bars that a run held out."""
    return any(name == OPENED for name, _ in store.evidence)


def recorded_task(store: RunStore, flags: Mapping[str, object]) -> Task:
    """What a recorded run was asked to do, with all of its bars.

    Raises:
        StoreError: When individuals would not be judged as they were then, naming what differs.
    """
    recorded = require_identity(store)
    # Where it is now, whatever folder of runs it was begun in.
    config = recorded_config(store, flags).model_copy(update={"runs": str(store.path.parent)})
    task = replayed(store, config)
    tell_changed_columns(store, task.markets.series)
    require_same(store.run_id, recorded, identity_of(task, None), only_values=True)
    return task


def replayed(store: RunStore, config: RunConfig) -> Task:
    """What a configuration asks for with the strategy of a run, and the rows that it recorded."""
    task = prepare(config, known=recorded_strategy(store))
    return replace(task, spec=reading_recorded(task.spec, store))
