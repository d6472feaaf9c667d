"""State of a search between two generations, and what follows from it for the next one."""

from dataclasses import dataclass

from optimizer.config.search import SearchSettings
from optimizer.search.archive import compute_box, extend_archive
from optimizer.search.breeding import ADAPTED, BreedingPlan, compute_rates
from optimizer.search.generation import Floats, Generation, Population, empty_population
from optimizer.search.memory import Memory, fresh_memory, from_numbers
from optimizer.search.problem import Problem
from optimizer.search.ranking import Ranking

STIR = 0.5
"""Share of a generation that comes from anywhere when the search stagnates."""

TRIFLE = 2.0**-12
"""Growth of the hypervolume by less than this share of it counts as none."""


@dataclass(frozen=True)
class State:
    """State of a search between two generations."""

    population: Population  # the survivors
    archive: Population  # the best compromises so far
    memory: Memory  # what must be known beside them
    hypervolume: float = 0.0  # of the archive, 0 before it can be measured
    ranking: Ranking | None = None  # of the survivors, if known


def initial_state(problem: Problem, settings: SearchSettings, last: Generation | None) -> State:
    """The state after a generation, or before the first."""
    n_genes, n_objectives = len(problem.layout), problem.n_objectives
    empty = empty_population(n_genes, n_objectives)
    memory = fresh_memory(len(ADAPTED), n_objectives)
    if last is None:
        return State(empty, empty, memory)
    if len(last.memory):
        memory = from_numbers(last.memory, n_objectives)
        return State(last.population, last.archive, memory, last.hypervolume)
    archive, _ = extend_archive(empty, last.population, settings.archive)
    return State(last.population, archive, memory)


def update_box(memory: Memory, newcomers: Population) -> tuple[Floats, Floats]:
    """The box of the hypervolume [O] and [O] after newcomers; the first feasible ones decide."""
    if memory.has_box or not (is_feasible := newcomers.violations == 0).any():
        return memory.low, memory.high
    return compute_box(newcomers.objectives[is_feasible])


def is_stagnant(settings: SearchSettings, memory: Memory, number: int) -> bool:
    """True if a generation has to answer that hypervolume has not grown for too long."""
    last = max(memory.grown_at, memory.stirred_at)
    return settings.patience is not None and number - last > settings.patience


def is_new_start(settings: SearchSettings, memory: Memory, number: int) -> bool:
    """True if no member of the population before goes on."""
    is_answered = number > 0 and is_stagnant(settings, memory, number)
    return is_answered and settings.on_stagnation == "restart"


def plan_generation(
    settings: SearchSettings, memory: Memory, number: int, ranking: Ranking | None = None
) -> BreedingPlan:
    """How to breed a generation.

    Args:
        settings: Of the search.
        memory: What is known before it.
        number: Of the generation.
        ranking: Of the parents, where it is known.
    """
    answers = {"immigrants": STIR, "restart": 1.0}
    answer = answers[settings.on_stagnation] if is_stagnant(settings, memory, number) else 0.0
    rates = compute_rates(memory.credits if settings.adapt else (1.0,) * len(memory.credits))
    return BreedingPlan(
        count=settings.population,
        rates=rates,
        elite=settings.elite,
        immigrants=max(settings.immigrants, answer),
        ranking=ranking,
    )
