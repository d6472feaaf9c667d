"""The strategy of a run, read from its record; what of it is Python runs only where it is trusted.

No value of a record names a file that is run. A strategy is data. Functions of a person's
own are made of the text that the record holds, once that text is trusted by its digest.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from data.shell import write_command
from optimizer.errors import StoreError
from optimizer.run.identity import different_lines, require_identity
from optimizer.run.trust import (
    is_begun_here,
    may_run_code,
    remember_begun,
    remember_trusted,
)
from optimizer.store import RunStore
from optimizer.store.payload import Payload
from strategy import STRATEGIES
from strategy.custom_indicator import OwnIndicator
from strategy.deserialize import from_described
from strategy.errors import unknown
from strategy.files import build_strategies, first_difference, read_strategy_text
from strategy.model import Strategy
from strategy.rules import is_file
from strategy.source_location import StrategySource


@dataclass(frozen=True)
class StrategyFile(StrategySource, Payload):
    """The file that a strategy came from, as it was when a run began."""

    what: ClassVar[str] = "the strategy's file"
    is_exact: ClassVar[bool] = True

    summary: str = ""  # of the strategy
    folder: str = ""  # from which the run began; former versions do not say

    @property
    def place(self) -> Path | None:
        """Where the file was and is, to be asked of a run that was begun here alone."""
        where = Path(self.folder) / self.path
        return where if self.folder and where.is_file() else None


def strategy_file(spec: Strategy) -> StrategyFile | None:
    """The file that a strategy came from; None of one that came from elsewhere."""
    source = spec.source
    if source is None:
        return None
    return StrategyFile(**asdict(source), summary=spec.summary, folder=str(Path.cwd()))


def recorded_file(store: RunStore) -> StrategyFile | None:
    """The file that the strategy of a run came from; None of one that came from elsewhere."""
    recorded = store.header.get("strategy_file")
    return None if recorded is None else StrategyFile.read(recorded)


def trust_begun(spec: Strategy, header: bytes) -> None:
    """Remember that a run is begun here, where its strategy's file has run already."""
    remember_begun(header, _own_python(strategy_file(spec)))


def trust_run(path: Path) -> None:
    """Remember that a person trusts a run: the files that it names, and the Python that it holds.

    Raises:
        StoreError: When it is no run.
    """
    with RunStore.open(path) as store:
        remember_trusted(store, _own_python(recorded_file(store)))


def recorded_strategy(store: RunStore) -> Strategy | None:
    """The strategy of a run, with its bounds, as the run recorded it.

    None of one that is known by its name, for which see `published_strategy`.

    Raises:
        StoreError: When it reads functions of a person's own that are not trusted.
    """
    described, name = require_identity(store).strategy, _recorded_name(store)
    file = recorded_file(store)
    if file is None and name in STRATEGIES:
        return None
    indicators = _own_indicators(store, file) if file is not None and file.has_functions else {}
    summary = "" if file is None else file.summary
    return from_described(described, name, summary, indicators)


def published_strategy(store: RunStore) -> Strategy:
    """The strategy whose name a run recorded, never one of a file.

    Raises:
        StoreError: When no strategy here has that name.
    """
    name = _recorded_name(store)
    if name not in STRATEGIES:
        raise StoreError(f"run '{store.run_id}': {unknown('strategy', name, list(STRATEGIES))}")
    return STRATEGIES[name]


def changed_file(store: RunStore) -> Path | None:
    """The file of a run that was begun here, where a person has changed it since; else None.

    Raises:
        StoreError: When it has functions of a person's own, with the first line that differs.
    """
    is_named = is_file(_named_strategy(store)) and is_begun_here(store)
    file = recorded_file(store) if is_named else None
    path = None if file is None else file.place
    if file is None or path is None:
        return None
    try:
        differs = first_difference(file.text, read_strategy_text(path))
    except (OSError, UnicodeDecodeError):
        return None
    if differs is not None and file.has_functions:
        raise _changed_error(store, file.path, differs)
    return None if differs is None else path


def require_same_file(store: RunStore, spec: Strategy) -> None:
    """Refuse to go on with another strategy, or one whose own functions stand in another text.

    Raises:
        StoreError: With the first line of the file that differs, and each value.
    """
    recorded, now = recorded_file(store), strategy_file(spec)
    if recorded is None or now is None:
        return
    before = require_identity(store).strategy
    values = different_lines(before, spec.described, prefix=("strategy",))
    differs = first_difference(recorded.text, now.text)
    if differs is not None and (values or now.has_functions):
        raise _changed_error(store, now.path, differs, values)


def format_strategy_address(store: RunStore, file: Path) -> str:
    """Address of the strategy of a run that was begun here, in its file."""
    named = _named_strategy(store)
    name = named.removesuffix(".py").rpartition(".py:")[2] if ".py:" in named else ""
    return f"{file}:{name}" if name else str(file)


def _changed_error(
    store: RunStore, path: str, differs: str, values: tuple[str, ...] = ()
) -> StoreError:
    lines = "".join(f"\n  {line}" for line in values)
    return StoreError(
        f"run '{store.run_id}': {path} has changed, {differs}{lines}\n"
        "  undo the change, or start a new run"
    )


def _recorded_name(store: RunStore) -> str:
    return str(store.header.get("strategy"))


def _named_strategy(store: RunStore) -> str:
    """Strategy that a run was asked for, a name or a file."""
    command = store.header.get("command")
    return str(command.get("strategy")) if isinstance(command, dict) else ""


def _own_python(file: StrategyFile | None) -> str | None:
    """Text of a strategy's file whose functions it reads; None without such."""
    return file.text if file is not None and file.has_functions else None


def _own_indicators(store: RunStore, file: StrategyFile) -> dict[str, OwnIndicator]:
    """A person's own indicators by name, of the text that the run recorded."""
    if not may_run_code(file.text):
        raise StoreError(
            f"run '{store.run_id}' holds Python of {file.path}, which can do all that you can and "
            "runs only once you trust it: read it with "
            f"`{write_command('runs', 'source', store.path)}`, then add --trust"
        )
    made = build_strategies(file.text, file.path).values()
    # Two strategies of a file may each have an indicator of the same name.
    named = [strategy for strategy in made if strategy.name == _recorded_name(store)]
    return {name: kind for strategy in named or made for name, kind in strategy.own.items()}
