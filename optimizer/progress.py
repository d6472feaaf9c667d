"""How a search stands after each generation, for whoever watches it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.generation import Generation
from optimizer.task import Task


@dataclass(frozen=True)
class Progress:
    """How a search stands after a generation.

    Args:
        generation: Its number.
        generations: Number of the last one planned.
        individuals: Survivors.
        evaluated: Individuals sent to the engine so far, by this process.
        feasible: Share of the survivors that are feasible.
        front: Members of the front.
        hypervolume: What the best compromises so far dominate, as `Generation` says.
        best: Best value of each objective in the front, in its natural sign; NaN without one.
        rejected: Failure to how many of this generation's newcomers had it.
        individual_bars_per_s: Rate of this process so far.
        seconds: Since the search began in this process.
        since: Number of the generation that this process went on from, 0 at the beginning.
    """

    generation: int
    generations: int
    individuals: int
    evaluated: int
    feasible: float
    front: int
    hypervolume: float
    best: tuple[float, ...]
    rejected: Mapping[str, int]
    individual_bars_per_s: float
    seconds: float
    since: int = 0

    @property
    def eta_s(self) -> float:
        """Seconds left at the present rate; 0 at the end, NaN before there is a rate."""
        done, left = self.generation - self.since, max(self.generations - self.generation, 0)
        # The initial generation compiles and computes all rows; it says nothing about the others.
        return self.seconds / done * left if done else math.nan if left else 0.0


def progress_of(
    task: Task, generation: Generation, evaluated: int, seconds: float, since: int
) -> Progress:
    """How a search stands after a generation.

    Args:
        task: What is searched.
        generation: The newest.
        evaluated: Individuals sent to the engine so far.
        seconds: Since the search began.
        since: Number of the generation that it went on from.
    """
    population, found = generation.population, generation.archive
    natural = task.goals.natural(found.objectives)
    signs = np.array(task.goals.maximised)
    best = np.full(len(signs), np.nan)
    if len(found):
        best = np.where(signs, natural.max(axis=0), natural.min(axis=0))
    return Progress(
        generation=generation.number,
        generations=task.config.generations,
        individuals=len(population),
        evaluated=evaluated,
        feasible=float((population.violations == 0).mean()),
        front=len(found),
        hypervolume=generation.hypervolume,
        best=tuple(best.tolist()),
        rejected=generation.rejected,
        individual_bars_per_s=evaluated * task.markets.n_bars / seconds,
        seconds=seconds,
        since=since,
    )
