"""NSGA-II on whole arrays: a generator of frozen generations that prints and writes nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from optimizer.config.settings import SearchSettings
from optimizer.search.archive import (
    compute_box,
    contributions,
    extend_archive,
    rank_and_choose,
    update_archive,
)
from optimizer.search.breeding import (
    ADAPTED,
    BreedingPlan,
    Brood,
    compute_rates,
    generate_offspring,
    repair_genomes,
    settle,
    update_credits,
)
from optimizer.search.compiled.variation import Seen
from optimizer.search.compiling import compile_in_background
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Codes,
    Evaluation,
    Floats,
    Generation,
    Indices,
    Memory,
    Population,
    Problem,
    Serials,
    advance,
    empty_population,
    final_front,
    fresh_memory,
    from_numbers,
    judged_population,
    order_genomes,
    to_numbers,
)
from optimizer.search.operators import make_toolbox
from optimizer.search.randomness import Draws
from optimizer.search.ranking import Ranking, first_front
from strategy import GenomeLayout

STIR = 0.5
"""Share of a generation that comes from anywhere when the search stagnates."""

TRIFLE = 2.0**-12
"""Growth of the hypervolume by less than this share of it counts as none."""

NONE: Indices = np.empty(0, dtype=np.int64)

FEWEST_FOR_A_THREAD = 2048
"""Individuals; a generation of 512 takes 3.5 ms without a thread and 4 to 5 with one."""

STEPS = 128
"""Steps from one bound to the other of a gene that is not whole."""


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


class Steps:
    """Makes generations.

    Args:
        problem: What to search and how to judge it.
        settings: How to search.
        warm_start: [N, G] genomes to begin with, if there are any.
    """

    def __init__(
        self, problem: Problem, settings: SearchSettings, warm_start: Floats | None = None
    ) -> None:
        self._problem, self._settings = problem, settings
        self._warm_start = np.empty((0, len(problem.layout))) if warm_start is None else warm_start
        self._toolbox = make_toolbox(problem, settings)
        self._rule = self._toolbox.survive.func
        is_large = settings.population >= FEWEST_FOR_A_THREAD
        self._thread = ThreadPoolExecutor(1, "search") if is_large else None
        self._draws = Draws(settings.seed, self._thread)

    def breed(self, state: State, number: int) -> Brood:
        """The newcomers of a generation, numbered in the order in which all were bred."""
        brood = self._brood(state, number)
        if number < self._settings.generations:
            self._draws.begin_next()
        first = state.memory.evaluated
        brood.lineage[:, 0] = np.arange(first, first + len(brood))
        return brood

    def choose(self, state: State, brood: Brood, newcomers: Population, number: int) -> State:
        """The state after a brood was judged, as newcomers in its order.

        Equal arguments give equal bits.
        """
        settings, before = self._settings, state.memory
        low, high = update_box(before, newcomers)
        # Archive and survivors do not know each other, and either takes as long.
        work = partial(update_archive, state.archive, newcomers, settings.archive, low, high)
        archiving = work if self._thread is None else self._thread.submit(work).result
        population, ranking = self._choose_survivors(state, newcomers, number)
        archive, admitted, size = archiving()
        codes = newcomers.lineage[:, 3]
        is_stirred = number > 0 and is_stagnant(settings, before, number)
        has_grown = size > before.best * (1.0 + TRIFLE)
        memory = Memory(
            evaluated=before.evaluated + len(newcomers),
            best=size if has_grown else before.best,
            grown_at=number if has_grown else before.grown_at,
            stirred_at=number if is_stirred else before.stirred_at,
            credits=update_credits(before.credits, _counts(codes), _counts(codes[admitted])),
            low=low,
            high=high,
        )
        return State(population.freeze(), archive, memory, size, ranking)

    def _brood(self, state: State, number: int) -> Brood:
        settings, layout = self._settings, self._problem.layout
        draws = self._draws.switch_generation(number)
        if number == 0:
            return settle(self._toolbox, layout, draws, settings.population, self._warm_start)
        plan = plan_generation(settings, state.memory, number, state.ranking)
        elders = state.population, state.archive
        return generate_offspring(self._toolbox, layout, draws, elders, plan)

    def _choose_survivors(
        self, state: State, newcomers: Population, number: int
    ) -> tuple[Population, Ranking]:
        """The best of parents and newcomers, best first, and their ranking.

        Of equals the old come first.
        """
        settings, parents = self._settings, state.population
        if number == 0 or is_new_start(settings, state.memory, number):
            parents = newcomers.take(NONE)
        both = Population.concat(parents, newcomers)
        elders = state.ranking.ranks if state.ranking and len(parents) else NONE
        order, ranking = rank_and_choose(
            self._rule, both.objectives, both.violations, settings.population, elders
        )
        return both.take(order), ranking


def _counts(codes: Indices) -> list[int]:
    """How many individuals each operator made."""
    counts: list[int] = np.bincount(codes, minlength=len(OPERATORS)).tolist()
    return counts


def stop_reason(settings: SearchSettings, generation: Generation, seconds: float) -> str:
    """Why to stop after a generation before the last one planned.

    Args:
        settings: With the limits; those that are None never stop.
        generation: The newest.
        seconds: How long this process has searched.

    Returns:
        The name of the knob, or an empty string to go on.
    """
    limit, plateau = settings.max_evaluations, settings.plateau
    if limit is not None or plateau is not None:
        memory = from_numbers(generation.memory, generation.population.objectives.shape[1])
        if limit is not None and memory.evaluated + settings.population > limit:
            return "max_evaluations"
        if plateau is not None and generation.number - memory.grown_at >= plateau:
            return "plateau"
    if settings.max_seconds is not None and seconds >= settings.max_seconds:
        return "max_seconds"
    return ""


def neighbours(layout: GenomeLayout, genomes: Floats) -> tuple[Floats, np.ndarray]:
    """All genomes one step away, each once.

    Args:
        layout: Bounds and constraints.
        genomes: [F, G], legal.

    Returns:
        [N, G] legal genomes, none of them among `genomes`, those of the first genome first; and
        [N], the place of the genome that each is a neighbour of.
    """
    grid = layout.grid
    spans = grid.high - grid.low
    steps = np.where(grid.is_int, 1.0, spans / STEPS)
    moves = layout.axis_moves(np.where(spans > 0, steps, 0.0))
    origins = np.repeat(np.arange(len(genomes)), len(moves))
    moved = layout.move(genomes[:, None], moves).reshape(len(origins), len(layout))
    moved, _ = repair_genomes(layout, moved)
    rows = np.concatenate([genomes, moved])
    is_new = ~Seen(rows, len(genomes)).admit(np.arange(len(genomes), len(rows)))
    return moved[is_new], origins[is_new]


def list_neighbours(layout: GenomeLayout, last: Generation, at_most: int) -> tuple[Floats, Serials]:
    """Neighbours [N, G] of the front of the last generation, and their lineage [N, 4].

    There are `at_most` at most; those of members that would be missed most come first.
    """
    archive = last.archive
    if not len(archive) or at_most <= 0:
        return np.empty((0, len(layout))), np.empty((0, len(LINEAGE)), dtype=np.int64)
    order = np.argsort(-contributions(archive.objectives), kind="stable")
    genomes, origins = neighbours(layout, archive.genomes[order])
    genomes, origins = genomes[:at_most], order[origins[:at_most]]
    first = from_numbers(last.memory, archive.objectives.shape[1]).evaluated
    lineage = np.column_stack(
        [
            first + np.arange(len(genomes)),
            archive.lineage[origins, 0],
            np.full(len(genomes), UNKNOWN),
            np.full(len(genomes), OPERATORS.index("polish")),
        ]
    )
    return genomes, lineage


def polish_front(last: Generation, judged: Population, keep: int) -> Population:
    """The front that a search ends with, sorted by genome, after its neighbours were judged.

    It holds `keep` at most; without neighbours it is that of the last generation.
    """
    if not len(judged):
        return final_front(last)
    archive, _ = extend_archive(last.archive, judged, keep)
    return final_front(replace(last, archive=archive))


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
