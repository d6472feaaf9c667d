"""The search's view of an engine: genomes in, objectives out."""

from collections.abc import Sequence

from engine.batch import Engine
from engine.metrics import Span, compute_metrics
from optimizer.goals.objectives import Goals
from optimizer.search.generation import Evaluation, Floats
from strategy import GenomeLayout


class EngineProblem:
    """Judges what an engine evaluates, in whatever process that is.

    Args:
        goals: Objectives and constraints.
        spans: [W], how long the engine's windows are.
        engine: Where to evaluate.
    """

    def __init__(self, goals: Goals, spans: Sequence[Span], engine: Engine) -> None:
        self.goals = goals
        self.spans = tuple(spans)
        self.engine = engine

    @property
    def layout(self) -> GenomeLayout:
        """Genes, bounds and constraints."""
        return self.engine.spec.layout

    @property
    def n_objectives(self) -> int:
        """Number of objectives O."""
        return len(self.goals.names)

    @property
    def failure_names(self) -> tuple[str, ...]:
        """Names of the failure codes."""
        return self.goals.failure_names

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]."""
        accumulators = self.engine.evaluate(genomes)
        return self.goals.judge(compute_metrics(accumulators, self.spans, self.goals.metrics))
