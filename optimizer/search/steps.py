"""Steps of a generation: variation, evaluation by the caller, selection."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

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
    plan_generation,
    update_box,
)
from optimizer.search.survival import rank_and_choose
from optimizer.search.toolbox import make_toolbox

NONE: Indices = np.empty(0, dtype=np.int64)

FEWEST_FOR_A_THREAD = 2048
"""Individuals; a generation of 512 takes 3.5 ms without a thread and 4 to 5 with one."""


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
