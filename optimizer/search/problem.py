"""Problem of a search: genes with bounds, and a judgement of genomes."""

from typing import Protocol

import numpy as np

from optimizer.errors import OptimizerError
from optimizer.search.generation import Evaluation, Floats, Population, Serials, empty_population
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


def evaluate_genomes(problem: Problem, genomes: Floats, lineage: Serials) -> Population:
    """Population of genomes [P, G] with a lineage [P, 4], as a problem judges them.

    A problem is not asked about none.

    Raises:
        OptimizerError: When an evaluation contradicts itself.
    """
    if not len(genomes):
        return empty_population(genomes.shape[1], problem.n_objectives)
    evaluation = problem.evaluate(genomes)
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
    if not np.array_equal(evaluation.violations == 0, evaluation.failures == 0):
        raise OptimizerError("a candidate must have a failure just when it has a violation")
    if not ((evaluation.failures >= 0) & (evaluation.failures < len(problem.failure_names))).all():
        raise OptimizerError(f"failure codes must be below {len(problem.failure_names)}")
