"""A whole search without a record: repeated for its trials, on folds, or on null markets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from data import Bars, Window, parts
from engine.batch import Engine
from optimizer.run.markets import Markets
from optimizer.run.problem import EngineProblem, Trials
from optimizer.run.task import Task
from optimizer.search.generation import Floats, Generation, Population
from optimizer.search.memory import from_numbers
from optimizer.search.polish import polished_front
from optimizer.search.stopping import stop_reason


@dataclass(frozen=True)
class SearchOutcome:
    """Outcome of a search.

    Args:
        front: Its members, by their numbers.
        last: The last generation.
        evaluated: Individuals that it judged, polish included.
        trials: All of them, each once; None where they do not fit memory or were not asked for.
    """

    front: Population
    last: Generation
    evaluated: int
    trials: Trials | None


def search(
    task: Task, engine: Engine, warm_start: Floats | None = None, *, keeps_trials: bool = False
) -> SearchOutcome:
    """Search as a run does, to the same front, and write nothing.

    Args:
        task: A limit of time is not heard; a search that it ended is repeated with the generations
            that it reached.
        engine: The task's.
        warm_start: [N, G] genomes to begin with.
        keeps_trials: Whether all that is judged is kept.
    """
    problem = task.problem(engine)
    if keeps_trials:
        problem.keep_trials()
    evaluated = 0
    for last in task.generations(problem, None, warm_start):
        evaluated += last.evaluated
        # A lattice goes on until its last point, whatever is asked for.
        if last.number >= task.config.generations or stop_reason(task.config, last, 0.0):
            break
    front, polished = numbered_front(task, problem, last)
    return SearchOutcome(front, last, evaluated + polished, problem.trials())


def numbered_front(task: Task, problem: EngineProblem, last: Generation) -> tuple[Population, int]:
    """The polished front of a search, its members by their numbers, and what polishing judged."""
    at_most = task.polish_at_most(from_numbers(last.memory, problem.n_objectives).evaluated)
    front, polished = polished_front(problem, last, at_most=at_most, keep=task.config.archive)
    # Certified in the order in which members are numbered, so that anybody can hash them again.
    return front.take(np.argsort(front.objectives[:, 0], kind="stable")), polished


def on_other_bars(
    task: Task, series: Sequence[Bars], windows: Sequence[Window], **settings: object
) -> Task:
    """The same task on other bars, all of whose windows are searched on.

    Args:
        task: The original one.
        series: [S] that windows refer to; those without a window are left out, and bars behind a
            series' last window too.
        windows: [W], of any role and not cut into parts yet.
        settings: Fields of the configuration that differ.
    """
    used = sorted({window.series for window in windows})
    ends = {s: max(window.end for window in windows if window.series == s) for s in used}
    searched = [
        replace(window, series=used.index(window.series), role="search") for window in windows
    ]
    markets = Markets(
        tuple(series[s].until(ends[s]) for s in used), parts(searched, task.config.parts)
    )
    config = task.config.model_copy(update={"max_seconds": None, **settings})
    goals = replace(task.goals, min_trades=config.min_trades)
    return replace(task, config=config, markets=markets, goals=goals)
