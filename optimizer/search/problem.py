"""What a search has to be given: a problem."""

from typing import Protocol

from optimizer.search.generation import Evaluation, Floats
from strategy import GenomeLayout


class Problem(Protocol):
    """Something that can be searched: genes with bounds, and a judgement of genomes."""

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
