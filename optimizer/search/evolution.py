"""NSGA-II on whole arrays: asks to evaluate, tells frozen generations, and writes nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from optimizer.config.settings import SearchSettings
from optimizer.search.breeding import (
    ADAPTED,
    BreedingPlan,
    compute_rates,
    generate_offspring,
    make_toolbox,
    repair_genomes,
    settle,
    update_credits,
)
from optimizer.search.compiled.variation import Seen
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
    empty_population,
    final_front,
    fresh_memory,
    from_numbers,
    judged_population,
    to_numbers,
)
from optimizer.search.randomness import Draws
from optimizer.search.selection import (
    Ranking,
    compute_box,
    contributions,
    extend_archive,
    rank_and_choose,
    update_archive,
)
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


class Evolution:
    """A genetic search that its caller evaluates; see `generation.Search`.

    It begins with generation 0 (the strategy's default genome, the warm start and a uniform
    sample), or after the last generation of a run with the same problem and settings: the bits of
    all that follow are those of the run that was never interrupted. A population is smaller than
    asked only when no further distinct individual was found.

    Args:
        problem: What to search and how to judge it.
        settings: How to search, up to generation `settings.generations`.
        resume_from: That last generation.
        warm_start: [N, G] genomes to begin with, beside the default one; they are repaired.
    """

    def __init__(
        self,
        problem: Problem,
        settings: SearchSettings,
        resume_from: Generation | None = None,
        warm_start: Floats | None = None,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._warm_start = np.empty((0, len(problem.layout))) if warm_start is None else warm_start
        self._toolbox = make_toolbox(problem, settings)
        is_large = settings.population >= FEWEST_FOR_A_THREAD
        self._thread = ThreadPoolExecutor(1, "search") if is_large else None
        self._number = 0
        self._ranking: Ranking | None = None
        self._population = self._archive = empty_population(
            len(problem.layout), problem.n_objectives
        )
        self._memory = fresh_memory(len(ADAPTED), problem.n_objectives)
        if resume_from is not None:
            self._number, self._population = resume_from.number + 1, resume_from.population
            self._archive = resume_from.archive
            self._memory = from_numbers(resume_from.memory, problem.n_objectives)

    def ask(self) -> Floats | None:
        """See `Search.ask`."""
        settings, layout, number = self._settings, self._problem.layout, self._number
        if number > settings.generations:
            return None
        self._started = perf_counter()
        draws = Draws(settings.seed, number)
        if number == 0:
            brood = settle(self._toolbox, layout, draws, settings.population, self._warm_start)
        else:
            plan = plan_generation(settings, self._memory, number, self._ranking)
            elders = self._population, self._archive
            brood = generate_offspring(self._toolbox, layout, draws, elders, plan)
        brood.lineage[:, 0] = self._memory.evaluated + np.arange(len(brood))
        self._brood = brood
        return brood.genomes

    def tell(self, evaluation: Evaluation) -> Generation:
        """See `Search.tell`."""
        settings, number, brood, before = self._settings, self._number, self._brood, self._memory
        newcomers = judged_population(self._problem, brood.genomes, brood.lineage, evaluation)
        low, high = update_box(before, newcomers)
        # Archive and survivors do not know each other, and either takes as long.
        work = partial(update_archive, self._archive, newcomers, settings.archive, low, high)
        archiving = work if self._thread is None else self._thread.submit(work).result
        self._population, self._ranking = self._choose_survivors(newcomers)
        self._archive, admitted, size = archiving()
        codes = newcomers.lineage[:, 3]
        is_stirred = number > 0 and is_stagnant(settings, before, number)
        has_grown = size > before.best * (1.0 + TRIFLE)
        self._memory = Memory(
            evaluated=before.evaluated + len(newcomers),
            best=size if has_grown else before.best,
            grown_at=number if has_grown else before.grown_at,
            stirred_at=number if is_stirred else before.stirred_at,
            credits=update_credits(before.credits, _counts(codes), _counts(codes[admitted])),
            low=low,
            high=high,
        )
        self._number += 1
        return Generation(
            number=number,
            population=self._population,
            evaluated=len(newcomers),
            seconds=perf_counter() - self._started,
            repaired=int(np.count_nonzero(brood.is_repaired)),
            rejected=count_failures(self._problem.failure_names, newcomers.failures),
            archive=self._archive,
            memory=to_numbers(self._memory),
            hypervolume=size,
        )

    def _choose_survivors(self, newcomers: Population) -> tuple[Population, Ranking]:
        """The best of parents and newcomers, best first, and their ranking; of equals the old."""
        settings, parents = self._settings, self._population
        is_answered = self._number > 0 and is_stagnant(settings, self._memory, self._number)
        if self._number == 0 or (is_answered and settings.on_stagnation == "restart"):
            parents = newcomers.take(NONE)
        both = Population.concat(parents, newcomers)
        elders = self._ranking.ranks if self._ranking and len(parents) else NONE
        order, ranking = rank_and_choose(
            self._toolbox.survive.func,
            both.objectives,
            both.violations,
            settings.population,
            elders,
        )
        return both.take(order), ranking


def update_box(memory: Memory, newcomers: Population) -> tuple[Floats, Floats]:
    """The box of the hypervolume [O] and [O] after newcomers; the first feasible ones decide."""
    if memory.has_box or not (is_feasible := newcomers.violations == 0).any():
        return memory.low, memory.high
    return compute_box(newcomers.objectives[is_feasible])


def is_stagnant(settings: SearchSettings, memory: Memory, number: int) -> bool:
    """True if a generation has to answer that hypervolume has not grown for too long."""
    last = max(memory.grown_at, memory.stirred_at)
    return settings.patience is not None and number - last > settings.patience


def plan_generation(
    settings: SearchSettings, memory: Memory, number: int, ranking: Ranking | None = None
) -> BreedingPlan:
    """How to breed a generation, from the memory before it and the ranking of its parents."""
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


def _counts(codes: Indices) -> list[int]:
    """How many individuals each operator made."""
    counts: list[int] = np.bincount(codes, minlength=len(OPERATORS)).tolist()
    return counts


def stop_reason(settings: SearchSettings, generation: Generation, seconds: float) -> str:
    """Name of the knob that ends a search after its newest generation; empty to go on.

    Generations, evaluations and the plateau of the hypervolume are the same on every machine, so
    the same seed ends with the same front. Seconds, of search by this process, are not: a limit of
    time cuts a run wherever this machine has come to. Everything up to there has the bits of the
    run without a limit, and the run can go on from there.
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
    """All legal genomes [N, G] one step away from genomes [F, G], each once, and not among them.

    One gene differs by one step: its own if any, 1 for whole genes, 1/128 of the span of bounds for
    the others; or by the option of a gene without order. Those of the first genome come first; [N]
    is the place of the genome that each is a neighbour of.
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

    There are `at_most` at most; those of members that would be missed most come first. The front
    alone decides them, so that polishing adds no randomness and needs no record.
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


def front_hash(genomes: Floats, objectives: Floats) -> str:
    """Fingerprint of genomes [F, G] with objectives [F, O], the same for any order of members.

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
    """How many individuals failed for which reason, by codes [P]; only reasons that occurred."""
    counts = np.bincount(failures, minlength=len(names)).tolist()
    return {name: count for name, count in zip(names[1:], counts[1:], strict=True) if count}
