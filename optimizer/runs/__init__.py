"""The run store: what a search finds, on disk, able to go on after any interruption."""

from optimizer.runs.listing import (
    RunSummary,
    find_run,
    is_in_run,
    list_runs,
    new_run_id,
    run_path,
    summarise,
    validate_run_id,
)
from optimizer.runs.repair import delete_run
from optimizer.runs.rows import GenerationSummary
from optimizer.runs.space import Keep, estimate_bytes, free_bytes, require_space
from optimizer.runs.store import RunStore

__all__ = [
    "GenerationSummary",
    "Keep",
    "RunStore",
    "RunSummary",
    "delete_run",
    "estimate_bytes",
    "find_run",
    "free_bytes",
    "is_in_run",
    "list_runs",
    "new_run_id",
    "require_space",
    "run_path",
    "summarise",
    "validate_run_id",
]
