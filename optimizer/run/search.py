"""A whole search without a record: repeated for its trials, on folds, or on null markets."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from data import Bars, Window, parts
from engine.batch import Engine
from engine.out_of_core import Group, evaluate_groups
from optimizer.run.markets import Markets
from optimizer.run.problem import (
    Answer,
    Asking,
    EngineProblem,
    Question,
    Trials,
    run_alone,
)
from optimizer.run.task import Task
from optimizer.search.evolution import list_neighbours, polish_front, stop_reason
from optimizer.search.generation import (
    Floats,
    Generation,
    Population,
    from_numbers,
    judged_population,
)

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class SearchOutcome:
    """Outcome of a search."""

    front: Population  # its members, by their numbers
    last: Generation  # the last generation
    evaluated: int  # individuals that it judged, polish included
    # All of them, each once; None where they do not fit memory or were not kept.
    trials: Trials | None


def search(
    task: Task, engine: Engine, warm_start: Floats | None = None, *, keeps_trials: bool = False
) -> SearchOutcome:
    """Search as a run does, to the same front, and write nothing.

    A limit of time is not heard; a search that it ended is repeated with the generations that it
    reached. The warm start [N, G] has genomes to begin with; `keeps_trials` keeps all that is
    judged.
    """
    problem = task.problem(engine)
    if keeps_trials:
        problem.keep_trials()
    return run_alone(search_again(task, problem, warm_start), engine)


def search_again(
    task: Task, problem: EngineProblem, warm_start: Floats | None
) -> Asking[SearchOutcome]:
    """Search as `search` does; its caller evaluates."""
    evaluated, walk = 0, task.search(problem, None, warm_start)
    while (genomes := walk.ask()) is not None:
        last = walk.tell((yield from problem.judge(genomes)))
        evaluated += last.evaluated
        # A lattice goes on until its last point in any case.
        if last.number >= task.config.generations or stop_reason(task.config, last, 0.0):
            break
    front, polished = yield from number_front(task, problem, last)
    return SearchOutcome(front, last, evaluated + polished, problem.trials())


def numbered_front(task: Task, problem: EngineProblem, last: Generation) -> tuple[Population, int]:
    """The polished front of a search, its members by their numbers, and what polishing judged."""
    return run_alone(number_front(task, problem, last), problem.engine)


def number_front(
    task: Task, problem: EngineProblem, last: Generation
) -> Asking[tuple[Population, int]]:
    """The front as `numbered_front` gives it; its caller evaluates."""
    at_most = task.polish_at_most(from_numbers(last.memory, problem.n_objectives).evaluated)
    genomes, lineage = list_neighbours(problem.layout, last, at_most)
    evaluation = yield from problem.judge(genomes)
    judged = judged_population(problem, genomes, lineage, evaluation)
    front = polish_front(last, judged, task.config.archive)
    # Certified in the order in which members are numbered, so that anybody can hash them again.
    return front.take(np.argsort(front.objectives[:, 0], kind="stable")), len(judged)


def on_other_bars(
    task: Task, series: Sequence[Bars], windows: Sequence[Window], **settings: object
) -> Task:
    """The same task on other bars, searched on in all windows.

    Windows [W] are of any role and not cut into parts yet. Series [S] without a window are left
    out, and bars behind a series' last window too. Settings are fields of the configuration that
    differ.
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


def on_searched_bars(task: Task, **settings: object) -> Task:
    """The same task on the bars that it searches, which end with its last window."""
    return on_other_bars(task, task.markets.series, task.markets.uncut, **settings)


def evaluate_together(
    engine: Engine,
    windows: Mapping[Key, Sequence[int]],
    questions: Mapping[Key, Question],
) -> list[Answer]:
    """Answers to searches in step, each with windows of its own, by number; unjudged."""
    groups = [
        Group(question.genomes, windows[key], question.pools) for key, question in questions.items()
    ]
    return [Answer(*answered) for answered in evaluate_groups(engine, groups)]


def engine_apart(tasks: Sequence[Task]) -> tuple[Engine, list[range]]:
    """One engine of tasks that differ in their bars alone, and the numbers of each one's windows.

    The series of each of several are apart from others': no other individual has their rows
    computed.
    """
    first, numbers = tasks[0], []
    series: list[Bars] = []
    windows: list[Window] = []
    for task in tasks:
        shifted = [
            replace(window, series=len(series) + window.series) for window in task.markets.windows
        ]
        numbers.append(range(len(windows), len(windows) + len(shifted)))
        windows += shifted
        series += task.markets.series
    if len(tasks) == 1:
        return first.engine(), numbers
    return first.make_engine(series, windows, apart=len(first.markets.series)), numbers
