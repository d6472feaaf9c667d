"""Non-dominated ranks, crowding distances and survival, without any randomness.

All objectives are minimised. Feasible individuals (violation 0) come before infeasible ones, by
front and then by crowding; infeasible ones follow by violation, whatever their objectives say, so
a NaN never ranks above a number. Where nothing else decides, the earlier index comes first.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", IEEE Transactions on Evolutionary Computation 6(2), 2002.
"""

from dataclasses import dataclass, field

import moocore
import numpy as np

from optimizer.errors import OptimizerError
from optimizer.search.compiled.fronts import (
    compute_crowding_distances,
    first_in_blocks,
    rank_in_blocks,
    rank_in_order,
)
from optimizer.search.compiled.sorting import argsort_objectives, rising_orders
from optimizer.search.generation import Bools, Floats, Indices

SWEPT = (2, 3)
"""Numbers of objectives for which fronts are found by a sweep of our own, faster than moocore's."""


@dataclass(frozen=True)
class Ranking:
    """Where each individual of a population stands; smaller ranks and wider crowding are better."""

    # [P], number of the non-dominated front, 0 the best; infeasible individuals continue the
    # count after the last front, equal violations sharing a rank.
    ranks: Indices
    # [P], distance to the neighbours in the same front, infinite at its ends; 0 for
    # infeasible individuals.
    crowding: Floats
    # [P], has the objectives of an earlier feasible individual; none has when left out.
    is_copy: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def order(self) -> Indices:
        """Indices [P], best first; the earlier index first where rank and crowding are equal."""
        order: Indices = rising_orders(-self.crowding[None])[0]
        ranks = self.ranks[order]
        # With 16 bits or less, numpy counts instead of comparing.
        kind = np.uint16 if ranks.max(initial=0) < 2**16 else np.int64
        return order.take(ranks.astype(kind).argsort(kind="stable"))


def rank_individuals(objectives: Floats, violations: Floats) -> Ranking:
    """Rank a population by feasibility, front and crowding.

    Objectives [P, O] are finite where violations [P] are 0, else not looked at. Ranks and distances
    are permuted as the individuals are, except that individuals with equal objectives may exchange
    their crowding distances.

    Raises:
        OptimizerError: When shapes disagree, a violation is negative or NaN, or a feasible
            individual has an objective that is not a finite number.
    """
    is_feasible = violations == 0
    _check(objectives, violations, is_feasible)
    if is_feasible.all():
        return _rank_feasible(objectives)
    feasible = is_feasible.nonzero()[0]
    ranks = np.zeros(len(objectives), dtype=np.int64)  # [P]
    crowding = np.zeros(len(objectives), dtype=np.float64)  # [P]
    is_copy = np.zeros(len(objectives), dtype=np.bool_)  # [P]
    feasible_ranking = _rank_feasible(objectives.take(feasible, axis=0))
    ranks[feasible], crowding[feasible] = feasible_ranking.ranks, feasible_ranking.crowding
    is_copy[feasible] = feasible_ranking.is_copy
    n_fronts = int(feasible_ranking.ranks.max(initial=-1)) + 1
    infeasible = violations.nonzero()[0]
    infeasible = infeasible.take(violations.take(infeasible).argsort(kind="stable"))
    rising = violations.take(infeasible)
    ranks[infeasible[0]] = n_fronts
    ranks[infeasible[1:]] = n_fronts + (rising[1:] != rising[:-1]).cumsum()
    return Ranking(ranks, crowding, is_copy)


def _rank_feasible(objectives: Floats) -> Ranking:
    """Ranking of feasible individuals, objectives [P, O]."""
    columns = _columns(objectives)
    orders = argsort_objectives(columns)
    ranks, is_copy = _ranks(columns, orders)
    return Ranking(ranks, compute_crowding_distances(columns, orders, ranks), is_copy)


def rank_survivors(
    ranking: Ranking, objectives: Floats, violations: Floats, survivors: Indices
) -> Ranking:
    """Rank survivors [S], by whatever rule, from the ranking of all; copies are not looked for.

    Ranks stay, because all of the fronts before survived with them, or at least one of equals.
    Crowding is measured again, because neighbours may be gone.
    """
    ranks, crowding = ranking.ranks[survivors], np.zeros(len(survivors))
    feasible = (violations.take(survivors) == 0).nonzero()[0]
    measured = objectives.take(survivors[feasible], axis=0)
    crowding[feasible] = crowding_distances(measured, ranks[feasible])
    return Ranking(ranks, crowding)


def survive(
    objectives: Floats, violations: Floats, keep: int, ranking: Ranking | None = None
) -> Indices:
    """NSGA-II's rule of survival: by rank, then by crowding; see `archive.Rule`."""
    ranking = ranking or rank_individuals(objectives, violations)
    return ranking.order()[:keep]


def first_front(objectives: Floats) -> Bools:
    """Flags [P] of finite objectives [P, O] that none dominates; equals share a flag."""
    if objectives.shape[1] not in SWEPT:
        flags = moocore.is_nondominated(objectives, keep_weakly=True) if len(objectives) else ()
        return np.asarray(flags, dtype=np.bool_)
    ranks, _ = _first_ranks(objectives)
    return np.equal(ranks, 0)


def is_nondominated(objectives: Floats) -> Bools:
    """Flags [P] of finite objectives [P, O] that none dominates and no earlier one equals."""
    if objectives.shape[1] not in SWEPT:
        flags = moocore.is_nondominated(objectives) if len(objectives) else ()
        return np.asarray(flags, dtype=np.bool_)
    ranks, is_copy = _first_ranks(objectives)
    return np.equal(ranks, 0) & ~is_copy


def crowding_distances(objectives: Floats, ranks: Indices) -> Floats:
    """Crowding distance [P] of each individual within its front, by rank [P], all fronts at once.

    Infinite for the first and the last of each front in each objective. The bits are those of
    DEAP's `assignCrowdingDist` for a front that is listed in lexicographic order of its objectives:
    each objective is sorted stably on top of the order left by the one before it. (How DEAP lists a
    front, and so what it gives individuals that are equal in one objective, depends on the order of
    the population; here it does not.)
    """
    columns = _columns(objectives)
    return compute_crowding_distances(columns, argsort_objectives(columns), ranks)


def _columns(objectives: Floats) -> Floats:
    """Objectives as the loops read them, [O, P]: a copy, each objective in one piece."""
    return np.array(objectives.T, dtype=np.float64, order="C")


def _first_ranks(objectives: Floats) -> tuple[Indices, Bools]:
    """Ranks [P], 1 for all behind the first front, and flags of repeats of an earlier one [P]."""
    columns = _columns(objectives)
    if len(columns) == 3:
        return first_in_blocks(columns, argsort_objectives(columns, 2))
    return rank_in_order(columns, argsort_objectives(columns, 1)[0], 1)


def _ranks(columns: Floats, orders: Indices) -> tuple[Indices, Bools]:
    """Number of the front of each individual [P], and flags of repeats of an earlier one [P].

    By objectives [O, P] and their orders [O, P].
    """
    n_objectives, count = columns.shape
    if n_objectives not in SWEPT:
        numbers = moocore.pareto_rank(columns.T) if count else ()
        return np.asarray(numbers, dtype=np.int64), _copies(columns, orders[0])
    if n_objectives == 3 and count:
        ranked = rank_in_blocks(columns, orders)
        if ranked is not None:
            return ranked
    return rank_in_order(columns, orders[0], count)


def _copies(columns: Floats, order: Indices) -> Bools:
    """Flags [P] of repeats, from objectives [O, P] and their lexicographic order."""
    listed = columns[:, order]
    is_copy = np.zeros(len(order), dtype=np.bool_)
    is_copy[order[1:]] = (listed[:, 1:] == listed[:, :-1]).all(axis=0)
    return is_copy


def _check(objectives: Floats, violations: Floats, is_feasible: Bools) -> None:
    if objectives.ndim != 2 or violations.shape != objectives.shape[:1] or not objectives.shape[1]:
        raise OptimizerError(
            "objectives must be [P, O] with at least one column and violations [P], "
            f"got {objectives.shape} and {violations.shape}"
        )
    if not (is_feasible | (violations > 0)).all():
        raise OptimizerError("violations must be 0 or above, and never NaN")
    if np.isfinite(objectives).all():
        return
    feasible = np.flatnonzero(is_feasible)
    is_finite = np.isfinite(objectives.take(feasible, axis=0))
    if not is_finite.all():
        row = int(feasible[is_finite.all(axis=1).argmin()])
        raise OptimizerError(
            f"candidate {row} counts as feasible but its objectives are {objectives[row]}; "
            "an undefined objective must come with a violation above 0"
        )
