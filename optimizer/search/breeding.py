"""How the next newcomers come about: parents, operators and their rates, and no repeats.

Every operator makes a share of the newcomers. Shares follow how many of an operator's children
were admitted to the archive lately, so that a search finds out by itself what moves its problem.

Every operator is a pure function of a random stream and arrays. It draws the same count of numbers
for the same shapes, uses only operations that IEEE 754 rounds exactly (no power, no logarithm),
and leaves its inputs alone, so equal streams give equal bits on every machine.

A gene with a step is varied as the whole number of its step. A gene without order is never moved
along; each operator documents its treatment.

The root of order eta + 1 in simulated binary crossover and polynomial mutation is a chain of
square roots, and the power a chain of squarings, which is why eta + 1 must be a power of two.

Sources: Deb and Agrawal, "Simulated binary crossover for continuous search space", Complex Systems
9, 1995; Deb and Goyal, "A combined genetic adaptive search (GeneAS) for engineering design",
Computer Science and Informatics 26, 1996; both in the bounded form of the authors' NSGA-II code.
Probability matching with a floor, Thierens, "An adaptive pursuit strategy for allocating operator
probabilities", 2005; equal spacing of shares, Baker, "Reducing bias and inefficiency in the
selection algorithm", 1987; that no genome is judged twice is a house rule, it buys nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from deap.base import Toolbox

from optimizer.config.settings import SearchSettings
from optimizer.config.values import ETAS
from optimizer.errors import ConfigError
from optimizer.search.compiled.fronts import rising_orders
from optimizer.search.compiled.variation import (
    Seen,
    choose_winners,
    cross,
    move,
    mutate,
    repair,
    sample,
)
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Bools,
    Floats,
    Indices,
    Population,
    Problem,
    Serials,
)
from optimizer.search.randomness import Draws
from optimizer.search.selection import Ranking, rank_individuals, select_survival_rule
from strategy import GenomeLayout

FINE, COARSE = 63, 3
"""Distribution indices of small and of wide steps."""

__all__ = ["Toolbox", "make_toolbox"]

ADAPTED = ("cross", "exchange", "difference", "mutate")
"""Operators whose rates adapt, in the order of a memory's credits."""

BRED = tuple(OPERATORS.index(name) for name in (*ADAPTED, "immigrate"))
"""Codes of the operators that make children, in the order of `count_children`."""

FLOOR = 0.25
"""This share of the newcomers is divided evenly, so that no operator is forgotten."""

LEARNING = 0.125
"""Weight of the newest generation in an operator's credit."""

MUTATION_ROUNDS = 4
"""How often an offspring that is already known is mutated again before it is given up."""

IMMIGRANT_ROUNDS = 4
"""How often an individual from anywhere is then tried in its place before the place stays empty."""


def plain(genomes: Floats) -> Floats:
    """Genomes [P, G] as compiled loops take them, copied only where they lie otherwise."""
    is_plain = genomes.flags.carray and genomes.dtype == np.float64
    return genomes if is_plain else np.require(genomes, np.float64, ["C", "W"])


def squarings(eta: int) -> int:
    """Count the squarings that make the power eta + 1, and the square roots that make its root.

    Raises:
        ConfigError: When `eta`, a distribution index, is none of `ETAS`.
    """
    if eta not in ETAS:
        raise ConfigError(
            f"eta must be one of {', '.join(map(str, ETAS))} "
            f"(one below a power of two, so that roots are exact everywhere), got {eta!r}"
        )
    return ETAS.index(eta) + 1


def sample_genomes(rng: np.random.Generator, layout: GenomeLayout, count: int) -> Floats:
    """Draw individuals [count, G] uniformly between their bounds, both included.

    Whole genes are uniform over whole values. Constraints are not repaired.
    """
    genomes = np.empty((count, len(layout)))
    draws = rng.random((count * len(layout),))
    sample(genomes, np.arange(count), count, draws, 0, layout.table)
    return genomes


def select_parents(rng: np.random.Generator, ranking: Ranking, count: int) -> Indices:
    """Choose parents by binary tournaments, [count] indices into a ranked population.

    Contestants come from one random permutation of the population after another, so that each
    individual takes part equally often. The better rank wins, then the wider crowding; the one who
    was drawn first wins a tie.
    """
    n_individuals = len(ranking.ranks)
    n_permutations = -(-2 * count // n_individuals)
    draws = rng.random((n_permutations, n_individuals))
    chosen = np.empty(count, dtype=np.int64)
    choose_winners(rising_orders(draws).ravel(), ranking.ranks, ranking.crowding, chosen)
    return chosen


def cross_simulated_binary(
    rng: np.random.Generator,
    parents: Floats,
    layout: GenomeLayout,
    *,
    eta: int,
    probability: float,
) -> Floats:
    """Cross neighbouring parents [P, G] (0 with 1, ...) by bounded simulated binary crossover.

    A pair is crossed with a probability, each of its genes then with chance 1/2; the last one of an
    odd number has no pair. Its child, the first of the two in the source, is inside the bounds,
    whole genes rounded: [P / 2, G]. Genes on which a pair agrees stay as they are; a gene without
    order on which it differs becomes the second parent's. Constraints are not repaired. `eta` is
    the distribution index, as of `squarings`.
    """
    n_squarings = squarings(eta)
    n_pairs = len(parents) // 2
    is_crossed = rng.random((n_pairs, 1)) < probability
    draws = rng.random((3, n_pairs, len(layout)))
    children = np.empty((n_pairs, len(layout)))
    cross(plain(parents), is_crossed, draws, layout.table, n_squarings, children)
    return children


def mutate_polynomial(
    rng: np.random.Generator,
    genomes: Floats,
    layout: GenomeLayout,
    *,
    eta: int,
    probability: float,
) -> Floats:
    """Move single genes of genomes [P, G], each with a probability, by bounded polynomial mutation.

    Mutants [P, G] are inside their bounds; a gene with equal bounds is frozen. A mutated whole gene
    moves by at least one, from a bound towards the inside; one without order becomes one of its
    other options, each as likely. Constraints are not repaired. `eta` is the distribution index, as
    of `squarings`.
    """
    return _mutate_parts(rng, genomes, layout, ((len(genomes), eta),), probability)


def exchange_genes(
    rng: np.random.Generator, mothers: Floats, fathers: Floats, share: float
) -> Floats:
    """Give each child [P, G] some genes of its father, with a chance, and the rest of its mother.

    It is inside the bounds when its parents are. Constraints are not repaired.

    Source: Syswerda, "Uniform crossover in genetic algorithms", 1989.
    """
    return np.where(rng.random(mothers.shape) < share, fathers, mothers)


def move_by_difference(
    rng: np.random.Generator, parents: Floats, ahead: Floats, behind: Floats, layout: GenomeLayout
) -> Floats:
    """Move parents [P, G] along differences [P, G] of two others, in some of their genes.

    Step and share of genes are drawn anew for each child: the step is uniform from 1/4 to 1, the
    chance of a gene is one of 1/8, 1/2 and 1. One gene at least moves. Where a child would leave
    its bounds it goes half of the way from its parent to the bound. A gene without order moves to
    where the difference ends, if it is one. Whole genes are rounded; constraints are not repaired.

    Source: Storn and Price, "Differential evolution", 1997; steps and shares are a house rule.
    """
    draws = rng.random((3, len(parents)))
    chances = rng.random(parents.shape)
    moved = np.empty(parents.shape)
    move(plain(parents), plain(ahead), plain(behind), draws, chances, layout.table, moved)
    return moved


def nudge_genomes(
    rng: np.random.Generator, genomes: Floats, layout: GenomeLayout, probability: float
) -> Floats:
    """Mutate genes of genomes [P, G] with a probability, half finely and half coarsely."""
    half = len(genomes) // 2
    parts = (half, FINE), (len(genomes) - half, COARSE)
    return _mutate_parts(rng, genomes, layout, parts, probability)


def nudge_chance(layout: GenomeLayout) -> float:
    """Chance of each gene to be nudged: one over the number of genes that are not frozen."""
    return 1.0 / max(1, int((layout.low < layout.high).sum()))


def _mutate_parts(
    rng: np.random.Generator,
    genomes: Floats,
    layout: GenomeLayout,
    parts: Iterable[tuple[int, int]],
    probability: float,
) -> Floats:
    """Mutants of genomes [P, G], so many at a time, each part with an index."""
    draws, mutants = rng.random((2 * genomes.size,)), np.array(genomes, np.float64, order="C")
    rows, first = np.arange(len(genomes)), 0
    for count, eta in parts:
        start, n_squarings = 2 * first * len(layout), squarings(eta)
        some = rows[first : first + count]
        mutate(mutants, some, count, draws, start, layout.table, float(probability), n_squarings)
        first += count
    return mutants


def make_toolbox(problem: Problem, settings: SearchSettings) -> Toolbox:
    """Bind the operators to a problem's genes and a run's settings: arrays in and arrays out.

    A person who knows DEAP finds `mate`, `mutate` and `select` under their usual names and
    may register another operator in their place. The words:

    - ``sample(rng, count=n) -> [n, G]``
    - ``select(rng, ranking, count) -> [count]`` indices of parents
    - ``mate(rng, parents [P, G]) -> [P / 2, G]``, a child of each pair
    - ``mutate(rng, genomes [P, G]) -> [P, G]``
    - ``exchange(rng, mothers [P, G], fathers [P, G]) -> [P, G]``
    - ``differ(rng, parents [P, G], ahead [P, G], behind [P, G]) -> [P, G]``
    - ``nudge(rng, genomes [P, G]) -> [P, G]``
    - ``rank(objectives [P, O], violations [P]) -> Ranking``
    - ``survive(objectives [P, O], violations [P], keep, ranking) -> [keep]``, best first
    """
    layout = problem.layout
    chance = settings.mutation_probability
    toolbox: Toolbox = Toolbox()
    toolbox.register("sample", sample_genomes, layout=layout)
    toolbox.register("select", select_parents)
    toolbox.register(
        "mate",
        cross_simulated_binary,
        layout=layout,
        eta=settings.crossover_eta,
        probability=settings.crossover_probability,
    )
    toolbox.register(
        "mutate",
        mutate_polynomial,
        layout=layout,
        eta=settings.mutation_eta,
        probability=nudge_chance(layout) if chance is None else chance,
    )
    toolbox.register("exchange", exchange_genes, share=0.5)
    toolbox.register("differ", move_by_difference, layout=layout)
    toolbox.register("nudge", nudge_genomes, layout=layout, probability=nudge_chance(layout))
    toolbox.register("rank", rank_individuals)
    toolbox.register("survive", select_survival_rule(settings.survival, problem.n_objectives))
    return toolbox


@dataclass(frozen=True)
class Brood:
    """Newcomers before they are judged."""

    genomes: Floats  # [P, G]
    lineage: Serials  # [P, 4], columns `LINEAGE`; serials are still unknown
    is_repaired: Bools  # [P], genomes with a constraint broken when they were drawn

    def __len__(self) -> int:
        return len(self.genomes)


def settle(
    toolbox: Toolbox, layout: GenomeLayout, draws: Draws, count: int, warm_start: Floats
) -> Brood:
    """The first newcomers: the strategy as published, the warm start [N, G], and a uniform sample.

    Of the warm start at most `count` less one are taken; each genome of the brood is new.
    """
    genomes = toolbox.sample(draws("initial"), count=count)
    genomes[0] = layout.defaults
    n_given = min(len(warm_start), count - 1)
    genomes[1 : 1 + n_given] = warm_start[:n_given]
    lineage = np.full((count, len(LINEAGE)), UNKNOWN)
    lineage[:, 3] = OPERATORS.index("sample")
    lineage[0, 3] = OPERATORS.index("published")
    lineage[1 : 1 + n_given, 3] = OPERATORS.index("warm_start")
    return _distinct(toolbox, layout, draws, genomes, lineage)


def generate_offspring(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    elders: tuple[Population, Population],
    plan: "BreedingPlan",
) -> Brood:
    """Children, none of them known, of elders: the population, and the archive of elite parents."""
    n_known = sum(map(len, elders))
    rows = np.empty((n_known + plan.count, len(layout)))
    pool = np.concatenate([each.genomes for each in elders], out=rows[:n_known])
    lineage = np.full((plan.count, len(LINEAGE)), UNKNOWN)
    _breed(toolbox, draws, elders, pool, plan, (rows[n_known:], lineage))
    return _distinct(toolbox, layout, draws, rows, lineage, is_bred=True)


@dataclass(frozen=True)
class BreedingPlan:
    """How a generation is bred."""

    count: int  # of children
    rates: tuple[float, ...]  # [K], share of each operator in `ADAPTED`; their sum is 1
    elite: float  # chance of a parent to come from the archive
    immigrants: float  # share of the newcomers from anywhere
    ranking: Ranking | None = None  # of the parents, if known


def compute_rates(credits: Sequence[float]) -> tuple[float, ...]:
    """Share of each operator [K], from how well it did; `FLOOR` of all is divided evenly."""
    total = sum(credits)
    even = 1.0 / len(credits)
    if total <= 0:
        return (even,) * len(credits)
    return tuple(FLOOR * even + (1.0 - FLOOR) * (credit / total) for credit in credits)


def update_credits(
    credits: Sequence[float], tried: Sequence[int], admitted: Sequence[int]
) -> tuple[float, ...]:
    """Credits [K] after a generation, from how many of each operator in `OPERATORS` were admitted.

    That of an operator that made none, and all when none was admitted, stay.
    """
    if not any(admitted):
        return tuple(credits)
    return tuple(
        credit + LEARNING * (admitted[code] / tried[code] - credit) if tried[code] else credit
        for credit, code in zip(credits, BRED[: len(ADAPTED)], strict=True)
    )


def shares(rates: Sequence[float], count: int, offset: float) -> list[int]:
    """Parts of a count [K], each its rate times the count rounded down or up; rates [K] have sum 1.

    The offset, 0 to 1, is random.
    """
    edges = [0]
    reached = 0.0
    for rate in rates[:-1]:
        reached += rate
        edges.append(min(count, int(reached * count + offset)))
    edges.append(count)
    return [high - low for low, high in pairwise(edges)]


def count_children(draws: Draws, plan: BreedingPlan) -> tuple[int, ...]:
    """How many children each operator in `ADAPTED` makes, and immigrants at last."""
    n_immigrants, n_bred = 0, plan.count
    if plan.immigrants:
        stirred = (plan.immigrants, 1.0 - plan.immigrants)
        n_immigrants, n_bred = shares(stirred, n_bred, float(draws("stir").random()))
    return (*shares(plan.rates, n_bred, float(draws("operator").random())), n_immigrants)


def _breed(
    toolbox: Toolbox,
    draws: Draws,
    elders: tuple[Population, Population],
    pool: Floats,
    plan: BreedingPlan,
    children: tuple[Floats, Serials],
) -> None:
    """Breed children, repeats and broken constraints among them.

    `pool` [N, G] has the genomes of all elders; `children` [P, G] and [P, 4] receive genomes, and
    parents and operators.
    """
    population, archive = elders
    has_elders = plan.elite > 0 and len(archive) > 0
    sizes = count_children(draws, plan)
    n_cross, n_swap, n_differ, n_nudged, n_immigrants = sizes
    n_bred = len(children[0]) - n_immigrants
    ranking = plan.ranking or toolbox.rank(population.objectives, population.violations)
    chosen = toolbox.select(draws("select"), ranking, count=2 * n_bred)
    if has_elders:
        numbers = draws("elite").random((2, 2 * n_bred))
        elites = len(population) + (numbers[1] * len(archive)).astype(np.int64)
        chosen = np.where(numbers[0] < plan.elite, elites, chosen)
    # Rows of children, in this order: crossed, swapped, moved by a difference, nudged.
    moving, nudged = n_cross + n_swap, n_bred - n_nudged
    pairs = pool.take(chosen[: 2 * n_cross], axis=0)
    crossed = toolbox.mate(draws("crossover"), pairs)
    mothers = pool.take(chosen[2 * n_cross :: 2], axis=0)
    fathers = pool.take(chosen[2 * n_cross + 1 : 2 * moving : 2], axis=0)
    swaps = toolbox.exchange(draws("exchange"), mothers[:n_swap], fathers)
    others = draws("difference").random((2, n_differ))
    ahead, behind = pool.take((others * len(pool)).astype(np.int64), axis=0)
    parents = mothers[n_swap : n_swap + n_differ]
    moves = toolbox.differ(draws("difference"), parents, ahead, behind)
    genomes, lineage = children
    genomes[:nudged] = toolbox.mutate(draws("mutate"), np.concatenate([crossed, swaps, moves]))
    genomes[nudged:n_bred] = toolbox.nudge(draws("mutate"), mothers[n_swap + n_differ :])
    if n_immigrants:
        genomes[n_bred:] = toolbox.sample(draws("immigrate"), count=n_immigrants)
    serials = np.concatenate([population.lineage[:, 0], archive.lineage[:, 0]])
    lineage[:n_bred, 1:3] = serials.take(chosen).reshape(n_bred, 2)
    lineage[nudged:n_bred, 2] = UNKNOWN
    end = 0
    for code, size in zip(BRED, sizes, strict=True):
        start, end = end, end + size
        lineage[start:end, 3] = code


def _distinct(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    rows: Floats,
    lineage: Serials,
    *,
    is_bred: bool = False,
) -> Brood:
    """A brood of at most P legal genomes, each new: repeats are replaced, or given up.

    `rows` [N + P, G] are N genomes that exist already, and P as the operators left them, with a
    lineage [P, 4]. A repeat is mutated before it is drawn anew, but not of the first newcomers.
    """
    n_known, is_repaired = len(rows) - len(lineage), np.empty(len(lineage), dtype=np.bool_)
    given, seen, genes = toolbox.mutate.keywords, Seen(rows, n_known), layout.table

    def admit(newcomers: Indices) -> Indices:
        """Repair newcomers; repeats are left."""
        repair(rows, newcomers, len(newcomers), genes, layout.ordered, n_known, is_repaired)
        return newcomers[seen.admit(newcomers)]

    left = admit(np.arange(n_known, len(rows)))
    n_mutations = MUTATION_ROUNDS if is_bred else 0
    for number in range(n_mutations + IMMIGRANT_ROUNDS):
        if not left.size:
            break
        count, n_numbers = len(left), len(left) * len(layout)
        if number < n_mutations:
            numbers, n_squarings = draws("redraw").random(2 * n_numbers), squarings(given["eta"])
            mutate(rows, left, count, numbers, 0, genes, float(given["probability"]), n_squarings)
            lineage[left - n_known, 3] = OPERATORS.index("mutate")
        else:
            sample(rows, left, count, draws("immigrate").random(n_numbers), 0, genes)
            lineage[left - n_known, 1:] = UNKNOWN, UNKNOWN, OPERATORS.index("immigrate")
        left = admit(left)
    if not left.size:
        return Brood(rows[n_known:], lineage, is_repaired)
    kept = np.delete(np.arange(len(lineage)), left - n_known)
    return Brood(rows[n_known:][kept], lineage[kept], is_repaired[kept])


def repair_genomes(layout: GenomeLayout, genomes: Floats) -> tuple[Floats, Bools]:
    """Legal genomes [P, G] without negative zeros, and flags [P] of repaired ones.

    Genes with a step have values of it.
    """
    count, legal = len(genomes), np.array(genomes, dtype=np.float64, order="C")
    is_broken = np.empty(count, dtype=np.bool_)
    repair(legal, np.arange(count), count, layout.table, layout.ordered, 0, is_broken)
    return legal, is_broken
