"""Problem of a search: genes with bounds, and a judgement of genomes; and its caller."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from optimizer.errors import OptimizerError
from optimizer.search.generation import Evaluation, Floats, Generation, Population, Serials
from strategy import GenomeLayout


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
        """The generation, after the judgement of its newcomers.

        Raises:
            OptimizerError: When an evaluation contradicts itself.
        """


def advance(search: Search, problem: Problem) -> Iterator[Generation]:
    """The generations of a search, judged by a problem."""
    while (genomes := search.ask()) is not None:
        yield search.tell(evaluate_genomes(problem, genomes))


def evaluate_genomes(problem: Problem, genomes: Floats) -> Evaluation:
    """How a problem judges genomes [P, G]; it is not asked about none."""
    return problem.evaluate(genomes) if len(genomes) else no_evaluation(problem.n_objectives)


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
