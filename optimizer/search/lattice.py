"""Every point of a declared grid, judged chunk by chunk with the same engine.

A chunk is a generation, so that recording, stopping and going on work as for any search. The
archive after the last chunk is the true front of the grid, which is why it is never truncated here.
Points are counted with the last gene running fastest: neighbours in that order share indicators.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from time import perf_counter

import numpy as np

from optimizer.errors import ConfigError
from optimizer.search.evolution import count_failures, update_box
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Evaluation,
    Floats,
    Generation,
    Population,
    Problem,
    Serials,
    empty_population,
    fresh_memory,
    from_numbers,
    judged_population,
    to_numbers,
)
from optimizer.search.selection import update_archive
from strategy import Gene, GenomeLayout
from strategy.gene import NEARLY, compute_step_values

CHUNK = 8192
"""Points judged at once."""

MOST_POINTS = 100_000_000
"""A grid of more points is not searched to its end."""

UNBOUNDED = 2**31 - 1
"""The archive of a grid holds its whole front."""

OFF_GRID = "breaks_a_constraint"
"""Failure of grid points that are no legal genome; they are counted but never judged."""


@dataclass(frozen=True)
class Lattice:
    """A grid over the genes of a strategy, of `MOST_POINTS` points at most."""

    layout: GenomeLayout  # genes, bounds and constraints
    # [G], the values of each gene in rising order; one value for a gene that stays.
    values: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if len(self) > MOST_POINTS:
            raise ConfigError(
                f"the lattice has {len(self):,} points, at most {MOST_POINTS:,} are searched: "
                "take wider steps, or fewer genes"
            )

    def __len__(self) -> int:
        return prod(len(values) for values in self.values)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each gene has, [G]."""
        return tuple(len(values) for values in self.values)

    @property
    def chunks(self) -> int:
        """How many generations a search of the grid takes."""
        return -(-len(self) // CHUNK)

    def points(self, first: int, end: int) -> Floats:
        """Genomes of points number `first` to `end` - 1, [N, G]."""
        digits = np.unravel_index(np.arange(first, min(end, len(self))), self.sizes)
        return self.genomes(np.stack(digits, axis=1))

    def genomes(self, digits: Serials) -> Floats:
        """Genomes [N, G] by the number of each gene's value, [N, G]."""
        columns = [values[numbers] for values, numbers in zip(self.values, digits.T, strict=True)]
        return np.stack(columns, axis=1)


def make_lattice(layout: GenomeLayout, steps: Mapping[str, float]) -> Lattice:
    """A grid from the step of each gene that varies, from its low bound up to its high one.

    Genes without a step keep their default.

    Raises:
        ConfigError: When no gene has a step, a step is not above 0, not whole for a whole gene, or
            leaves values of the gene's own step, or some of its options.
        GeneError: When there is no such gene.
    """
    if not len(layout):
        raise ConfigError("a lattice needs genes, and the strategy has none: leave it out")
    if not steps:
        raise ConfigError("a lattice needs the step of a gene, such as --step reward_r=0.5")
    values = [np.array([gene.default], dtype=np.float64) for gene in layout.genes]
    for name, step in steps.items():
        gene = layout.gene(name)
        if not 0 < step < np.inf or (gene.is_int and step != int(step)):
            kind = "a whole number" if gene.is_int else "a number"
            raise ConfigError(f"the step of '{name}' must be {kind} above 0, got {step!r}")
        _check_own_step(gene, step)
        values[layout.index(name)] = _values(gene, step)
    return Lattice(layout, tuple(values))


def _check_own_step(gene: Gene, step: float) -> None:
    if gene.options and step != 1:
        raise ConfigError(
            f"the step of '{gene.name}' must be 1, got {step:g}: its options have no order"
        )
    if gene.step is not None and abs(step / gene.step - round(step / gene.step)) > NEARLY:
        raise ConfigError(
            f"the step of '{gene.name}' must be a multiple of its own, {gene.step:g}, got {step:g}"
        )


def _values(gene: Gene, step: float) -> Floats:
    """Values of a gene from its low bound on; the high bound counts if rounding nearly meets it."""
    n_steps = (gene.high - gene.low) / step
    if n_steps > MOST_POINTS:
        raise ConfigError(
            f"the lattice has {n_steps:,.0f} points and more, at most {MOST_POINTS:,} are searched"
        )
    numbers = np.arange(int(n_steps + NEARLY) + 1, dtype=np.float64)
    if gene.step is not None:
        # Multiples of its own step, so that these are values that a search may give it.
        numbers = numbers * round(step / gene.step)
        return compute_step_values(numbers, gene.low, gene.high, gene.step)
    return compute_step_values(numbers, gene.low, gene.high, step)


class Exploration:
    """A search of every legal point of a grid that its caller evaluates, also after a last chunk.

    A generation is a chunk. Its population is the archive, or without a feasible individual the
    nearest one so far.
    """

    def __init__(
        self, problem: Problem, lattice: Lattice, resume_from: Generation | None = None
    ) -> None:
        self._problem, self._lattice = problem, lattice
        self._memory = fresh_memory(0, problem.n_objectives)
        self._archive = empty_population(len(problem.layout), problem.n_objectives)
        self._nearest, self._number = self._archive, 0
        if resume_from is not None:
            self._nearest = resume_from.population
            self._memory = from_numbers(resume_from.memory, problem.n_objectives)
            self._archive, self._number = resume_from.archive, resume_from.number + 1

    def ask(self) -> Floats | None:
        """See `Search.ask`."""
        if self._number >= self._lattice.chunks:
            return None
        self._started = perf_counter()
        genomes = self._lattice.points(self._number * CHUNK, (self._number + 1) * CHUNK)
        self._legal = genomes[self._problem.layout.is_legal(genomes)]
        self._n_illegal = len(genomes) - len(self._legal)
        return self._legal

    def tell(self, evaluation: Evaluation) -> Generation:
        """See `Search.tell`."""
        memory, legal = self._memory, self._legal
        lineage = np.full((len(legal), len(LINEAGE)), UNKNOWN, dtype=np.int64)
        lineage[:, 0] = memory.evaluated + np.arange(len(legal))
        lineage[:, 3] = OPERATORS.index("lattice")
        newcomers = judged_population(self._problem, legal, lineage, evaluation)
        low, high = update_box(memory, newcomers)
        archive, _, size = update_archive(self._archive, newcomers, UNBOUNDED, low, high)
        evaluated = memory.evaluated + len(newcomers)
        memory = replace(memory, evaluated=evaluated, low=low, high=high)
        if size > memory.best:
            memory = replace(memory, best=size, grown_at=self._number)
        nearest = Population.concat(self._nearest, newcomers)
        nearest = nearest.take(np.argsort(nearest.violations, kind="stable")[:1])
        rejected = count_failures(self._problem.failure_names, newcomers.failures)
        if self._n_illegal:
            rejected[OFF_GRID] = self._n_illegal
        self._archive, self._memory, self._nearest = archive, memory, nearest
        self._number += 1
        return Generation(
            number=self._number - 1,
            population=archive if len(archive) else nearest,
            evaluated=len(newcomers),
            seconds=perf_counter() - self._started,
            repaired=0,
            rejected=rejected,
            archive=archive,
            memory=to_numbers(memory),
            hypervolume=size,
        )
