"""Who is better: non-dominated ranks, crowding distances and survival, without any randomness.

All objectives are minimised. Feasible individuals (violation 0) come before infeasible ones, by
front and then by crowding; infeasible ones follow by violation, whatever their objectives say, so
a NaN never ranks above a number. Where nothing else decides, the earlier index comes first.

Source: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", IEEE Transactions on Evolutionary Computation 6(2), 2002.
"""

from dataclasses import dataclass

import moocore
import numpy as np
import numpy.typing as npt

from optimizer.errors import OptimizerError

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

LARGE = 2.0**1000
"""Objectives beyond this are scaled before they are subtracted, so that no distance overflows."""


@dataclass(frozen=True)
class Ranking:
    """Where each individual of a population stands; smaller ranks and wider crowding are better.

    Args:
        ranks: [P], number of the non-dominated front, 0 the best; infeasible individuals continue
            the count after the last front, equal violations sharing a rank.
        crowding: [P], distance to the neighbours in the same front, infinite at its ends; 0 for
            infeasible individuals.
    """

    ranks: Indices
    crowding: Floats

    def order(self) -> Indices:
        """Indices [P], best first; the earlier index first where rank and crowding are equal."""
        return np.lexsort((-self.crowding, self.ranks))


def rank_individuals(objectives: Floats, violations: Floats) -> Ranking:
    """Rank a population by feasibility, front and crowding.

    Args:
        objectives: [P, O], minimised; finite where `violations` is 0, else not looked at.
        violations: [P], 0 where feasible, else above 0.

    Returns:
        Ranks and crowding distances; both are permuted as the individuals are, except that
        individuals with equal objectives may exchange their crowding distances.

    Raises:
        OptimizerError: When shapes disagree, a violation is negative or NaN, or a feasible
            individual has an objective that is not a finite number.
    """
    _check(objectives, violations)
    ranks = np.zeros(len(objectives), dtype=np.int64)  # [P]
    crowding = np.zeros(len(objectives), dtype=np.float64)  # [P]
    feasible = np.flatnonzero(violations == 0)
    infeasible = np.flatnonzero(violations > 0)
    n_fronts = 0
    if feasible.size:
        ranks[feasible] = nondominated_ranks(objectives[feasible])
        crowding[feasible] = crowding_distances(objectives[feasible], ranks[feasible])
        n_fronts = int(ranks[feasible].max()) + 1
    if infeasible.size:
        steps = np.unique(violations[infeasible], return_inverse=True)[1]
        ranks[infeasible] = n_fronts + steps
    return Ranking(ranks, crowding)


def survive(objectives: Floats, violations: Floats, keep: int) -> Indices:
    """Choose who goes on to the next generation.

    Args:
        objectives: [P, O], as in `rank_individuals`.
        violations: [P], as in `rank_individuals`.
        keep: How many survive, at least 0; all do when there are no more than that.

    Returns:
        [min(P, keep)] indices, best first.

    Raises:
        OptimizerError: As in `rank_individuals`.
    """
    return rank_individuals(objectives, violations).order()[:keep]


def nondominated_ranks(objectives: Floats) -> Indices:
    """Number of the non-dominated front of each individual.

    Args:
        objectives: [P, O], minimised, finite, O at least 1.

    Returns:
        [P], 0 for those that nobody dominates; equal individuals share a rank.
    """
    return np.asarray(moocore.pareto_rank(objectives), dtype=np.int64)


def crowding_distances(objectives: Floats, ranks: Indices) -> Floats:
    """Crowding distance of each individual within its front, all fronts at once.

    The bits are those of DEAP's `assignCrowdingDist` for a front that is listed in lexicographic
    order of its objectives: each objective is sorted stably on top of the order left by the one
    before it. (How DEAP lists a front, and so what it gives individuals that are equal in one
    objective, depends on the order of the population; here it does not.)

    Args:
        objectives: [P, O], minimised, finite.
        ranks: [P], number of the front.

    Returns:
        [P], infinite for the first and the last of each front in each objective.
    """
    n_individuals, n_objectives = objectives.shape
    distances = np.zeros(n_individuals, dtype=np.float64)  # [P]
    by_value = np.lexsort(objectives.T[::-1])
    # Sixteen bits make the stable sort by front a radix sort.
    fronts = ranks.astype(np.int16) if ranks.max(initial=0) < 2**15 else ranks
    bounds = _front_bounds(ranks)
    is_edge = np.zeros(n_individuals, dtype=np.bool_)
    is_edge[bounds[:-1]] = True
    is_edge[bounds[1:] - 1] = True
    for column in objectives.T:
        values = _subtractable(column)
        by_value = by_value[np.argsort(values[by_value], kind="stable")]
        by_front = by_value[np.argsort(fronts[by_value], kind="stable")]
        gaps = _neighbour_gaps(values[by_front], bounds, n_objectives)
        distances[by_front] += np.where(is_edge, np.inf, gaps)
    return distances


def _front_bounds(ranks: Indices) -> Indices:
    """First position of each front among individuals sorted by rank, then their number, [F + 1]."""
    sizes = np.bincount(ranks)
    return np.concatenate(([0], np.cumsum(sizes[sizes > 0])))


def _subtractable(values: Floats) -> Floats:
    """Values [P], halved often enough that differences of them stay finite."""
    return values * 2.0**-10 if np.abs(values).max(initial=0.0) > LARGE else values


def _neighbour_gaps(values: Floats, bounds: Indices, n_objectives: int) -> Floats:
    """Normalised distance between both neighbours of each value [P] sorted within its front.

    Positions at either end of a front have no such distance and get 0.
    """
    spans = n_objectives * (values[bounds[1:] - 1] - values[bounds[:-1]])  # [F]
    norms = np.repeat(np.where(spans > 0, spans, np.inf), np.diff(bounds))  # [P]
    gaps = np.zeros_like(values)
    gaps[1:-1] = values[2:] - values[:-2]
    # A gap that reaches into another front may be too wide for this front's norm.
    gaps[bounds[:-1]] = 0.0
    gaps[bounds[1:] - 1] = 0.0
    shares: Floats = gaps / norms
    return shares


def _check(objectives: Floats, violations: Floats) -> None:
    if objectives.ndim != 2 or violations.shape != objectives.shape[:1] or not objectives.shape[1]:
        raise OptimizerError(
            "objectives must be [P, O] with at least one column and violations [P], "
            f"got {objectives.shape} and {violations.shape}"
        )
    if not (violations >= 0).all():
        raise OptimizerError("violations must be 0 or above, and never NaN")
    wrong = np.flatnonzero((violations == 0) & ~np.isfinite(objectives).all(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise OptimizerError(
            f"individual {row} counts as feasible but its objectives are {objectives[row]}; "
            "an undefined objective must come with a violation above 0"
        )
