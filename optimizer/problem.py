"""What a search needs to be told: the problem that it solves and the settings that it runs with."""

from dataclasses import dataclass
from typing import Protocol

from optimizer.errors import ConfigError
from optimizer.generation import Evaluation, Floats
from optimizer.operators import squarings
from optimizer.randomness import MAX_GENERATION, MAX_SEED
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


@dataclass(frozen=True)
class SearchSettings:
    """How to search.

    Args:
        population: Individuals that survive a generation, at least 1; fewer do when the search
            space holds fewer.
        generations: Generations after the initial one, at least 0.
        seed: 0 to `MAX_SEED`; decides every random number of the search.
        crossover_probability: Chance that a pair of parents is crossed, 0 to 1.
        crossover_eta: Distribution index of the crossover, one of `ETAS`.
        mutation_probability: Chance of each gene to be mutated, 0 to 1; None for one over the
            number of genes that are not frozen.
        mutation_eta: Distribution index of the mutation, one of `ETAS`.

    Raises:
        ConfigError: When a value is out of range.
    """

    population: int
    generations: int
    seed: int
    crossover_probability: float
    crossover_eta: int
    mutation_probability: float | None
    mutation_eta: int

    def __post_init__(self) -> None:
        _check_whole("population", self.population, 1, 2**31 - 1)
        _check_whole("generations", self.generations, 0, MAX_GENERATION)
        _check_whole("seed", self.seed, 0, MAX_SEED)
        _check_probability("crossover_probability", self.crossover_probability)
        if self.mutation_probability is not None:
            _check_probability("mutation_probability", self.mutation_probability)
        squarings(self.crossover_eta, "crossover_eta")
        squarings(self.mutation_eta, "mutation_eta")

    def mutation_chance(self, layout: GenomeLayout) -> float:
        """Chance of each gene to be mutated, with the default worked out for these genes."""
        if self.mutation_probability is not None:
            return self.mutation_probability
        return 1.0 / max(1, int((layout.low < layout.high).sum()))


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name} must be between 0 and 1, got {value!r}")
