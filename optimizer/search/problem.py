"""What a search needs to be told: the problem that it solves and the settings that it runs with."""

from dataclasses import dataclass
from typing import Protocol

from optimizer.errors import ConfigError
from optimizer.search.generation import Evaluation, Floats
from optimizer.search.operators import nudge_chance, squarings
from optimizer.search.randomness import MAX_GENERATION, MAX_SEED
from strategy import GenomeLayout

SURVIVALS = ("auto", "crowding", "hypervolume", "reference")
"""Rules of survival; see `ranking`, `archive` and `reference_points`."""

ANSWERS = ("immigrants", "restart")
"""Answers to stagnation: half of a generation from anywhere, or a new population."""


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
        survival: Who survives, one of `SURVIVALS`; ``"auto"`` is ``"hypervolume"`` up to three
            objectives and ``"reference"`` beyond.
        archive: How many the archive holds at most, at least 1.
        adapt: Whether operators that do well are used more often; else all alike.
        elite: Chance of a parent to come from the archive, 0 to 1; only with one island.
        immigrants: Share of newcomers drawn from anywhere, 0 to 1.
        patience: Generations without growth of the hypervolume until stagnation is answered, at
            least 1; None for never.
        on_stagnation: How, one of `ANSWERS`.
        islands: Parts of the population that breed apart, at least 1, at most `population`.
        migration: Every so many generations the best of an island visit the next, at least 1.

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
    survival: str
    archive: int
    adapt: bool
    elite: float
    immigrants: float
    patience: int | None
    on_stagnation: str
    islands: int
    migration: int

    def __post_init__(self) -> None:
        _check_whole("population", self.population, 1, 2**31 - 1)
        _check_whole("generations", self.generations, 0, MAX_GENERATION)
        _check_whole("seed", self.seed, 0, MAX_SEED)
        for name in ("crossover_probability", "elite", "immigrants"):
            _check_probability(name, getattr(self, name))
        _check_whole("archive", self.archive, 1, 2**31 - 1)
        _check_whole("islands", self.islands, 1, self.population)
        _check_whole("migration", self.migration, 1, MAX_GENERATION)
        if self.patience is not None:
            _check_whole("patience", self.patience, 1, MAX_GENERATION)
        _check_choice("survival", self.survival, SURVIVALS)
        _check_choice("on_stagnation", self.on_stagnation, ANSWERS)
        if self.mutation_probability is not None:
            _check_probability("mutation_probability", self.mutation_probability)
        squarings(self.crossover_eta, "crossover_eta")
        squarings(self.mutation_eta, "mutation_eta")

    def mutation_chance(self, layout: GenomeLayout) -> float:
        """Chance of each gene to be mutated, with the default worked out for these genes."""
        if self.mutation_probability is not None:
            return self.mutation_probability
        return nudge_chance(layout)


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}, got {value!r}")


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name} must be between 0 and 1, got {value!r}")
