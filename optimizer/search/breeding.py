"""How the next newcomers come about: parents, operators and their rates, and no repeats.

Every operator makes a share of the newcomers. Shares follow how many of an operator's children
were admitted to the archive lately, so that a search finds out by itself what moves its problem.

Sources: probability matching with a floor, Thierens, "An adaptive pursuit strategy for allocating
operator probabilities", 2005; equal spacing of shares, Baker, "Reducing bias and inefficiency in
the selection algorithm", 1987; that no genome is judged twice is a house rule, it buys nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from optimizer.search.compiled.repeats import admit
from optimizer.search.compiled.variation import repair
from optimizer.search.generation import LINEAGE, OPERATORS, UNKNOWN, Floats, Population, Serials
from optimizer.search.operators import plain
from optimizer.search.randomness import restart, stream
from optimizer.search.ranking import Ranking
from optimizer.search.toolbox import Toolbox
from strategy import GenomeLayout

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
Redraw = Callable[[Floats], Floats]

ADAPTED = ("cross", "exchange", "difference", "mutate")
"""Operators whose rates adapt, in the order of a memory's credits."""

FLOOR = 0.25
"""This share of the newcomers is divided evenly, so that no operator is forgotten."""

LEARNING = 0.125
"""Weight of the newest generation in an operator's credit."""

MUTATION_ROUNDS = 4
"""How often an offspring that is already known is mutated again before it is given up."""

IMMIGRANT_ROUNDS = 4
"""How often an individual from anywhere is then tried in its place before the place stays empty."""


class Draws:
    """The random streams of one generation, each opened once and then drawn from in turn.

    Args:
        seed: Of the run.
        generation: Its number.
    """

    def __init__(self, seed: int, generation: int) -> None:
        self._address = (seed, generation)
        self._made: dict[str, np.random.Generator] = {}
        self._open: set[str] = set()

    def turn_to(self, generation: int) -> "Draws":
        """The streams of another generation; those of the one before must no longer be used."""
        self._address = (self._address[0], generation)
        self._open.clear()
        return self

    def __call__(self, purpose: str) -> np.random.Generator:
        """The stream of a purpose, where it was left."""
        if purpose not in self._made:
            self._made[purpose] = stream(*self._address, purpose)
        elif purpose not in self._open:
            restart(self._made[purpose], *self._address, purpose)
        self._open.add(purpose)
        return self._made[purpose]


@dataclass(frozen=True)
class Brood:
    """Newcomers before they are judged.

    Args:
        genomes: [P, G].
        lineage: [P, 4], columns `LINEAGE`; serials are still unknown.
        is_repaired: [P], whose genes broke a constraint when they were drawn.
        island: [P], where they were born.
    """

    genomes: Floats
    lineage: Serials
    is_repaired: Bools
    island: Indices

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
        warm_start: [N, G] genomes to begin with, of which as many as fit are taken.

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
    return _distinct(toolbox, layout, draws, drawn, genomes[:0], can_mutate=False)


def breed(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    parents: Sequence[Population],
    archive: Population,
    plan: "Plan",
) -> Brood:
    """Children of each island's population, none of them known.

    Args:
        toolbox: Operators.
        layout: Genes.
        draws: Of the generation.
        parents: Population of each island.
        archive: Where elite parents come from.
        plan: How many children, and by which operators.

    Returns:
        The brood of all islands.
    """
    drawn = [
        _children(toolbox, draws, island, archive, plan, number)
        for number, island in enumerate(parents)
    ]
    together = _Drawn(
        np.concatenate([part.genomes for part in drawn]),
        np.concatenate([part.codes for part in drawn]),
        np.concatenate([part.parents for part in drawn]),
    )
    known = np.concatenate([*(island.genomes for island in parents), archive.genomes])
    brood = _distinct(toolbox, layout, draws, together, known, can_mutate=True)
    return replace(brood, island=np.repeat(np.arange(len(parents)), plan.counts)[brood.island])


@dataclass(frozen=True)
class Plan:
    """How a generation is bred.

    Args:
        counts: [I], children of each island.
        rates: [K], share of each operator in `ADAPTED`; their sum is 1.
        elite: Chance of a parent to come from the archive.
        immigrants: Share of the newcomers from anywhere.
        rankings: Of each island's parents; empty when they are not known.
    """

    counts: tuple[int, ...]
    rates: tuple[float, ...]
    elite: float
    immigrants: float
    rankings: tuple[Ranking, ...] = ()


def rates_of(credits: Sequence[float]) -> tuple[float, ...]:
    """Share of each operator [K], from how well it did; `FLOOR` of all is divided evenly."""
    total = sum(credits)
    even = 1.0 / len(credits)
    if total <= 0:
        return (even,) * len(credits)
    return tuple(FLOOR * even + (1.0 - FLOOR) * (credit / total) for credit in credits)


def credited(
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
    places = [OPERATORS.index(name) for name in ADAPTED]
    return tuple(
        credit + LEARNING * (admitted[place] / tried[place] - credit) if tried[place] else credit
        for credit, place in zip(credits, places, strict=True)
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


def sizes_of(draws: Draws, plan: Plan, island: int) -> tuple[int, ...]:
    """How many children of an island each operator in `ADAPTED` makes, and immigrants at last."""
    count = plan.counts[island]
    stirred = (plan.immigrants, 1.0 - plan.immigrants)
    n_immigrants, n_bred = shares(stirred, count, float(draws("stir").random()))
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
    plan: Plan,
    island: int,
) -> _Drawn:
    """Children of one island, repeats and broken constraints among them."""
    sizes = sizes_of(draws, plan, island)
    n_cross, _, n_differ, _, n_immigrants = sizes
    parts = sizes[:-1]
    n_bred = sum(parts)
    known = plan.rankings[island] if plan.rankings else None
    ranking = known or toolbox.rank(population.objectives, population.violations)
    pool, chosen = _parents(toolbox, draws, population, archive, ranking, plan.elite, n_bred)
    mothers, fathers = chosen[:, 0], chosen[:, 1]
    ends = np.cumsum(parts)
    crossed = _crossed(toolbox, draws, pool, chosen[:n_cross])
    swapped = slice(n_cross, ends[1])
    genomes_of = partial(pool.take, axis=0)
    swaps = toolbox.exchange(
        draws("exchange"), genomes_of(mothers[swapped]), genomes_of(fathers[swapped])
    )
    differing = slice(ends[1], ends[2])
    others = draws("difference").random((2, n_differ))
    ahead, behind = np.floor(others * len(pool)).astype(np.int64)
    moves = toolbox.differ(
        draws("difference"), genomes_of(mothers[differing]), genomes_of(ahead), genomes_of(behind)
    )
    bred = toolbox.mutate(draws("mutate"), np.concatenate([crossed, swaps, moves]))
    nudged = toolbox.nudge(draws("mutate"), genomes_of(mothers[ends[2] :]))
    immigrants = toolbox.sample(draws("immigrate"), count=n_immigrants)
    codes = [OPERATORS.index(name) for name in (*ADAPTED, "immigrate")]
    serials = np.concatenate([population.lineage[:, 0], archive.lineage[:, 0]])
    lineage = serials.take(chosen)
    lineage[ends[2] :, 1] = UNKNOWN
    lineage = np.concatenate([lineage, np.full((n_immigrants, 2), UNKNOWN)])
    genomes = np.concatenate([bred, nudged, immigrants])
    return _Drawn(genomes, np.repeat(codes, sizes), lineage)


def _parents(
    toolbox: Toolbox,
    draws: Draws,
    population: Population,
    archive: Population,
    ranking: Ranking,
    elite: float,
    count: int,
) -> tuple[Floats, Indices]:
    """Genomes to breed from, and a mother and a father for each child [count, 2]."""
    pool = np.concatenate([population.genomes, archive.genomes])
    chosen = toolbox.select(draws("select"), ranking, count=2 * count)
    if not (elite and len(archive)):
        return pool, chosen.reshape(count, 2)
    numbers = draws("elite").random((2, 2 * count))
    places = len(population) + np.floor(numbers[1] * len(archive)).astype(np.int64)
    return pool, np.where(numbers[0] < elite, places, chosen).reshape(count, 2)


def _crossed(toolbox: Toolbox, draws: Draws, pool: Floats, chosen: Indices) -> Floats:
    """One child of each pair [N, 2]: the one that the crossover puts in the mother's place."""
    return np.asarray(toolbox.mate(draws("crossover"), pool.take(chosen.ravel(), axis=0)))[0::2]


def _distinct(
    toolbox: Toolbox,
    layout: GenomeLayout,
    draws: Draws,
    drawn: _Drawn,
    known: Floats,
    *,
    can_mutate: bool,
) -> Brood:
    """Repair genomes and replace those that are known; give up those that stay known.

    Args:
        toolbox: Operators.
        layout: Bounds and constraints.
        draws: Of the generation.
        drawn: P individuals as the operators left them.
        known: [N, G] genomes that exist already.
        can_mutate: Whether a repeat is mutated before it is drawn from anywhere.

    Returns:
        Legal genomes, each new and there only once, at most P; `island` is the place that each
        had in `drawn`.
    """
    seen = Seen(known, len(drawn.genomes))
    codes = drawn.codes.copy()
    genomes, is_repaired = repaired(layout, drawn.genomes)
    repeats = np.flatnonzero(seen.admit(genomes))
    for redraw, code in _redraws(toolbox, draws, can_mutate=can_mutate):
        if not repeats.size:
            break
        genomes[repeats], is_repaired[repeats] = repaired(layout, redraw(genomes[repeats]))
        codes[repeats] = code
        repeats = repeats[seen.admit(genomes[repeats])]
    is_kept = np.ones(len(genomes), dtype=np.bool_)
    is_kept[repeats] = False
    places = np.flatnonzero(is_kept)
    lineage = np.full((len(genomes), len(LINEAGE)), UNKNOWN)
    lineage[:, 1:3], lineage[:, 3] = drawn.parents, codes
    lineage[codes == OPERATORS.index("immigrate"), 1:3] = UNKNOWN
    if len(places) == len(genomes):
        return Brood(genomes, lineage, is_repaired, places)
    return Brood(genomes[places], lineage[places], is_repaired[places], places)


def _redraws(toolbox: Toolbox, draws: Draws, *, can_mutate: bool) -> list[tuple[Redraw, int]]:
    """What to try on repeats, one after the other, with the code that they then bear."""

    def mutate(genomes: Floats) -> Floats:
        return np.asarray(toolbox.mutate(draws("redraw"), genomes))

    def immigrate(genomes: Floats) -> Floats:
        return np.asarray(toolbox.sample(draws("immigrate"), count=len(genomes)))

    tries: list[tuple[Redraw, int]] = []
    if can_mutate:
        tries += [(mutate, OPERATORS.index("mutate"))] * MUTATION_ROUNDS
    return tries + [(immigrate, OPERATORS.index("immigrate"))] * IMMIGRANT_ROUNDS


def repaired(layout: GenomeLayout, genomes: Floats) -> tuple[Floats, Bools]:
    """Legal genomes [P, G] without negative zeros, and which of them broke a constraint [P]."""
    given = plain(genomes)
    legal, is_broken = np.empty(given.shape), np.empty(len(given), dtype=np.bool_)
    repair(given, layout.low, layout.high, layout.is_int, layout.ordered, legal, is_broken)
    return legal, is_broken


class Seen:
    """Genomes that exist already, to ask which others are new.

    Args:
        known: [N, G] genomes, none with a negative zero.
        room: How many more may be added.
    """

    def __init__(self, known: Floats, room: int) -> None:
        most = len(known) + room
        self._rows = np.empty((most, known.shape[1]), dtype=np.uint64)
        self._table = np.full(1 << (2 * most).bit_length(), -1)
        self._count = 0
        self.admit(known)

    def admit(self, genomes: Floats) -> Bools:
        """Add genomes [P, G] to those seen, and say which were there before [P]."""
        is_known = np.empty(len(genomes), dtype=np.bool_)
        rows = plain(genomes).view(np.uint64)
        self._count = admit(rows, self._rows, self._count, self._table, is_known)
        return is_known
