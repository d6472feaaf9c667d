"""Steps of a generation: variation, evaluation by the caller, selection."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from optimizer.config.search import SearchSettings
from optimizer.search.archive import update_archive
from optimizer.search.breeding import Brood, generate_offspring, settle, update_credits
from optimizer.search.draws import Draws
from optimizer.search.generation import OPERATORS, Floats, Indices, Population
from optimizer.search.memory import Memory
from optimizer.search.problem import Problem
from optimizer.search.ranking import Ranking
from optimizer.search.state import (
    TRIFLE,
    State,
    is_new_start,
    is_stagnant,
    is_visited,
    parts,
    plan_generation,
    update_box,
)
from optimizer.search.survival import rank_and_choose
from optimizer.search.toolbox import make_toolbox

NONE: Indices = np.empty(0, dtype=np.int64)

FEWEST_FOR_A_THREAD = 2048
"""Individuals; a generation of 512 takes 3.5 ms without a thread and 4 to 5 with one."""

VISITORS = 8
"""One in so many of an island visits the next at a migration."""


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
        pools = self._pools(state, newcomers, brood.island, number)
        sizes = parts(settings.population, settings.islands)
        known = state.rankings or (None,) * settings.islands
        survivors = [
            self._survivors(pool, count, ranking)
            for pool, count, ranking in zip(pools, sizes, known, strict=True)
        ]
        archive, admitted, size = archiving()
        codes = newcomers.lineage[:, 3]
        is_stirred = number > 0 and is_stagnant(settings, before, number)
        has_grown = size > before.best * (1.0 + TRIFLE)
        memory = Memory(
            evaluated=before.evaluated + len(newcomers),
            best=size if has_grown else before.best,
            grown_at=number if has_grown else before.grown_at,
            stirred_at=number if is_stirred else before.stirred_at,
            sizes=tuple(len(island) for island, _ in survivors),
            credits=update_credits(before.credits, _counts(codes), _counts(codes[admitted])),
            low=low,
            high=high,
        )
        population = reduce(Population.concat, (island for island, _ in survivors)).freeze()
        rankings = tuple(ranking for _, ranking in survivors)
        return State(population, archive, memory, size, rankings)

    def _brood(self, state: State, number: int) -> Brood:
        settings, layout = self._settings, self._problem.layout
        draws = self._draws.switch_generation(number)
        if number == 0:
            brood = settle(self._toolbox, layout, draws, settings.population, self._warm_start)
            # Divided among the islands in turn.
            return replace(brood, island=np.arange(len(brood)) % settings.islands)
        elders = state.archive if settings.islands == 1 else state.archive.take(NONE)
        parents = _parents(state, settings, number)
        plan = plan_generation(settings, state.memory, number, state.rankings)
        return generate_offspring(self._toolbox, layout, draws, parents, elders, plan)

    def _pools(
        self, state: State, newcomers: Population, island: Indices, number: int
    ) -> list[tuple[Population, Population]]:
        """Competitors of each island: its parents, and the newcomers born there."""
        settings, natives = self._settings, [newcomers]
        if settings.islands > 1:
            born = [np.flatnonzero(island == i) for i in range(settings.islands)]
            natives = [newcomers.take(indices) for indices in born]
        if number == 0 or is_new_start(settings, state.memory, number):
            return [(born.take(NONE), born) for born in natives]
        return list(zip(_parents(state, settings, number), natives, strict=True))

    def _survivors(
        self, pool: tuple[Population, Population], keep: int, known: Ranking | None
    ) -> tuple[Population, Ranking]:
        """The best of an island, best first, and their ranking; of equals the old come first."""
        both = Population.concat(*pool)
        elders = known.ranks if known and len(pool[0]) else NONE
        order, ranking = rank_and_choose(self._rule, both.objectives, both.violations, keep, elders)
        return both.take(order), ranking


def _parents(state: State, settings: SearchSettings, number: int) -> list[Population]:
    """Parents of each island: its own, and at times the best of the island before it."""
    islands = state.islands()
    if not is_visited(settings, number):
        return islands
    best = [island.take(np.arange(-(-len(island) // VISITORS))) for island in islands]
    return [Population.concat(island, best[i - 1]) for i, island in enumerate(islands)]


def _counts(codes: Indices) -> list[int]:
    """How many individuals each operator made."""
    counts: list[int] = np.bincount(codes, minlength=len(OPERATORS)).tolist()
    return counts
