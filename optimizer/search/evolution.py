"""NSGA-II on whole arrays: a generator of frozen generations that prints and writes nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from optimizer.config.search import SearchSettings
from optimizer.search.compiling import compile_in_background
from optimizer.search.generation import (
    Codes,
    Evaluation,
    Floats,
    Generation,
    Indices,
    Population,
    order_genomes,
)
from optimizer.search.memory import to_numbers
from optimizer.search.problem import Problem, advance, judged_population
from optimizer.search.ranking import first_front
from optimizer.search.state import initial_state
from optimizer.search.steps import Steps


def evolve(
    problem: Problem,
    settings: SearchSettings,
    *,
    resume_from: Generation | None = None,
    warm_start: Floats | None = None,
) -> Iterator[Generation]:
    """Search, one generation at a time.

    Args:
        problem: What to search and how to judge it.
        settings: How to search.
        resume_from: The last generation of a run with the same problem and settings; the bits of
            all that follow are those of the run that was never interrupted.
        warm_start: [N, G] genomes to begin with, beside the default one; they are repaired.

    Yields:
        Generations 0 (the strategy's default genome, the warm start and a uniform sample) to
        `settings.generations`, or those after `resume_from`. Arrays are read-only. A population is
        smaller than asked only when no further distinct individual was found.

    Raises:
        OptimizerError: When an evaluation contradicts itself.
    """
    yield from advance(Evolution(problem, settings, resume_from, warm_start), problem)


class Evolution:
    """A genetic search, evaluated by its caller; arguments as of `evolve`."""

    def __init__(
        self,
        problem: Problem,
        settings: SearchSettings,
        resume_from: Generation | None = None,
        warm_start: Floats | None = None,
    ) -> None:
        self._problem, self._last_number = problem, settings.generations
        self._number = 0 if resume_from is None else resume_from.number + 1
        self._state = initial_state(problem, settings, resume_from)
        compile_in_background()
        self._steps = Steps(problem, settings, warm_start)

    def ask(self) -> Floats | None:
        """See `Search.ask`."""
        if self._number > self._last_number:
            return None
        self._started = perf_counter()
        self._brood = self._steps.breed(self._state, self._number)
        return self._brood.genomes

    def tell(self, evaluation: Evaluation) -> Generation:
        """See `Search.tell`."""
        number, brood, before = self._number, self._brood, self._state.memory.evaluated
        newcomers = judged_population(self._problem, brood.genomes, brood.lineage, evaluation)
        self._state = state = self._steps.choose(self._state, brood, newcomers, number)
        self._number += 1
        return Generation(
            number=number,
            population=state.population,
            evaluated=state.memory.evaluated - before,
            seconds=perf_counter() - self._started,
            repaired=int(np.count_nonzero(brood.is_repaired)),
            rejected=count_failures(self._problem.failure_names, newcomers.failures),
            archive=state.archive,
            memory=to_numbers(state.memory),
            hypervolume=state.hypervolume,
        )


def find_front(population: Population) -> Indices:
    """Find the feasible members that no other dominates.

    Args:
        population: Any population; it may be without a feasible member.

    Returns:
        [F] indices of distinct genomes, sorted by genome, the first gene first. Members with equal
        objectives but different genomes all belong to it.
    """
    feasible = np.flatnonzero(population.violations == 0)
    if not feasible.size:
        return feasible
    front: Indices = feasible[first_front(population.objectives[feasible])]
    front = front[order_genomes(population.genomes[front])]
    genomes = population.genomes[front]
    is_new = np.ones(len(front), dtype=np.bool_)
    is_new[1:] = (genomes[1:] != genomes[:-1]).any(axis=1)
    distinct: Indices = front[is_new]
    return distinct


def front_hash(genomes: Floats, objectives: Floats) -> str:
    """Fingerprint of a front, the same for any order of its members and on any machine.

    Args:
        genomes: [F, G].
        objectives: [F, O], in the order of `genomes`.

    Returns:
        Hexadecimal SHA-256 over both shapes (int64) and then both arrays (float64), everything
        little-endian, members sorted by genome and then by objectives.
    """
    order = np.lexsort(np.hstack([genomes, objectives]).T[::-1])
    digest = hashlib.sha256()
    digest.update(np.array([*genomes.shape, *objectives.shape], dtype="<i8").tobytes())
    for array in (genomes, objectives):
        # Adding 0 turns a negative zero, which equals 0 but has other bits, into 0.
        digest.update((array[order] + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


def count_failures(names: Sequence[str], failures: Codes) -> dict[str, int]:
    """How many individuals failed for which reason; only reasons that occurred.

    Args:
        names: Of the failure codes, the first of them empty.
        failures: [P] codes.
    """
    counts = np.bincount(failures, minlength=len(names)).tolist()
    return {name: count for name, count in zip(names[1:], counts[1:], strict=True) if count}
