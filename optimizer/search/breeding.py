"""How the next newcomers come about: parents, operators and their rates, and no repeats.

Every operator makes a share of the newcomers. Shares follow how many of an operator's children
were admitted to the archive lately, so that a search finds out by itself what moves its problem.

Sources: probability matching with a floor, Thierens, "An adaptive pursuit strategy for allocating
operator probabilities", 2005; equal spacing of shares, Baker, "Reducing bias and inefficiency in
the selection algorithm", 1987; that no genome is judged twice is a house rule, it buys nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from optimizer.search.compiled.repeats import Seen
from optimizer.search.compiled.variation import repair
from optimizer.search.draws import Draws
from optimizer.search.generation import (
    LINEAGE,
    OPERATORS,
    UNKNOWN,
    Bools,
    Floats,
    Indices,
    Population,
    Serials,
)
from optimizer.search.operators import plain
from optimizer.search.ranking import Ranking
from optimizer.search.toolbox import Toolbox
from strategy import GenomeLayout

Redraw = Callable[[Floats], Floats]

ADAPTED = ("cross", "exchange", "difference", "mutate")
"""Operators whose rates adapt, in the order of a memory's credits."""

BRED = tuple(OPERATORS.index(name) for name in (*ADAPTED, "immigrate"))
"""Codes of the operators that make children, in the order of `count_children`."""

MUTATE, IMMIGRATE = OPERATORS.index("mutate"), OPERATORS.index("immigrate")

FLOOR = 0.25
"""This share of the newcomers is divided evenly, so that no operator is forgotten."""

LEARNING = 0.125
"""Weight of the newest generation in an operator's credit."""

MUTATION_ROUNDS = 4
"""How often an offspring that is already known is mutated again before it is given up."""

AHEAD = 3
"""Numbers that are drawn for each gene of a repeat; its first mutation takes two of them."""

IMMIGRANT_ROUNDS = 4
"""How often an individual from anywhere is then tried in its place before the place stays empty."""


@dataclass(frozen=True)
class Brood:
    """Newcomers before they are judged."""

    genomes: Floats  # [P, G]
    lineage: Serials  # [P, 4], columns `LINEAGE`; serials are still unknown
    is_repaired: Bools  # [P], whose genes broke a constraint when they were drawn
    island: Indices  # [P], where they were born

    def __len__(self) -> int:
        return len(self.genomes)


def settle(
    toolbox: Toolbox, layout: GenomeLayout, draws: Draws, count: int, warm_start: Floats
) -> Brood:
    """The first newcomers: the strategy as published, the warm start, and a uniform sample.

    Args:
        toolbox: Operators.
        layout: Genes.
        draws: Of the generation.
        count: How many in all.
        warm_start: [N, G] genomes to begin with, of which at most `count` less one are taken.

    Returns:
        The brood, each genome new.
    """
    genomes = toolbox.sample(draws("initial"), count=count)
    genomes[0] = layout.defaults
    n_given = min(len(warm_start), count - 1)
    genomes[1 : 1 + n_given] = warm_start[:n_given]
    codes = np.full(count, OPERATORS.index("sample"))
    codes[0] = OPERATORS.index("published")
    codes[1 : 1 + n_given] = OPERATORS.index("warm_start")
    drawn = _Drawn(genomes, codes, np.full((count, 2), UNKNOWN))
    return _distinct(toolbox, layout, draws, drawn, genomes)


def generate_offspring(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    parents: Sequence[Population],
    archive: Population,
    plan: "BreedingPlan",
) -> Brood:
    """Children of each island's population, none of them known.

    Args:
        toolbox: Operators.
        layout: Genes.
        draws: Of the generation.
        parents: Population of each island.
        archive: Of elite parents; empty when there are several islands.
        plan: How many children, and by which operators.

    Returns:
        The brood of all islands.
    """
    known = [*(island.genomes for island in parents), archive.genomes]
    n_known = sum(map(len, known))
    rows = np.empty((n_known + sum(plan.counts), len(layout)))
    pool = np.concatenate(known, out=rows[:n_known])
    pools = [pool] if len(parents) == 1 else known
    drawn = [
        _children(toolbox, draws, island, archive, pools[number], plan, number)
        for number, island in enumerate(parents)
    ]
    together = drawn[0]
    if len(drawn) > 1:
        together = _Drawn(
            np.concatenate([part.genomes for part in drawn]),
            np.concatenate([part.codes for part in drawn]),
            np.concatenate([part.parents for part in drawn]),
        )
    islands = np.repeat(np.arange(len(parents)), plan.counts)
    return _distinct(toolbox, layout, draws, together, rows, islands)


@dataclass(frozen=True)
class BreedingPlan:
    """How a generation is bred."""

    counts: tuple[int, ...]  # [I], children of each island
    rates: tuple[float, ...]  # [K], share of each operator in `ADAPTED`; their sum is 1
    elite: float  # chance of a parent to come from the archive
    immigrants: float  # share of the newcomers from anywhere
    rankings: tuple[Ranking, ...] = ()  # of each island's parents; empty when they are not known


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
    """Credits after a generation.

    Args:
        credits: [K] before.
        tried: Newcomers of each operator in `OPERATORS`.
        admitted: How many of these the archive took.

    Returns:
        [K]; that of an operator that made none, and all when none was admitted, stay.
    """
    if not any(admitted):
        return tuple(credits)
    codes = [OPERATORS.index(name) for name in ADAPTED]
    return tuple(
        credit + LEARNING * (admitted[code] / tried[code] - credit) if tried[code] else credit
        for credit, code in zip(credits, codes, strict=True)
    )


def shares(rates: Sequence[float], count: int, offset: float) -> list[int]:
    """Divide a count, each part its rate times the count rounded down or up.

    Args:
        rates: [K], sum 1.
        count: What to divide.
        offset: 0 to 1, random.

    Returns:
        [K], sum `count`.
    """
    edges = [0]
    reached = 0.0
    for rate in rates[:-1]:
        reached += rate
        edges.append(min(count, int(reached * count + offset)))
    edges.append(count)
    return [high - low for low, high in pairwise(edges)]


def count_children(draws: Draws, plan: BreedingPlan, island: int) -> tuple[int, ...]:
    """How many children of an island each operator in `ADAPTED` makes, and immigrants at last."""
    n_immigrants, n_bred = 0, plan.counts[island]
    if plan.immigrants:
        stirred = (plan.immigrants, 1.0 - plan.immigrants)
        n_immigrants, n_bred = shares(stirred, n_bred, float(draws("stir").random()))
    return (*shares(plan.rates, n_bred, float(draws("operator").random())), n_immigrants)


@dataclass(frozen=True)
class _Drawn:
    """Genomes [P, G] as operators left them, codes of these [P], and parents' serials [P, 2]."""

    genomes: Floats
    codes: Indices
    parents: Serials


def _children(
    toolbox: Toolbox,
    draws: Draws,
    population: Population,
    archive: Population,
    pool: Floats,
    plan: BreedingPlan,
    island: int,
) -> _Drawn:
    """Children of one island, repeats and broken constraints among them.

    Args:
        toolbox: Operators.
        draws: Of the generation.
        population: Of the island.
        archive: Where elite parents come from.
        pool: [N, G], genomes of both.
        plan: How many children, and by which operators.
        island: Number of the island.
    """
    sizes = count_children(draws, plan, island)
    n_cross, n_swap, n_differ, _, n_immigrants = sizes
    n_bred = sum(sizes[:-1])
    known = plan.rankings[island] if plan.rankings else None
    ranking = known or toolbox.rank(population.objectives, population.violations)
    has_elders = plan.elite > 0 and len(archive) > 0
    draws.ahead(count_numbers(sizes, len(population), pool.shape[1], has_elders=has_elders))
    chosen = toolbox.select(draws("select"), ranking, count=2 * n_bred)
    if has_elders:
        numbers = draws("elite").random((2, 2 * n_bred))
        elites = len(population) + (numbers[1] * len(archive)).astype(np.int64)
        chosen = np.where(numbers[0] < plan.elite, elites, chosen)
    chosen = chosen.reshape(n_bred, 2)
    # Rows of children, in this order: crossed, swapped, moved by a difference, nudged.
    moving, nudged = n_cross + n_swap, n_cross + n_swap + n_differ
    # Of two children the first counts, which the crossover puts in the mother's place.
    pairs = pool.take(chosen[:n_cross].ravel(), axis=0)
    crossed = toolbox.mate(draws("crossover"), pairs, both=False)
    mothers = pool.take(chosen[n_cross:, 0], axis=0)
    fathers = pool.take(chosen[n_cross:moving, 1], axis=0)
    swaps = toolbox.exchange(draws("exchange"), mothers[:n_swap], fathers)
    others = draws("difference").random((2, n_differ))
    ahead, behind = pool.take((others * len(pool)).astype(np.int64), axis=0)
    parents = mothers[n_swap : n_swap + n_differ]
    moves = toolbox.differ(draws("difference"), parents, ahead, behind)
    parts = [toolbox.mutate(draws("mutate"), np.concatenate([crossed, swaps, moves]))]
    parts.append(toolbox.nudge(draws("mutate"), mothers[n_swap + n_differ :]))
    serials = np.concatenate([population.lineage[:, 0], archive.lineage[:, 0]])
    lineage = np.full((n_bred + n_immigrants, 2), UNKNOWN)
    lineage[:n_bred] = serials[chosen]
    lineage[nudged:n_bred, 1] = UNKNOWN
    if n_immigrants:
        parts.append(toolbox.sample(draws("immigrate"), count=n_immigrants))
    return _Drawn(np.concatenate(parts), np.repeat(BRED, sizes), lineage)


def count_numbers(
    sizes: Sequence[int], n_parents: int, n_genes: int, *, has_elders: bool
) -> dict[str, int]:
    """How many numbers of each stream children take, from sizes as of `count_children`."""
    n_cross, n_swap, n_differ, _, n_immigrants = sizes
    n_bred = sum(sizes[:-1])
    return {
        "select": -(-4 * n_bred // n_parents) * n_parents,
        "elite": 4 * n_bred * has_elders,
        "crossover": n_cross * (1 + 3 * n_genes),
        "exchange": n_swap * n_genes,
        "difference": n_differ * (5 + n_genes),
        "mutate": 2 * n_bred * n_genes,
        "immigrate": n_immigrants * n_genes,
    }


def _distinct(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    drawn: _Drawn,
    rows: Floats,
    islands: Indices | None = None,
) -> Brood:
    """Repair genomes and replace those that are known; give up those that stay known.

    Args:
        toolbox: Operators.
        layout: Bounds and constraints.
        draws: Of the generation.
        drawn: P individuals as the operators left them.
        rows: [N + P, G], N genomes that exist already, before the place of those that are born.
        islands: [P], where each is born; None for the first newcomers, of whom a repeat is drawn
            anew where another is mutated before that, and who are divided among the islands later.

    Returns:
        Legal genomes, each new and there only once, at most P.
    """
    n_known = len(rows) - len(drawn.genomes)
    seen, genomes, codes = Seen(rows, n_known), rows[n_known:], drawn.codes
    is_repaired = repair_genomes(layout, drawn.genomes, genomes)[1]
    repeats = seen.admit(np.arange(n_known, len(rows))).nonzero()[0]
    if islands is not None:
        draws.ahead({"redraw": AHEAD * len(layout) * len(repeats)})
    for redraw, code in _redraws(toolbox, draws, can_mutate=islands is not None):
        if not repeats.size:
            break
        genomes[repeats], is_repaired[repeats] = repair_genomes(layout, redraw(genomes[repeats]))
        codes[repeats] = code
        repeats = repeats[seen.admit(n_known + repeats)]
    lineage = np.empty((len(genomes), len(LINEAGE)), dtype=np.int64)
    lineage[:, 0], lineage[:, 1:3], lineage[:, 3] = UNKNOWN, drawn.parents, codes
    if (is_immigrant := codes == IMMIGRATE).any():
        lineage[is_immigrant, 1:3] = UNKNOWN
    born = np.zeros(len(genomes), dtype=np.int64) if islands is None else islands
    if not repeats.size:
        return Brood(genomes, lineage, is_repaired, born)
    kept = np.delete(np.arange(len(genomes)), repeats)
    return Brood(genomes[kept], lineage[kept], is_repaired[kept], born[kept])


def _redraws(toolbox: Toolbox, draws: Draws, *, can_mutate: bool) -> list[tuple[Redraw, int]]:
    """Operators that replace repeats, tried in this order, with the codes of their children."""

    def mutate(genomes: Floats) -> Floats:
        return np.asarray(toolbox.mutate(draws("redraw"), genomes))

    def immigrate(genomes: Floats) -> Floats:
        return np.asarray(toolbox.sample(draws("immigrate"), count=len(genomes)))

    tries: list[tuple[Redraw, int]] = [(immigrate, IMMIGRATE)] * IMMIGRANT_ROUNDS
    return [(mutate, MUTATE)] * MUTATION_ROUNDS + tries if can_mutate else tries


def repair_genomes(
    layout: GenomeLayout, genomes: Floats, out: Floats | None = None
) -> tuple[Floats, Bools]:
    """Legal genomes [P, G] without negative zeros, and which of them broke a constraint [P].

    Genes with a step have values of it.

    The first are written to `out`, where it is given.
    """
    plain_genomes = plain(layout.from_grid(layout.to_grid(genomes)))
    legal = np.empty(plain_genomes.shape) if out is None else out
    is_broken = np.empty(len(plain_genomes), dtype=np.bool_)
    repair(plain_genomes, layout.low, layout.high, layout.is_int, layout.ordered, legal, is_broken)
    return legal, is_broken
