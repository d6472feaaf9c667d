"""NSGA-II on whole arrays: a generator of frozen generations that prints and writes nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from time import perf_counter

import numpy as np
import numpy.typing as npt

from optimizer.errors import OptimizerError
from optimizer.generation import Codes, Evaluation, Floats, Generation, Population, nobody
from optimizer.search.archive import box_of, extended, hypervolume
from optimizer.search.breeding import ADAPTED, Brood, Draws, Plan, breed, credited, rates_of, settle
from optimizer.search.memory import Memory, fresh_memory, from_numbers, to_numbers
from optimizer.search.problem import Problem, SearchSettings
from optimizer.search.ranking import Ranking, first_front, rank_survivors
from optimizer.search.toolbox import Toolbox, make_toolbox

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

NONE: Indices = np.empty(0, dtype=np.int64)

STIR = 0.5
"""Share of a generation that comes from anywhere when the search stagnates."""

TRIFLE = 2.0**-12
"""Growth of the hypervolume by less than this share of it counts as none."""

VISITORS = 8
"""One in so many of an island visits the next at a migration."""


def evolve(
    problem: Problem,
    settings: SearchSettings,
    *,
    resume_from: Generation | None = None,
    guests: Floats | None = None,
) -> Iterator[Generation]:
    """Search, one generation at a time.

    Args:
        problem: What to search and how to judge it.
        settings: How to search.
        resume_from: The last generation of a run with the same problem and settings; the bits of
            all that follow are those of the run that was never interrupted.
        guests: [N, G] genomes to begin with, beside the default one; they are repaired.

    Yields:
        Generations 0 (the strategy's default genome, guests and a uniform sample) to
        `settings.generations`, or those after `resume_from`. Arrays are read-only. A population is
        smaller than asked only when no further distinct individual was found.

    Raises:
        OptimizerError: When an evaluation contradicts itself.
    """
    toolbox = make_toolbox(problem, settings)
    first = 0 if resume_from is None else resume_from.number + 1
    state = _begun(problem, settings, resume_from)
    strangers = np.empty((0, len(problem.layout))) if guests is None else guests
    draws = Draws(settings.seed, first)
    for number in range(first, settings.generations + 1):
        started = perf_counter()
        draws.turn_to(number)
        if number == 0:
            brood = settle(toolbox, problem.layout, draws, settings.population, strangers)
            brood = _spread(brood, settings)
        else:
            plan = _plan(settings, state, number)
            elders = state.archive if settings.islands == 1 else state.archive.take(NONE)
            hosts = _hosts(state, settings, number)
            brood = breed(toolbox, problem.layout, draws, hosts, elders, plan)
        newcomers = _judged(toolbox, problem, brood, state.memory.evaluated)
        state = _next(toolbox, settings, state, brood, newcomers, number)
        yield Generation(
            number=number,
            population=state.population,
            evaluated=len(newcomers),
            seconds=perf_counter() - started,
            repaired=int(brood.is_repaired.sum()),
            rejected=count_failures(problem.failure_names, newcomers.failures),
            archive=state.archive,
            memory=to_numbers(state.memory),
            hypervolume=state.hypervolume,
        )


def final_front(generation: Generation) -> Population:
    """What a search has found by a generation: its archive, sorted by genome, first gene first."""
    archive = generation.archive
    return archive.take(np.lexsort(archive.genomes.T[::-1]))


def front_of(population: Population) -> Indices:
    """Find the feasible members that nobody dominates.

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
    front = front[np.lexsort(population.genomes[front].T[::-1])]
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


@dataclass(frozen=True)
class _State:
    """What a search has between two generations."""

    population: Population
    archive: Population
    memory: Memory
    hypervolume: float = 0.0
    rankings: tuple[Ranking, ...] = ()  # of each island's members, where they are known

    def islands(self) -> list[Population]:
        """The population of each island."""
        if len(self.memory.sizes) == 1:
            return [self.population]
        ends = np.cumsum((0, *self.memory.sizes)).tolist()
        return [self.population.take(np.arange(*pair)) for pair in pairwise(ends)]


def _begun(problem: Problem, settings: SearchSettings, last: Generation | None) -> _State:
    """The state after a generation, or before the first."""
    n_genes, n_objectives = len(problem.layout), problem.n_objectives
    empty = nobody(n_genes, n_objectives)
    memory = fresh_memory(len(ADAPTED), n_objectives)
    if last is None:
        return _State(empty, empty, memory)
    if len(last.memory):
        memory = from_numbers(last.memory, n_objectives)
        return _State(last.population, last.archive, memory, last.hypervolume)
    sizes = tuple(_parts(len(last.population), settings.islands))
    archive, _ = extended(empty, last.population, settings.archive)
    return _State(last.population, archive, replace(memory, sizes=sizes))


def _parts(count: int, islands: int) -> list[int]:
    """Sizes of islands that hold a count between them, the first ones larger."""
    return [count // islands + (i < count % islands) for i in range(islands)]


def _spread(brood: Brood, settings: SearchSettings) -> Brood:
    """The first brood, divided among the islands in turn."""
    return replace(brood, island=np.arange(len(brood)) % settings.islands)


def _is_stagnant(settings: SearchSettings, memory: Memory, number: int) -> bool:
    """Whether a generation has to answer that hypervolume has not grown for too long."""
    last = max(memory.grown_at, memory.stirred_at)
    return settings.patience is not None and number - last > settings.patience


def _plan(settings: SearchSettings, state: _State, number: int) -> Plan:
    """How to breed a generation."""
    memory = state.memory
    is_stagnant = _is_stagnant(settings, memory, number)
    answer = {"immigrants": STIR, "restart": 1.0}[settings.on_stagnation] if is_stagnant else 0.0
    rates = rates_of(memory.credits if settings.adapt else (1.0,) * len(memory.credits))
    return Plan(
        counts=tuple(_parts(settings.population, settings.islands)),
        rates=rates,
        elite=settings.elite if settings.islands == 1 else 0.0,
        immigrants=max(settings.immigrants, answer),
        rankings=() if _is_visited(settings, number) else state.rankings,
    )


def _is_visited(settings: SearchSettings, number: int) -> bool:
    """Whether the best of islands visit others in a generation."""
    return settings.islands > 1 and number % settings.migration == 0


def _hosts(state: _State, settings: SearchSettings, number: int) -> list[Population]:
    """Who breeds on each island: its own, and at times the best of the island before it."""
    own = state.islands()
    if not _is_visited(settings, number):
        return own
    best = [island.take(np.arange(-(-len(island) // VISITORS))) for island in own]
    return [Population.joined(island, best[i - 1]) for i, island in enumerate(own)]


def _judged(toolbox: Toolbox, problem: Problem, brood: Brood, first: int) -> Population:
    """A brood with its evaluation, numbered from `first`; an empty one is not worth a call."""
    if not len(brood):
        return nobody(len(problem.layout), problem.n_objectives)
    evaluation: Evaluation = toolbox.evaluate(brood.genomes)
    _check(evaluation, problem, len(brood))
    lineage = brood.lineage.copy()
    lineage[:, 0] = first + np.arange(len(brood))
    return Population(
        brood.genomes, evaluation.objectives, evaluation.violations, evaluation.failures, lineage
    )


def _next(
    toolbox: Toolbox,
    settings: SearchSettings,
    state: _State,
    brood: Brood,
    newcomers: Population,
    number: int,
) -> _State:
    """The state after a generation's newcomers were judged."""
    is_stagnant = number > 0 and _is_stagnant(settings, state.memory, number)
    is_new_start = is_stagnant and settings.on_stagnation == "restart"
    archive, admitted, low, high, size = _archived(state, newcomers, settings.archive)
    hosts = _hosts(state, settings, number) if number and not is_new_start else []
    keeps = _parts(settings.population, settings.islands)
    survived = [
        _survivors(toolbox, hosts[i] if hosts else None, newcomers, brood.island == i, keep)
        for i, keep in enumerate(keeps)
    ]
    survivors = [island for island, _ in survived]
    population = reduce(Population.joined, survivors)
    memory = replace(
        state.memory,
        evaluated=state.memory.evaluated + len(newcomers),
        sizes=tuple(len(island) for island in survivors),
        credits=credited(state.memory.credits, brood.lineage[:, 3], admitted),
        stirred_at=number if is_stagnant else state.memory.stirred_at,
        low=low,
        high=high,
    )
    if size > memory.best * (1.0 + TRIFLE):
        memory = replace(memory, best=size, grown_at=number)
    rankings = tuple(ranking for _, ranking in survived)
    return _State(population.frozen(), archive, memory, size, rankings)


def _archived(
    state: _State, newcomers: Population, keep: int
) -> tuple[Population, Indices, Floats, Floats, float]:
    """The archive, which newcomers it took, the box of the hypervolume, and the hypervolume."""
    archive, admitted = extended(state.archive, newcomers, keep)
    low, high = state.memory.low, state.memory.high
    if not state.memory.has_box and (newcomers.violations == 0).any():
        low, high = box_of(newcomers.objectives[newcomers.violations == 0])
    is_known = bool(np.isfinite(low).all())
    size = hypervolume(archive.objectives, low, high) if is_known else 0.0
    return archive, admitted, low, high, size


def _check(evaluation: Evaluation, problem: Problem, count: int) -> None:
    shapes = (
        evaluation.objectives.shape,
        evaluation.violations.shape,
        evaluation.failures.shape,
    )
    if shapes != ((count, problem.n_objectives), (count,), (count,)):
        raise OptimizerError(
            f"the evaluation of {count} individuals has the shapes {shapes}; "
            f"expected [{count}, {problem.n_objectives}], [{count}] and [{count}]"
        )
    if not np.array_equal(evaluation.violations == 0, evaluation.failures == 0):
        raise OptimizerError("an individual must have a failure just when it has a violation")
    if not ((evaluation.failures >= 0) & (evaluation.failures < len(problem.failure_names))).all():
        raise OptimizerError(f"failure codes must be below {len(problem.failure_names)}")


def _survivors(
    toolbox: Toolbox,
    hosts: Population | None,
    newcomers: Population,
    is_native: Bools,
    keep: int,
) -> tuple[Population, Ranking]:
    """The best of an island, best first, and their ranking; of equals the old before the new."""
    pool = newcomers if is_native.all() else newcomers.take(np.flatnonzero(is_native))
    if hosts is not None:
        pool = Population.joined(hosts, pool)
    ranking: Ranking = toolbox.rank(pool.objectives, pool.violations)
    order: Indices = toolbox.survive(pool.objectives, pool.violations, keep, ranking)
    kept = rank_survivors(ranking, pool.objectives, pool.violations, order)
    return pool.take(order), kept
