"""Memory of a search beside its individuals, as a frozen value and as plain numbers."""

from dataclasses import dataclass

import numpy as np

from optimizer.errors import OptimizerError
from optimizer.search.generation import Floats

FIXED = 4
"""Numbers of a memory whose count does not depend on the run."""

MOST_COUNTED = 2**53
"""Whole numbers below it are exact."""


@dataclass(frozen=True)
class Memory:
    """State of a search, beside population and archive, to go on with the same bits."""

    evaluated: int  # individuals judged so far
    best: float  # hypervolume when it last grew
    grown_at: int  # generation in which it last grew by more than a trifle
    stirred_at: int  # generation in which stagnation was last answered
    credits: tuple[float, ...]  # [K], how well each operator did lately, 0 to 1
    low: Floats  # [O], best corner of the box of the hypervolume; NaN before there is one
    high: Floats  # [O], its worst corner

    @property
    def has_box(self) -> bool:
        """True if hypervolume can be measured."""
        return not np.isnan(self.low[0])


def fresh_memory(n_operators: int, n_objectives: int) -> Memory:
    """Memory of a search before it begins.

    Args:
        n_operators: K; all are trusted alike.
        n_objectives: O.
    """
    unknown = np.full(n_objectives, np.nan)
    return Memory(0, 0.0, 0, 0, (1.0,) * n_operators, unknown, unknown)


def to_numbers(memory: Memory) -> Floats:
    """All of a memory in one array [S]; whole numbers below 2**53 are exact in it."""
    fixed = [memory.evaluated, memory.best, memory.grown_at, memory.stirred_at]
    return np.array([*fixed, *memory.credits, *memory.low, *memory.high], dtype=np.float64)


def from_numbers(numbers: Floats, n_objectives: int) -> Memory:
    """The memory that `to_numbers` wrote.

    Args:
        numbers: [S].
        n_objectives: O.

    Raises:
        OptimizerError: When they are no numbers of a memory.
    """
    counts = numbers[[0, 2, 3]] if len(numbers) >= FIXED + 2 * n_objectives else None
    if counts is None or not ((counts >= 0) & (counts < MOST_COUNTED)).all():
        raise OptimizerError("the memory of a generation is none: it counts what cannot be")
    evaluated, best, grown_at, stirred_at = numbers[:FIXED].tolist()
    credits, low, high = np.split(numbers[FIXED:], [-2 * n_objectives, -n_objectives])
    return Memory(
        evaluated=int(evaluated),
        best=best,
        grown_at=int(grown_at),
        stirred_at=int(stirred_at),
        credits=tuple(credits.tolist()),
        low=low,
        high=high,
    )
