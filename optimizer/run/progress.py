"""Progress of a search after each generation, for those that watch it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.run.task import Task
from optimizer.search.generation import Generation


@dataclass(frozen=True)
class Progress:
    """How a search stands after a generation."""

    generation: int
    generations: int  # number of the last one planned
    individuals: int
    evaluated: int  # individuals sent to the engine so far, by this process
    feasible: float  # share of the survivors that are feasible
    front: int
    hypervolume: float  # volume that the best compromises so far dominate, as in `Generation`
    # Best value of each objective in the front, in its natural sign; NaN without one.
    best: tuple[float, ...]
    rejected: Mapping[str, int]  # failure to how many of this generation's newcomers had it
    seconds: float  # since the search began in this process
    individual_bars_per_s: float = math.nan  # its rate; NaN before there is one
    seconds_per_generation: float = math.nan

    @property
    def eta_s(self) -> float:
        """Seconds left at the present rate; 0 at the end, NaN before there is a rate."""
        left = max(self.generations - self.generation, 0)
        return self.seconds_per_generation * left if left else 0.0


@dataclass(frozen=True)
class Mark:
    """Generations and individuals of a process at a time of its search."""

    generations: int
    evaluated: int
    seconds: float


WARMING = 2
"""The first generations of a process compile and compute most rows: they say nothing of others."""


def measure_progress(task: Task, generation: Generation, start: Mark | None, now: Mark) -> Progress:
    """How a search stands after a generation.

    `start` is when the process was warm, None before `WARMING` generations of its own.
    """
    population, archive = generation.population, generation.archive
    natural = task.goals.natural(archive.objectives)
    signs = np.array(task.goals.maximised)
    best = np.full(len(signs), np.nan)
    if len(archive):
        best = np.where(signs, natural.max(axis=0), natural.min(axis=0))
    found_since = 0 if start is None else now.generations - start.generations
    rate = pace = math.nan
    if start is not None and found_since:
        pace = (now.seconds - start.seconds) / found_since
        individual_bars = (now.evaluated - start.evaluated) * task.markets.n_bars
        rate = individual_bars / (now.seconds - start.seconds)
    return Progress(
        generation=generation.number,
        generations=task.config.generations,
        individuals=len(population),
        evaluated=now.evaluated,
        feasible=float((population.violations == 0).mean()),
        front=len(archive),
        hypervolume=generation.hypervolume,
        best=tuple(best.tolist()),
        rejected=generation.rejected,
        seconds=now.seconds,
        individual_bars_per_s=rate,
        seconds_per_generation=pace,
    )
