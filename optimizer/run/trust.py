"""Trust of this user, by digest: runs begun here, and code; and what of any other run may be read.

A record is data that anybody may have written. Of a run begun elsewhere no named file is read and
no code is run, until a person has allowed it for just these digests in one file of the user's own.
Until then only its own folder is read, the sample, and bars of a vendor from this user's own cache.
No value of a record names a file that is run: a strategy is data, and functions of a person's own
are made of the text that the record holds.
"""

import hashlib
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import overload

from platformdirs import user_data_path

from data.files import open_ordinary, read_ordinary, taking_turns
from data.providers.source_file import HEAD_BYTES
from data.shell import write_command
from data.table import LARGEST_SOURCE_BYTES
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.run.markets import parse_column_file
from optimizer.run.record import (
    StrategyFile,
    different_lines,
    read_identity,
    recorded_file,
    strategy_file,
)
from optimizer.store import RunStore, find_run
from optimizer.store.files import COLUMN_FOLDER
from optimizer.store.store import ONCE
from strategy import STRATEGIES, find_strategy
from strategy.custom_indicator import OwnIndicator
from strategy.files import build_strategies, first_difference, read_strategy_text
from strategy.model import Strategy, from_described
from strategy.rules import is_file

log = logging.getLogger(__name__)

APP, FILE = "exhaustion-optimizer", "trusted.txt"

BEGUN, TRUSTED, CODE = "begun", "run", "code"
"""First words of a line: a run that was begun here, one that is trusted, and the text of a file."""

MOST_RUNS = 20_000
"""Runs that are remembered, the newest; one that was forgotten is trusted anew by `--trust`."""

LARGEST_BYTES = 100_000_000

HEAD = "# Runs that were begun here, and runs and code that are trusted: remove a line to revoke it"

_SESSION: dict[str, None] = {}
"""Lines of this process itself, wherever they can be written."""

WITHOUT_FILE = ("sample", "polygon")
"""Sources that name no file: what ships, and a vendor's bars in this user's own cache."""

LIMITS = ("max_bytes", "memory")
"""Knobs that guard this machine, which its user alone may raise."""


def trust_file() -> Path:
    """File that remembers."""
    return Path(user_data_path(APP)) / FILE


def is_begun_here(store: RunStore) -> bool:
    """True if this user began a run on this machine: its header holds settings from here."""
    return _is_known(_line_of_run(BEGUN, store.payload))


def may_read_files(store: RunStore) -> bool:
    """True if files that a run names may be read: it was begun here, or is trusted."""
    return is_begun_here(store) or _is_known(_line_of_run(TRUSTED, store.payload))


def may_run_code(text: str) -> bool:
    """True if the text of a strategy's file may be run."""
    return _is_known(_line_of_code(text))


def remember_begun(header: bytes, code: str | None) -> None:
    """Remember a run that is begun here, and the text of the strategy's file that it has run.

    `header` is as it will be recorded: a run that is killed as soon as it can be seen is known.
    """
    _remember(_line_of_run(BEGUN, header), code)


def remember_trusted(store: RunStore, code: str | None) -> None:
    """Remember that a person trusts a run, and the text of the strategy's file that it holds."""
    _remember(_line_of_run(TRUSTED, store.payload), code)


def _line_of_run(word: str, header: bytes) -> str:
    """Line about the header of a run, which never changes."""
    return f"{word} {hashlib.sha256(header).hexdigest()}"


def _line_of_code(text: str) -> str:
    return f"{CODE} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _is_known(line: str) -> bool:
    return line in _SESSION or line in _read_lines()


def _remember(line: str, code: str | None) -> None:
    """Add new digests; where the file cannot be written, this process alone remembers it."""
    lines = [line] if code is None else [line, _line_of_code(code)]
    _SESSION.update(dict.fromkeys(lines))
    file = trust_file()
    try:
        with taking_turns(file.parent):
            known = _read_lines()
            if not all(digest in known for digest in lines):
                kept = _newest_lines([*known, *(digest for digest in lines if digest not in known)])
                write_whole(file, "\n".join((HEAD, *kept, "")), may_follow=False)
    except (OSError, OptimizerError) as error:
        log.info("what is trusted could not be written down for later commands (%s)", error)


def _newest_lines(lines: list[str]) -> list[str]:
    """Lines about all code, and about the newest runs."""
    runs = [line for line in lines if not line.startswith(CODE)]
    forgotten = set(runs[: max(len(runs) - MOST_RUNS, 0)])
    return [line for line in lines if line not in forgotten]


def _read_lines() -> dict[str, None]:
    """Lines that were written down, oldest first; none where the file is none."""
    try:
        with open_ordinary(trust_file()) as file:
            text = file.read(LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    return dict.fromkeys(line for line in text.splitlines() if not line.startswith("#"))


@overload
def find_trusted(name: str | Path, runs: Path, *, trust: bool) -> Path: ...
@overload
def find_trusted(name: str | Path | None, runs: Path, *, trust: bool) -> Path | None: ...
def find_trusted(name: str | Path | None, runs: Path, *, trust: bool) -> Path | None:
    """Folder of a run, which is trusted from now on with `trust`; None where none is named."""
    if name is None:
        if trust:
            raise ConfigError("--trust is about a recorded run: name one, or leave it out")
        return None
    path = find_run(runs, str(name))
    if trust:
        trust_run(path)
    return path


def trust_run(path: Path) -> None:
    """Remember that a person trusts a run: files that it names, and Python that it holds."""
    with RunStore.open(path) as store:
        file = recorded_file(store)
        remember_trusted(store, file.python if file else None)


def restore_strategies(
    store: RunStore, flags: Collection[str], *, reads_file: bool
) -> tuple[Strategy | None, Strategy | None]:
    """Strategy of a run with its bounds as recorded, and else the one that is published.

    Published is the strategy of its name, or of a run that was begun here its file, which is read
    with `reads_file` also after a change. Both are None where `flags` name another strategy.
    StoreError when it reads functions of a person's own that are not trusted or have changed, or no
    strategy here has its name.
    """
    edited = _find_edited(store) if reads_file else None
    if reads_file and "strategy" in flags:
        return None, None
    if edited is not None:
        return None, find_strategy(edited)
    name, file = str(store.header.get("strategy")), recorded_file(store)
    described = read_identity(store).strategy
    if file is None and name in STRATEGIES:
        return None, STRATEGIES[name]
    own = _own_indicators(store, file, name) if file is not None and file.python else {}
    return from_described(described, name, "" if file is None else file.summary, own), None


def _find_edited(store: RunStore) -> str | None:
    """Address of the strategy of a run that was begun here, in its file if that has changed.

    StoreError when it has functions of a person's own, with the first line that differs.
    """
    command = store.header.get("command")
    named = str(command.get("strategy")) if isinstance(command, dict) else ""
    file = recorded_file(store) if is_file(named) and is_begun_here(store) else None
    if file is None or file.place is None:
        return None
    try:
        differs = first_difference(file.text, read_strategy_text(file.place))
    except (OSError, UnicodeDecodeError):
        return None
    if differs is None:
        return None
    if file.has_functions:
        raise _changed_error(store, file.path, differs)
    name = named.removesuffix(".py").rpartition(".py:")[2] if ".py:" in named else ""
    return f"{file.place}:{name}" if name else str(file.place)


def require_same_file(store: RunStore, spec: Strategy) -> None:
    """Refuse to go on with another strategy, or with own functions of another text.

    StoreError with the first line of the file that differs, and each value.
    """
    recorded, now = recorded_file(store), strategy_file(spec)
    if recorded is None or now is None:
        return
    before = read_identity(store).strategy
    values = different_lines(before, spec.described, prefix=("strategy",))
    differs = first_difference(recorded.text, now.text)
    if differs is not None and (values or now.has_functions):
        raise _changed_error(store, now.path, differs, values)


def _changed_error(
    store: RunStore, path: str, differs: str, values: tuple[str, ...] = ()
) -> StoreError:
    lines = "".join(f"\n  {line}" for line in values)
    return StoreError(
        f"run '{store.run_id}': {path} has changed, {differs}{lines}\n"
        "  undo the change, or start a new run"
    )


def _own_indicators(store: RunStore, file: StrategyFile, name: str) -> dict[str, OwnIndicator]:
    """A person's own indicators by name, of the text that the run recorded."""
    if not may_run_code(file.text):
        raise StoreError(
            f"run '{store.run_id}' holds Python of {file.path}, which can do all that you can and "
            "runs only once you trust it: read it with "
            f"`{write_command('runs', 'source', store.path)}`, then add --trust"
        )
    made = build_strategies(file.text, file.path).values()
    # Two strategies of a file may each have an indicator of the same name.
    named = [strategy for strategy in made if strategy.name == name]
    return {own: kind for strategy in named or made for own, kind in strategy.own.items()}


def confine_places(
    store: RunStore, values: Mapping[str, object], flags: Collection[str]
) -> dict[str, object]:
    """Values of a recorded configuration without places that may not be read or written to.

    `flags` are names of values that a person gave instead. StoreError when bars or a column would
    have to be read from a file that only the record names.
    """
    # The run's present place: nothing is written to the recorded folder.
    confined = {**values, "runs": str(store.path.parent)}
    if not is_begun_here(store):
        confined["cache"] = None
    may_read = may_read_files(store)
    if not may_read:
        confined = {name: value for name, value in confined.items() if name not in LIMITS}
        if "data" not in flags:
            _refuse_files(store, confined.get("data"))
        if "finer" not in flags:
            _refuse_files(store, confined.get("finer", []), "finer")
    if isinstance(files := confined.get("column_file"), list) and "column_file" not in flags:
        confined["column_file"] = kept_columns(files, store.path, may_read=may_read)
    return confined


def require_text(config: RunConfig, names: Collection[str], others: Mapping[str, object]) -> None:
    """Refuse texts that no record can hold, such as a path that is no UTF-8, naming them.

    `names` are settings of a run that are to be recorded, `others` further values by their names.
    """
    chosen = config.model_dump(include=set(names)).items()
    texts = {format_flag(name): value for name, value in chosen}
    for what, value in {**texts, **others}.items():
        for text in _list_texts(value):
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ConfigError(
                    f"{what} {text!r} is no text in UTF-8, and a record holds no other: give it "
                    "another name"
                ) from None


def list_strategy_texts(spec: Strategy) -> dict[str, object]:
    """Texts of a record on a strategy and its place, by name."""
    file = strategy_file(spec)
    places = {} if file is None else {"its file": file.path, "the working folder": file.folder}
    return {"the strategy's text": [spec.name, spec.summary, spec.described], **places}


def _list_texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _list_texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _list_texts(held)
    elif isinstance(value, str):
        yield value


def require_warm_start(store: RunStore, config: RunConfig, flags: Collection[str] = ()) -> None:
    """Refuse to read individuals to begin with from a place that only a record names."""
    if config.warm_start is None or read_identity(store).warm_start is None:
        return
    if "warm_start" not in flags and not may_read_files(store):
        raise StoreError(_not_read(store, "individuals", config.warm_start, "warm_start"))


def _refuse_files(store: RunStore, specs: object, knob: str = "data") -> None:
    for spec in specs if isinstance(specs, list) else [specs]:
        if str(spec).partition(":")[0] not in WITHOUT_FILE:
            # No advice to trust a run that cannot be built on at all.
            read_identity(store)
            raise StoreError(_not_read(store, "bars", str(spec), knob))


def _not_read(store: RunStore, what: str, path: str, knob: str) -> str:
    return (
        f"run '{store.run_id}' was not begun here, so its {what} are not read from where it says "
        f"({path}): name them with {format_flag(knob)}, or add --trust if you trust who made it "
        f"(`{write_command('runs', 'show', store.path)}` needs neither)"
    )


def keep_columns(files: Sequence[str], run: Path) -> None:
    """Copy column files that a run has not yet into its directory, to go with it."""
    for name, path, _ in map(parse_column_file, files):
        copy = _copy(run, name, path)
        if not copy.exists():
            (run / COLUMN_FOLDER).mkdir(exist_ok=True)
            write_whole(copy, _content(Path(path)), may_follow=False)


def lacks_columns(files: Sequence[str], run: Path) -> bool:
    """True if a run has no copy of a column file that still lies in its place."""
    named = [
        (_copy(run, name, path), Path(path)) for name, path, _ in map(parse_column_file, files)
    ]
    return any(path.is_file() and not copy.exists() for copy, path in named)


def kept_columns(files: Sequence[str], run: Path, *, may_read: bool) -> list[str]:
    """Column files of a run: the named ones while unchanged, else its copies.

    With `may_read` a file that the record names may be read; else copies alone are. StoreError when
    both are gone.
    """
    column_files = []
    for text in files:
        name, path, _ = parse_column_file(text)
        copy = _copy(run, name, path)
        if not may_read:
            column_files.append(
                text.replace(f"{name}={path}", f"{name}={_own_copy(copy, name)}", 1)
            )
            continue
        if not copy.exists() and not Path(path).exists():
            raise StoreError(
                f"column '{name}': {path} is gone, and so is the run's own copy {copy}; put it "
                f"back, or name another with --column-file {name}=FILE"
            )
        if not copy.is_file() or _is_same(Path(path), copy):
            column_files.append(text)
            continue
        note = f"column '{name}': {path} is not what it was; the run's own copy is read"
        log.info(note, extra=ONCE)
        column_files.append(text.replace(f"{name}={path}", f"{name}={copy}", 1))
    return column_files


def _copy(run: Path, name: str, path: str) -> Path:
    folder = run / COLUMN_FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is a link or no folder, and is not followed: move it away")
    return folder / f"{name}{Path(path).suffix}"


def _own_copy(copy: Path, name: str) -> Path:
    """A run's own copy of a column file, which has to be a plain file of its folder."""
    if copy.is_symlink() or not copy.is_file():
        raise StoreError(
            f"column '{name}': the run has no copy {copy} of its own, and was not begun here, so "
            f"no other file is read: name one with --column-file {name}=FILE, or add --trust"
        )
    return copy


def _is_same(path: Path, copy: Path) -> bool:
    try:
        content = _content(copy)
    except OSError as error:
        raise StoreError(
            f"{copy} cannot be read ({error.strerror}): delete it, and {path} is read while it is "
            "what it was"
        ) from None
    with suppress(OSError):
        return _content(path) == content
    return False


def _content(path: Path) -> bytes:
    return read_ordinary(path, LARGEST_SOURCE_BYTES + HEAD_BYTES)
