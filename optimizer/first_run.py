"""A program that compiles the loops of the search and of the reference."""

import sys

import numpy as np

from data import Window, load_bars
from engine.accounts.costs import Costs
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.config.settings import SearchSettings
from optimizer.search.evolution import Evolution
from optimizer.search.generation import Evaluation, Floats
from optimizer.search.selection import rank_individuals
from strategy import Gene, GenomeLayout, LessThan, find_strategy


def main(first: str = "search") -> None:
    """Compile the loops of the search and of the reference.

    Args:
        first: "search", or "reference" where that is waited for.
    """
    steps = [_search, _replay]
    for compile_loops in reversed(steps) if first == "reference" else steps:
        compile_loops()
    # Last, because most searches have three objectives.
    rank_individuals(np.ones((2, 2)), np.zeros(2))


def _replay() -> None:
    """Replay one individual."""
    bars, spec = load_bars("sample"), find_strategy("seller_exhaustion")
    reference = Reference(spec, [bars], [Window.whole(bars)], Costs(), form=CompiledForm())
    reference.accumulators(spec.layout.defaults)


def _search() -> None:
    """Search a problem that takes no time."""
    settings = SearchSettings(population=32, generations=2, archive=8)
    search = Evolution(problem := Corners(), settings)
    while (genomes := search.ask()) is not None:
        search.tell(problem.evaluate(genomes))


class Corners:
    """A problem of three objectives: the distances from three corners."""

    layout = GenomeLayout(
        (Gene("x", "int", 0, 90, 0), Gene("y", "int", 9, 99, 9), Gene("z", "float", 0, 99, 0)),
        (LessThan("x", "y"),),
    )
    n_objectives = 3
    failure_names = ("",)

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, 3]."""
        distances = ((genomes[:, None] - 99.0 * np.eye(3)) ** 2).sum(axis=2)
        nothing = np.zeros(len(genomes))
        return Evaluation(distances, nothing, nothing.astype(np.int16))


if __name__ == "__main__":
    main(*sys.argv[1:])
