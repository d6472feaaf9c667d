"""The run store: the record of a search on disk, able to go on after any interruption."""

from optimizer.store.listing import (
    RunSummary,
    delete_run,
    find_run,
    list_foreign_files,
    list_run_files,
    list_runs,
    new_run_id,
    run_path,
    validate_run_id,
)
from optimizer.store.log_file import estimate_bytes, require_space
from optimizer.store.rows import GenerationSummary
from optimizer.store.store import RunStore

__all__ = [
    "GenerationSummary",
    "RunStore",
    "RunSummary",
    "delete_run",
    "estimate_bytes",
    "find_run",
    "list_foreign_files",
    "list_run_files",
    "list_runs",
    "new_run_id",
    "require_space",
    "run_path",
    "validate_run_id",
]
