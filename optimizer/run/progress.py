"""Progress of a search after each generation, and the pace of the newest ones."""

import math
from collections import deque

import numpy as np

from data.progress import Progress
from optimizer.formatting import number
from optimizer.run.task import Task
from optimizer.search.generation import Generation

WARMING = 2
"""The first generations of a process compile and compute most rows: they say nothing of others."""

NEWEST = 20
"""Generations that say how fast a search is now."""


class SearchPace:
    """Speed of the newest generations.

    Attributes:
        evaluated: Individuals of all generations.
    """

    def __init__(self) -> None:
        self.evaluated = self._count = 0
        self._newest: deque[tuple[float, int]] = deque(maxlen=NEWEST)

    def add(self, seconds: float, evaluated: int) -> None:
        """Count a generation, with how long it took and how many individuals it evaluated."""
        self.evaluated += evaluated
        self._count += 1
        if self._count > WARMING:
            self._newest.append((seconds, evaluated))

    @property
    def individuals_per_s(self) -> float:
        """Individuals evaluated a second; NaN before that is known."""
        seconds = math.fsum(seconds for seconds, _ in self._newest)
        return sum(evaluated for _, evaluated in self._newest) / seconds if seconds else math.nan

    def estimate_seconds(self, generations: int) -> float | None:
        """Seconds that so many generations will take; None before that is known."""
        seconds = math.fsum(seconds for seconds, _ in self._newest)
        return seconds / len(self._newest) * generations if seconds else None


def build_progress(task: Task, generation: Generation, pace: SearchPace) -> Progress:
    """Progress of a search as of a generation, which is the newest of a pace."""
    archive, last = generation.archive, task.config.generations
    natural = task.goals.natural(archive.objectives)
    best = np.full(natural.shape[1], np.nan)
    if len(archive):
        best = np.where(task.goals.maximised, natural.max(axis=0), natural.min(axis=0))
    feasible = (generation.population.violations == 0).mean()
    facts = [
        f"front {len(archive):,}, feasible {feasible:.0%}",
        f"hypervolume {number(generation.hypervolume)} (first box = 1)",
        f"{pace.evaluated:,} evaluated",
    ]
    rate = pace.individuals_per_s * task.markets.n_bars
    if rate > 0:
        shown = f"{rate / 1e9:.2f} G" if rate >= 1e8 else f"{rate / 1e6:.2f} M"
        facts.append(f"{shown} individual-bars/s")
    if generation.rejected:
        rejected = (f"{name} {count:,}" for name, count in generation.rejected.items())
        facts.append(f"rejected: {', '.join(rejected)}")
    return Progress(
        "generation",
        generation.number,
        last,
        best=dict(zip(task.goals.names, best.tolist(), strict=True)),
        note=", ".join(facts),
        left_s=pace.estimate_seconds(last - generation.number),
    )
