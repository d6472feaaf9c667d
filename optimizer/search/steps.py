"""From one generation to the next: newcomers are bred, judged and chosen from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optimizer.config.search import SearchSettings
from optimizer.errors import OptimizerError
from optimizer.search.archive import extended
from optimizer.search.breeding import Brood, Draws, breed, settle
from optimizer.search.generation import OPERATORS, Codes, Evaluation, Floats, Population, nobody
from optimizer.search.problem import Problem
from optimizer.search.ranking import Ranking, rank_survivors
from optimizer.search.state import (
    Found,
    State,
    box_after,
    ended,
    is_new_start,
    is_visited,
    parts,
    planned,
    remembered,
)
from optimizer.search.toolbox import Toolbox, make_toolbox

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

NONE: Indices = np.empty(0, dtype=np.int64)

VISITORS = 8
"""One in so many of an island visits the next at a migration."""


@dataclass(frozen=True)
class Step:
    """A generation that was made.

    Args:
        state: After it.
        repaired: Newcomers whose genes broke a constraint.
        failures: [N], of those who were judged.
    """

    state: State
    repaired: int
    failures: Codes


class HostSteps:
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
        nobody_yet = np.empty((0, len(problem.layout)))
        self._warm_start = nobody_yet if warm_start is None else warm_start
        self._toolbox = make_toolbox(problem, settings)
        self._draws = Draws(settings.seed, 0)

    def step(self, state: State, number: int) -> Step:
        """Make a generation."""
        settings = self._settings
        brood = self._brood(state, number)
        newcomers = self._judged(brood, state.memory.evaluated)
        archive, admitted = extended(state.archive, newcomers, settings.archive)
        hosts: Sequence[Population] = ()
        if number and not is_new_start(settings, state.memory, number):
            hosts = _hosts(state, settings, number)
        survivors = [
            self._survivors(hosts[i] if hosts else None, newcomers, brood.island == i, keep)
            for i, keep in enumerate(parts(settings.population, settings.islands))
        ]
        codes = newcomers.lineage[:, 3]
        tried, taken = _counts(codes), _counts(codes[admitted])
        found = Found(len(newcomers), tried, taken, *box_after(state.memory, newcomers))
        sizes = [len(island) for island, _ in survivors]
        memory = remembered(settings, state.memory, sizes, found, number)
        after = ended(survivors, archive, memory, number)
        return Step(after, int(brood.is_repaired.sum()), newcomers.failures)

    def _brood(self, state: State, number: int) -> Brood:
        settings, layout = self._settings, self._problem.layout
        draws = self._draws.turn_to(number)
        if number == 0:
            brood = settle(self._toolbox, layout, draws, settings.population, self._warm_start)
            # Divided among the islands in turn.
            return replace(brood, island=np.arange(len(brood)) % settings.islands)
        elders = state.archive if settings.islands == 1 else state.archive.take(NONE)
        hosts = _hosts(state, settings, number)
        plan = planned(settings, state.memory, number, state.rankings)
        return breed(self._toolbox, layout, draws, hosts, elders, plan)

    def _judged(self, brood: Brood, first: int) -> Population:
        """A brood with its evaluation, numbered from `first`."""
        evaluation = judged(self._problem, brood.genomes)
        lineage = brood.lineage.copy()
        lineage[:, 0] = first + np.arange(len(brood))
        return Population(
            brood.genomes,
            evaluation.objectives,
            evaluation.violations,
            evaluation.failures,
            lineage,
        )

    def _survivors(
        self, hosts: Population | None, newcomers: Population, is_native: Bools, keep: int
    ) -> tuple[Population, Ranking]:
        """The best of an island, best first, and their ranking; of equals the old come first."""
        toolbox: Toolbox = self._toolbox
        pool = newcomers if is_native.all() else newcomers.take(np.flatnonzero(is_native))
        if hosts is not None:
            pool = Population.joined(hosts, pool)
        ranking: Ranking = toolbox.rank(pool.objectives, pool.violations)
        order: Indices = toolbox.survive(pool.objectives, pool.violations, keep, ranking)
        kept = rank_survivors(ranking, pool.objectives, pool.violations, order)
        return pool.take(order), kept


def judged(problem: Problem, genomes: Floats) -> Evaluation:
    """What a problem says of genomes [P, G]; of nobody it is not asked.

    Raises:
        OptimizerError: When an evaluation contradicts itself.
    """
    if not len(genomes):
        empty = nobody(genomes.shape[1], problem.n_objectives)
        return Evaluation(empty.objectives, empty.violations, empty.failures)
    evaluation = problem.evaluate(genomes)
    _check(evaluation, problem, len(genomes))
    return evaluation


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


def _hosts(state: State, settings: SearchSettings, number: int) -> list[Population]:
    """Who breeds on each island: its own, and at times the best of the island before it."""
    own = state.islands()
    if not is_visited(settings, number):
        return own
    best = [island.take(np.arange(-(-len(island) // VISITORS))) for island in own]
    return [Population.joined(island, best[i - 1]) for i, island in enumerate(own)]


def _counts(codes: Indices) -> list[int]:
    """How many individuals each operator made."""
    counts: list[int] = np.bincount(codes, minlength=len(OPERATORS)).tolist()
    return counts
