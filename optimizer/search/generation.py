"""Results of a search's steps: evaluations, populations and generations, all frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int16]
Serials = npt.NDArray[np.int64]

LINEAGE = ("serial", "mother", "father", "operator")
"""Columns of a lineage."""

OPERATORS = (
    "sample",
    "published",
    "warm_start",
    "cross",
    "mutate",
    "difference",
    "immigrate",
    "exchange",
    "polish",
    "lattice",
)
"""How individuals come about, by their codes in a lineage; a code is never reused."""

UNKNOWN = -1
"""In a lineage: no parent, or none that is known."""


@dataclass(frozen=True)
class Evaluation:
    """Objectives and violations of a population, as the engine measured them."""

    objectives: Floats  # [P, O], all to be minimised; a row is NaN where `violations` is not 0
    violations: Floats  # [P], 0 for a feasible individual, else how far from feasible it is (> 0)
    # [P] int16, 0 for a feasible individual, else a code into the problem's `failure_names`.
    failures: Codes


@dataclass(frozen=True)
class Population:
    """Individuals with their known results, in the order of survival (best first)."""

    genomes: Floats  # [P, G]
    objectives: Floats  # [P, O], as in `Evaluation`
    violations: Floats  # [P], as in `Evaluation`
    failures: Codes  # [P], as in `Evaluation`
    # [P, 4] int64, columns `LINEAGE`: the individual's number in the order of evaluation,
    # from 0 on, those of its parents, and its operator's code in `OPERATORS`. `UNKNOWN`
    # throughout when left out.
    lineage: Serials = field(default_factory=lambda: np.empty((0, len(LINEAGE)), dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.lineage) == 0 and len(self.genomes):
            nothing = np.full((len(self.genomes), len(LINEAGE)), UNKNOWN, dtype=np.int64)
            object.__setattr__(self, "lineage", nothing)

    def __len__(self) -> int:
        return len(self.genomes)

    def take(self, indices: Serials) -> "Population":
        """Some of the individuals, in the order of `indices` [N], read-only."""
        return Population(*(array.take(indices, axis=0) for array in self._arrays)).freeze()

    def freeze(self) -> "Population":
        """The same individuals, their arrays read-only from now on."""
        for array in self._arrays:
            array.flags.writeable = False
        return self

    @staticmethod
    def concat(first: "Population", second: "Population") -> "Population":
        """The individuals of both, those of the first before those of the second."""
        pairs = zip(first._arrays, second._arrays, strict=True)
        return Population(*map(np.concatenate, pairs))

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.genomes, self.objectives, self.violations, self.failures, self.lineage


def empty_population(n_genes: int, n_objectives: int) -> Population:
    """A population without individuals."""
    nothing = np.empty(0)
    genomes, objectives = np.empty((0, n_genes)), np.empty((0, n_objectives))
    return Population(genomes, objectives, nothing, nothing.astype(np.int16))


@dataclass(frozen=True)
class Generation:
    """One step of a search, complete enough to go on from."""

    number: int  # 0 for the initial population
    population: Population  # the survivors
    evaluated: int  # individuals that were sent to the engine in this generation
    seconds: float  # wall time of this generation
    repaired: int  # individuals repaired because of a broken constraint
    rejected: Mapping[str, int]  # name of a failure to how many of the evaluated individuals had it
    # The best compromises of all generations so far, as the search keeps them.
    archive: Population = field(default_factory=lambda: empty_population(0, 0))
    # [S], what else the search has to know to go on; its own affair.
    memory: Floats = field(default_factory=lambda: np.empty(0))
    # Volume that the archive dominates, in units of the box that the first feasible
    # individuals span, so that it may grow beyond 1; 0 before there is one.
    hypervolume: float = 0.0


def final_front(generation: Generation) -> Population:
    """Front that a search has found by a generation: its archive, sorted by genome."""
    archive = generation.archive
    return archive.take(order_genomes(archive.genomes))


def order_genomes(genomes: Floats) -> Indices:
    """Indices [P] of genomes [P, G] in ascending order, first gene first; ties stay in order."""
    keys = genomes.T[::-1]
    return np.lexsort(keys) if len(keys) else np.arange(len(genomes))
