"""NSGA-II on whole arrays: a generator of frozen generations that prints and writes nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from optimizer.errors import OptimizerError
from optimizer.generation import Codes, Evaluation, Floats, Generation, Population
from optimizer.problem import Problem, SearchSettings
from optimizer.randomness import stream
from optimizer.ranking import nondominated_ranks
from optimizer.toolbox import Toolbox, make_toolbox
from strategy import GenomeLayout

__all__ = ["Problem", "SearchSettings", "evolve", "front_hash", "front_of"]

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)
Draw = Callable[[str], np.random.Generator]
Redraw = Callable[[Floats], Floats]

MUTATION_ROUNDS = 4
"""How often an offspring that is already known is mutated again before it is given up."""

IMMIGRANT_ROUNDS = 4
"""How often an individual from anywhere is then tried in its place before the place stays empty."""


def evolve(
    problem: Problem, settings: SearchSettings, *, resume_from: Generation | None = None
) -> Iterator[Generation]:
    """Search, one generation at a time.

    Args:
        problem: What to search and how to judge it.
        settings: How to search.
        resume_from: The last generation of a run with the same problem and settings; the bits of
            all that follow are those of the run that was never interrupted.

    Yields:
        Generations 0 (the strategy's default genome and a uniform sample) to
        `settings.generations`, or those after `resume_from`. Arrays are read-only. A population is
        smaller than asked only when no further distinct individual was found.

    Raises:
        OptimizerError: When an evaluation contradicts itself.
    """
    toolbox = make_toolbox(problem, settings)
    first = 0 if resume_from is None else resume_from.number + 1
    population = None if resume_from is None else resume_from.population
    for number in range(first, settings.generations + 1):
        started = perf_counter()
        draw = partial(stream, settings.seed, number)
        if population is None:
            genomes, is_repaired = _settlers(toolbox, problem.layout, draw, settings.population)
        else:
            genomes, is_repaired = _offspring(
                toolbox, problem.layout, draw, settings.population, parents=population
            )
        newcomers = _judged(toolbox, problem, genomes)
        population = _survivors(toolbox, population, newcomers, settings.population)
        yield Generation(
            number=number,
            population=population,
            evaluated=len(newcomers),
            seconds=perf_counter() - started,
            repaired=int(is_repaired.sum()),
            rejected=_failure_counts(problem.failure_names, newcomers.failures),
        )


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
    front: Indices = feasible[nondominated_ranks(population.objectives[feasible]) == 0]
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


def _settlers(
    toolbox: Toolbox, layout: GenomeLayout, draw: Draw, count: int
) -> tuple[Floats, Bools]:
    """The first population: the strategy as published, and a uniform sample."""
    genomes = toolbox.sample(draw("initial"), count=count)
    genomes[0] = layout.defaults
    immigrate = _immigration(toolbox, draw)
    return _distinct(layout, genomes, None, [immigrate] * IMMIGRANT_ROUNDS)


def _offspring(
    toolbox: Toolbox, layout: GenomeLayout, draw: Draw, count: int, *, parents: Population
) -> tuple[Floats, Bools]:
    """Children of a population, none of them equal to a parent or to another child."""
    ranking = toolbox.rank(parents.objectives, parents.violations)
    chosen = toolbox.select(draw("select"), ranking, count=count)
    children = toolbox.mate(draw("crossover"), parents.genomes[chosen])
    children = toolbox.mutate(draw("mutate"), children)
    mutate = partial(toolbox.mutate, draw("redraw"))
    immigrate = _immigration(toolbox, draw)
    redraws = [mutate] * MUTATION_ROUNDS + [immigrate] * IMMIGRANT_ROUNDS
    return _distinct(layout, children, parents.genomes, redraws)


def _immigration(toolbox: Toolbox, draw: Draw) -> Redraw:
    rng = draw("immigrate")
    return lambda genomes: np.asarray(toolbox.sample(rng, count=len(genomes)))


def _distinct(
    layout: GenomeLayout, drawn: Floats, taken: Floats | None, redraws: Sequence[Redraw]
) -> tuple[Floats, Bools]:
    """Repair genomes and replace those that are known; give up those that stay known.

    Args:
        layout: Bounds and constraints.
        drawn: [P, G] as the operators left them.
        taken: [N, G] genomes that exist already.
        redraws: What to try on the repeats, one after the other.

    Returns:
        [Q, G] legal genomes, each new and there only once, Q at most P; and [Q], which of them
        broke a constraint when they were drawn.
    """
    seen = set() if taken is None else set(_row_keys(taken))
    genomes, is_repaired = _repair(layout, drawn)
    repeats = np.flatnonzero(_admit(genomes, seen))
    for redraw in redraws:
        if not repeats.size:
            break
        genomes[repeats], is_repaired[repeats] = _repair(layout, redraw(genomes[repeats]))
        repeats = repeats[_admit(genomes[repeats], seen)]
    is_kept = np.ones(len(genomes), dtype=np.bool_)
    is_kept[repeats] = False
    return genomes[is_kept], is_repaired[is_kept]


def _repair(layout: GenomeLayout, genomes: Floats) -> tuple[Floats, Bools]:
    """Legal genomes [P, G] without negative zeros, and which of them broke a constraint [P]."""
    legal, n_broken = layout.repair(genomes)
    is_broken = np.zeros(len(genomes), dtype=np.bool_)
    if n_broken:
        is_broken = (legal != layout.clip(genomes)).any(axis=1)
    return legal + 0.0, is_broken


def _admit(genomes: Floats, seen: set[bytes]) -> Bools:
    """Add genomes [P, G] to those seen, and say which were there before [P]."""
    is_known = np.zeros(len(genomes), dtype=np.bool_)
    for place, key in enumerate(_row_keys(genomes)):
        if key in seen:
            is_known[place] = True
        else:
            seen.add(key)
    return is_known


def _row_keys(genomes: Floats) -> list[bytes]:
    """The bytes of each genome, [P]."""
    rows = np.ascontiguousarray(genomes)
    keys: list[bytes] = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    return keys


def _judged(toolbox: Toolbox, problem: Problem, genomes: Floats) -> Population:
    """Genomes [P, G] with their evaluation; an empty array is not worth a call."""
    if not len(genomes):
        nothing = np.empty(0)
        return Population(
            genomes, np.empty((0, problem.n_objectives)), nothing, nothing.astype(np.int16)
        )
    evaluation: Evaluation = toolbox.evaluate(genomes)
    _check(evaluation, problem, len(genomes))
    return Population(genomes, evaluation.objectives, evaluation.violations, evaluation.failures)


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
    toolbox: Toolbox, population: Population | None, newcomers: Population, keep: int
) -> Population:
    """The best of old and new, best first; the old stand before the new where nothing decides."""
    pools = [newcomers] if population is None else [population, newcomers]
    objectives = np.concatenate([pool.objectives for pool in pools])
    violations = np.concatenate([pool.violations for pool in pools])
    order: Indices = toolbox.survive(objectives, violations, keep)
    return Population(
        genomes=_frozen(np.concatenate([pool.genomes for pool in pools])[order]),
        objectives=_frozen(objectives[order]),
        violations=_frozen(violations[order]),
        failures=_frozen(np.concatenate([pool.failures for pool in pools])[order]),
    )


def _frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _failure_counts(names: Sequence[str], failures: Codes) -> dict[str, int]:
    """How many individuals failed for which reason; only reasons that occurred."""
    counts = np.bincount(failures, minlength=len(names)).tolist()
    return {name: count for name, count in zip(names[1:], counts[1:], strict=True) if count}
