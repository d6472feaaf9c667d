"""Small problems whose answer is known, for tests of the search."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from optimizer.config.settings import SearchSettings
from optimizer.search.evolution import Evolution, Exploration, list_neighbours, polish_front
from optimizer.search.generation import (
    Evaluation,
    Floats,
    Generation,
    judged_population,
    no_evaluation,
)
from strategy import Gene, GenomeLayout, LessThan

LESS = LessThan("gene_0", "gene_1")


def float_layout(n_genes: int) -> GenomeLayout:
    """Genes from 0 to 1, published as 0.5."""
    return GenomeLayout(
        tuple(Gene(f"gene_{i}", "float", low=0.0, high=1.0, default=0.5) for i in range(n_genes))
    )


def int_layout(*bounds: tuple[int, int], ordered: bool = False) -> GenomeLayout:
    """Whole genes published at their low bound; `ordered` keeps the first below the second."""
    genes = tuple(
        Gene(f"gene_{i}", "int", low=low, high=high, default=low)
        for i, (low, high) in enumerate(bounds)
    )
    return GenomeLayout(genes, (LESS,) if ordered else ())


@dataclass
class Analytic:
    """A problem that needs no market, and remembers what it was asked."""

    layout: GenomeLayout  # genes
    n_objectives: int = 2  # columns of the objectives
    failure_names: tuple[str, ...] = ("", "too_few_trades")
    asked: list[Floats] = field(default_factory=list)  # the genomes of every call, in order

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G] by `compute_objectives`; a row with a NaN is infeasible."""
        self.asked.append(genomes.copy())
        objectives = self.compute_objectives(genomes)
        is_failed = np.isnan(objectives).any(axis=1)
        violations = np.where(is_failed, 1.0 + np.abs(genomes).sum(axis=1), 0.0)
        return Evaluation(objectives, violations, is_failed.astype(np.int16))

    def compute_objectives(self, genomes: Floats) -> Floats:
        """Squared distances from as many corners as there are objectives, [P, O]."""
        corners = np.linspace(self.layout.low, self.layout.high, self.n_objectives)
        return np.stack([((genomes - corner) ** 2).sum(axis=1) for corner in corners], axis=1)


class Zdt1(Analytic):
    """The first problem of Zitzler, Deb and Thiele (2000): its front is f2 = 1 - sqrt(f1)."""

    def compute_objectives(self, genomes: Floats) -> Floats:
        """The two objectives, [P, 2]."""
        first = genomes[:, 0]
        spread = 1.0 + 9.0 * genomes[:, 1:].mean(axis=1)
        return np.stack([first, spread * (1.0 - np.sqrt(first / spread))], axis=1)


class Hopeless(Analytic):
    """A problem without a feasible individual."""

    def compute_objectives(self, genomes: Floats) -> Floats:
        """Nothing but NaN, [P, O]."""
        return np.full((len(genomes), self.n_objectives), np.nan)


class HalfForbidden(Analytic):
    """The distances of `Analytic`, undefined where the first gene is above the middle."""

    def compute_objectives(self, genomes: Floats) -> Floats:
        """Distances, or NaN, [P, O]."""
        middle = 0.5 * (self.layout.low[0] + self.layout.high[0])
        is_forbidden = genomes[:, :1] > middle
        return np.where(is_forbidden, np.nan, super().compute_objectives(genomes))


def settings(population: int, generations: int, seed: int = 7, **others: object) -> SearchSettings:
    """Settings as a run would use them."""
    return SearchSettings(population=population, generations=generations, seed=seed, **others)


def advance(search, problem):
    """The generations of a search, judged by a problem."""
    while (genomes := search.ask()) is not None:
        yield search.tell(evaluate_genomes(problem, genomes))


def evaluate_genomes(problem, genomes):
    """How a problem judges genomes [P, G]; it is not asked about none."""
    return problem.evaluate(genomes) if len(genomes) else no_evaluation(problem.n_objectives)


def evolve(problem, settings, *, resume_from=None, warm_start=None):
    """Search, one generation at a time."""
    yield from advance(Evolution(problem, settings, resume_from, warm_start), problem)


def explore(problem, lattice, *, resume_from=None):
    """Judge every legal point of a grid, a generation a chunk."""
    yield from advance(Exploration(problem, lattice, resume_from), problem)


def polished_front(problem, last, *, at_most, keep):
    """The front that a search ends with after so many neighbours were judged, and how many were."""
    genomes, lineage = list_neighbours(problem.layout, last, at_most)
    judged = judged_population(problem, genomes, lineage, evaluate_genomes(problem, genomes))
    return polish_front(last, judged, keep), len(judged)


def bits(generations: Sequence[Generation]) -> list[tuple[object, ...]]:
    """Everything in generations that must repeat: all but the wall time."""
    return [
        (
            generation.number,
            generation.population.genomes.tobytes(),
            generation.population.objectives.tobytes(),
            generation.population.violations.tobytes(),
            generation.population.failures.tobytes(),
            generation.evaluated,
            generation.repaired,
            dict(generation.rejected),
            generation.population.lineage.tobytes(),
            generation.archive.genomes.tobytes(),
            generation.archive.objectives.tobytes(),
            generation.archive.lineage.tobytes(),
            generation.memory.tobytes(),
            generation.hypervolume,
        )
        for generation in generations
    ]
