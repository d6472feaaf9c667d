"""Places that a record names: what of them is read, and that none is written to.

Of a run that was begun here, or is trusted, files are read where it names them. Of any other only
what lies in its own folder is read, the sample, and bars of a vendor from this user's own cache.
"""

from collections.abc import Collection, Mapping

from data.shell import write_command
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.errors import StoreError
from optimizer.run.columns import kept_columns
from optimizer.run.identity import require_identity
from optimizer.run.trust import is_begun_here, may_read_files
from optimizer.store import RunStore

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
