"""Places that a record names: what of them is read, and that none is written to.

Of a run that was begun here, or is trusted, files are read where it names them. Of any other only
what lies in its own folder is read, the sample, and bars of a vendor from this user's own cache.
"""

from collections.abc import Collection, Iterator, Mapping

from data.shell import write_command
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.errors import ConfigError, StoreError
from optimizer.run.columns import kept_columns
from optimizer.run.identity import require_identity
from optimizer.run.recorded_code import strategy_file
from optimizer.run.trust import is_begun_here, may_read_files
from optimizer.store import RunStore
from strategy.model import Strategy

WITHOUT_FILE = ("sample", "polygon")
"""Sources that name no file: what ships, and a vendor's bars in this user's own cache."""

LIMITS = ("max_bytes", "memory")
"""Knobs that guard this machine, which its user alone may raise."""


def confine_places(
    store: RunStore, values: Mapping[str, object], flags: Collection[str]
) -> dict[str, object]:
    """Values of a recorded configuration without places that may not be read or written to.

    Args:
        store: The run.
        values: As recorded.
        flags: Names of values that a person gave instead.

    Raises:
        StoreError: When bars or a column would have to be read from a file that only the record
            names.
    """
    # Where the run is now: nothing is written to the folder of which it was recorded.
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
    """Refuse texts that no record can hold, such as a path whose bytes are no UTF-8.

    Args:
        config: Of a run.
        names: Of its settings that are to be recorded.
        others: Further values that are to be recorded, by what they are.

    Raises:
        ConfigError: Naming the text, and what it is.
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
    """What a record says of a strategy and where it stood, by what it is."""
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
    """Refuse to read individuals to begin with from a place that only a record names.

    Raises:
        StoreError: With what may be done.
    """
    if config.warm_start is None or require_identity(store).warm_start is None:
        return
    if "warm_start" not in flags and not may_read_files(store):
        raise StoreError(_not_read(store, "individuals", config.warm_start, "warm_start"))


def _refuse_files(store: RunStore, specs: object, knob: str = "data") -> None:
    for spec in specs if isinstance(specs, list) else [specs]:
        if str(spec).partition(":")[0] not in WITHOUT_FILE:
            # No advice to trust a run that cannot be built on at all.
            require_identity(store)
            raise StoreError(_not_read(store, "bars", str(spec), knob))


def _not_read(store: RunStore, what: str, path: str, knob: str) -> str:
    return (
        f"run '{store.run_id}' was not begun here, so its {what} are not read from where it says "
        f"({path}): name them with {format_flag(knob)}, or add --trust if you trust who made it "
        f"(`{write_command('runs', 'show', store.path)}` needs neither)"
    )
