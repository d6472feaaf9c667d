"""The search of a finished run that a judge repeats: its end, and what it began with."""

from dataclasses import replace

from optimizer.errors import ConfigError, StoreError
from optimizer.run.record import read_identity
from optimizer.run.tables import resume_command
from optimizer.run.task import Task
from optimizer.run.trust import require_warm_start
from optimizer.run.warm_start import hash_genomes, load_warm_start
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.result import RunResult, load_result

BY_RULE = ("plateau", "max_evaluations")
"""Rules that end a search by its findings; on other bars that may be sooner or later."""


def restore_stop_rule(task: Task, whole: Task, store: RunStore, result: RunResult) -> Task:
    """A task that ends as the run was asked to end: where a rule ended it, by that rule.

    What ended it by time ends with the generations that it reached.
    """
    if result.stopped_by not in BY_RULE:
        return task
    planned = max(store.planned or whole.config.generations, result.generation)
    changed = {"generations": planned, "plateau": whole.config.plateau}
    return replace(task, config=task.config.model_copy(update=changed))


def require_finished(store: RunStore) -> RunResult:
    """The result of a run, refused with how to go on with it while there is none."""
    result = load_result(store)
    if result is None:
        raise StoreError(
            f"run '{store.run_id}' is not finished: go on with {resume_command(store.path)}"
        )
    return result


def require_start(store: RunStore, task: Task) -> Floats | None:
    """The genomes that the run began with, which have to be there still."""
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
