"""Problem of a search, and results of its steps: evaluations, populations, generations, memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from optimizer.errors import OptimizerError
from strategy import GenomeLayout

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

FIXED = 4
"""Numbers of a memory whose count does not depend on the run."""

MOST_COUNTED = 2**53
"""Whole numbers below it are exact."""


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
    """Memory of a search with so many operators, all trusted alike, before it begins."""
    unknown = np.full(n_objectives, np.nan)
    return Memory(0, 0.0, 0, 0, (1.0,) * n_operators, unknown, unknown)


def to_numbers(memory: Memory) -> Floats:
    """All of a memory in one array [S]; whole numbers below 2**53 are exact in it."""
    fixed = [memory.evaluated, memory.best, memory.grown_at, memory.stirred_at]
    return np.array([*fixed, *memory.credits, *memory.low, *memory.high], dtype=np.float64)


def from_numbers(numbers: Floats, n_objectives: int) -> Memory:
    """The memory of a search for so many objectives that `to_numbers` wrote.

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


class Problem(Protocol):
    """Anything that can be searched."""

    @property
    def layout(self) -> GenomeLayout:
        """Genes, bounds and constraints."""

    @property
    def n_objectives(self) -> int:
        """Number of objectives O, at least 1."""

    @property
    def failure_names(self) -> tuple[str, ...]:
        """Names of the failure codes of an `Evaluation`; the first is the empty one."""

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge distinct, legal genomes [P, G], P at least 1; equal genomes get equal bits."""


class Search(Protocol):
    """A search of generations that its caller evaluates."""

    def ask(self) -> Floats | None:
        """Genomes [P, G] of the next generation's newcomers, P may be 0; None after the last."""

    def tell(self, evaluation: Evaluation) -> Generation:
        """The generation, after the judgement of its newcomers."""


def no_evaluation(n_objectives: int) -> Evaluation:
    """Evaluation of no individual."""
    return Evaluation(np.empty((0, n_objectives)), np.empty(0), np.empty(0, dtype=np.int16))


def judged_population(
    problem: Problem, genomes: Floats, lineage: Serials, evaluation: Evaluation
) -> Population:
    """Population of genomes [P, G] with a lineage [P, 4], as a problem judged them.

    Raises:
        OptimizerError: When the evaluation contradicts itself.
    """
    _check(evaluation, problem, len(genomes))
    return Population(
        genomes, evaluation.objectives, evaluation.violations, evaluation.failures, lineage
    )


def _check(evaluation: Evaluation, problem: Problem, count: int) -> None:
    shapes = (
        evaluation.objectives.shape,
        evaluation.violations.shape,
        evaluation.failures.shape,
    )
    if shapes != ((count, problem.n_objectives), (count,), (count,)):
        raise OptimizerError(
            f"the evaluation of {count} candidates has the shapes {shapes}; "
            f"expected [{count}, {problem.n_objectives}], [{count}] and [{count}]"
        )
    if ((evaluation.violations == 0) != (evaluation.failures == 0)).any():
        raise OptimizerError("a candidate must have a failure just when it has a violation")
    failures = evaluation.failures
    if failures.min(initial=0) < 0 or failures.max(initial=0) >= len(problem.failure_names):
        raise OptimizerError(f"failure codes must be below {len(problem.failure_names)}")
