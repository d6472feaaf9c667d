"""How long a problem takes to evaluate, so that the rest of a generation's time is known."""

from time import perf_counter

from optimizer.search.generation import Evaluation, Floats
from optimizer.search.problem import Problem


class TimedProblem:
    """A problem that knows how long it took.

    Args:
        problem: What is searched.

    Attributes:
        seconds: Wall time of all evaluations so far.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.layout, self.n_objectives = problem.layout, problem.n_objectives
        self.failure_names = problem.failure_names
        self.seconds = 0.0

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]."""
        began = perf_counter()
        evaluation = self._problem.evaluate(genomes)
        self.seconds += perf_counter() - began
        return evaluation
