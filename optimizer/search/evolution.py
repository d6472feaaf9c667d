"""Searches on whole arrays, NSGA-II and a grid: ask to evaluate, tell generations, write nothing.

A generation depends on the seed, its number and the population before it, and on nothing else.
That is why a population is all that must be kept to go on with the same bits, and why threads,
chunks and devices, which change only how fast `evaluate` answers, cannot change a front.

Every point of a declared grid is judged chunk by chunk. A chunk is a generation, so that recording,
stopping and going on work as for any search. The archive after the last chunk is the true front of
the grid, which is why it is never truncated here. Points are counted with the last gene running
fastest: neighbours in that order share indicators.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", 2002; that no genome is evaluated twice is a house rule, because it buys nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from time import perf_counter

import numpy as np

from optimizer.config.settings import SearchSettings
from optimizer.errors import ConfigError
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
from strategy import Gene, GenomeLayout
from strategy.gene import NEARLY, compute_step_values

STIR = 0.5
"""Share of a generation that comes from anywhere when the search stagnates."""

TRIFLE = 2.0**-12
"""Growth of the hypervolume by less than this share of it counts as none."""

NONE: Indices = np.empty(0, dtype=np.int64)

FEWEST_FOR_A_THREAD = 2048
"""Individuals; a generation of 512 takes 3.5 ms without a thread and 4 to 5 with one."""

STEPS = 128
"""Steps from one bound to the other of a gene that is not whole."""

CHUNK = 8192
"""Points judged at once."""

MOST_POINTS = 100_000_000
"""A grid of more points is not searched to its end."""

UNBOUNDED = 2**31 - 1
"""The archive of a grid holds its whole front."""

OFF_GRID = "breaks_a_constraint"
"""Failure of grid points that are no legal genome; they are counted but never judged."""


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


@dataclass(frozen=True)
class Lattice:
    """A grid over the genes of a strategy, of `MOST_POINTS` points at most."""

    layout: GenomeLayout  # genes, bounds and constraints
    # [G], the values of each gene in rising order; one value for a gene that stays.
    values: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if len(self) > MOST_POINTS:
            raise ConfigError(
                f"the lattice has {len(self):,} points, at most {MOST_POINTS:,} are searched: "
                "take wider steps, or fewer genes"
            )

    def __len__(self) -> int:
        return prod(len(values) for values in self.values)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each gene has, [G]."""
        return tuple(len(values) for values in self.values)

    @property
    def chunks(self) -> int:
        """How many generations a search of the grid takes."""
        return -(-len(self) // CHUNK)

    def points(self, first: int, end: int) -> Floats:
        """Genomes of points number `first` to `end` - 1, [N, G]."""
        digits = np.unravel_index(np.arange(first, min(end, len(self))), self.sizes)
        return self.genomes(np.stack(digits, axis=1))

    def genomes(self, digits: Serials) -> Floats:
        """Genomes [N, G] by the number of each gene's value, [N, G]."""
        columns = [values[numbers] for values, numbers in zip(self.values, digits.T, strict=True)]
        return np.stack(columns, axis=1)


def make_lattice(layout: GenomeLayout, steps: Mapping[str, float]) -> Lattice:
    """A grid from the step of each gene that varies, from its low bound up to its high one.

    Genes without a step keep their default.

    Raises:
        ConfigError: When no gene has a step, a step is not above 0, not whole for a whole gene, or
            leaves values of the gene's own step, or some of its options.
        GeneError: When there is no such gene.
    """
    if not len(layout):
        raise ConfigError("a lattice needs genes, and the strategy has none: leave it out")
    if not steps:
        raise ConfigError("a lattice needs the step of a gene, such as --step reward_r=0.5")
    values = [np.array([gene.default], dtype=np.float64) for gene in layout.genes]
    for name, step in steps.items():
        gene = layout.gene(name)
        if not 0 < step < np.inf or (gene.is_int and step != int(step)):
            kind = "a whole number" if gene.is_int else "a number"
            raise ConfigError(f"the step of '{name}' must be {kind} above 0, got {step!r}")
        _check_own_step(gene, step)
        values[layout.index(name)] = _values(gene, step)
    return Lattice(layout, tuple(values))


def _check_own_step(gene: Gene, step: float) -> None:
    if gene.options and step != 1:
        raise ConfigError(
            f"the step of '{gene.name}' must be 1, got {step:g}: its options have no order"
        )
    if gene.step is not None and abs(step / gene.step - round(step / gene.step)) > NEARLY:
        raise ConfigError(
            f"the step of '{gene.name}' must be a multiple of its own, {gene.step:g}, got {step:g}"
        )


def _values(gene: Gene, step: float) -> Floats:
    """Values of a gene from its low bound on; the high bound counts if rounding nearly meets it."""
    n_steps = (gene.high - gene.low) / step
    if n_steps > MOST_POINTS:
        raise ConfigError(
            f"the lattice has {n_steps:,.0f} points and more, at most {MOST_POINTS:,} are searched"
        )
    numbers = np.arange(int(n_steps + NEARLY) + 1, dtype=np.float64)
    if gene.step is not None:
        # Multiples of its own step, so that these are values that a search may give it.
        numbers = numbers * round(step / gene.step)
        return compute_step_values(numbers, gene.low, gene.high, gene.step)
    return compute_step_values(numbers, gene.low, gene.high, step)


class Exploration:
    """A search of every legal point of a grid that its caller evaluates, also after a last chunk.

    A generation is a chunk. Its population is the archive, or without a feasible individual the
    nearest one so far.
    """

    def __init__(
        self, problem: Problem, lattice: Lattice, resume_from: Generation | None = None
    ) -> None:
        self._problem, self._lattice = problem, lattice
        self._memory = fresh_memory(0, problem.n_objectives)
        self._archive = empty_population(len(problem.layout), problem.n_objectives)
        self._nearest, self._number = self._archive, 0
        if resume_from is not None:
            self._nearest = resume_from.population
            self._memory = from_numbers(resume_from.memory, problem.n_objectives)
            self._archive, self._number = resume_from.archive, resume_from.number + 1

    def ask(self) -> Floats | None:
        """See `Search.ask`."""
        if self._number >= self._lattice.chunks:
            return None
        self._started = perf_counter()
        genomes = self._lattice.points(self._number * CHUNK, (self._number + 1) * CHUNK)
        self._legal = genomes[self._problem.layout.is_legal(genomes)]
        self._n_illegal = len(genomes) - len(self._legal)
        return self._legal

    def tell(self, evaluation: Evaluation) -> Generation:
        """See `Search.tell`."""
        memory, legal = self._memory, self._legal
        lineage = np.full((len(legal), len(LINEAGE)), UNKNOWN, dtype=np.int64)
        lineage[:, 0] = memory.evaluated + np.arange(len(legal))
        lineage[:, 3] = OPERATORS.index("lattice")
        newcomers = judged_population(self._problem, legal, lineage, evaluation)
        low, high = update_box(memory, newcomers)
        archive, _, size = update_archive(self._archive, newcomers, UNBOUNDED, low, high)
        evaluated = memory.evaluated + len(newcomers)
        memory = replace(memory, evaluated=evaluated, low=low, high=high)
        if size > memory.best:
            memory = replace(memory, best=size, grown_at=self._number)
        nearest = Population.concat(self._nearest, newcomers)
        nearest = nearest.take(np.argsort(nearest.violations, kind="stable")[:1])
        rejected = count_failures(self._problem.failure_names, newcomers.failures)
        if self._n_illegal:
            rejected[OFF_GRID] = self._n_illegal
        self._archive, self._memory, self._nearest = archive, memory, nearest
        self._number += 1
        return Generation(
            number=self._number - 1,
            population=archive if len(archive) else nearest,
            evaluated=len(newcomers),
            seconds=perf_counter() - self._started,
            repaired=0,
            rejected=rejected,
            archive=archive,
            memory=to_numbers(memory),
            hypervolume=size,
        )
