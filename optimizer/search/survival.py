"""Who goes on: three rules of survival for arrays, all feasibility first, without randomness.

``crowding`` is NSGA-II's own, in `ranking`. ``hypervolume`` differs from it in two ways. Of
individuals with equal objectives only the first counts, the others come after all fronts. And the
front that does not fit is thinned by what its members are worth (see `archive.thinned`), in
rounds, while crowding judges all of them at once. ``reference`` is NSGA-III, in
`reference_points`.

Source: Beume, Naujoks and Emmerich, "SMS-EMOA: multiobjective selection based on dominated
hypervolume", 2007, for the second rule; that it removes many at a time is a house rule.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from optimizer.search.archive import CONTRIBUTION_OBJECTIVES, thinned
from optimizer.search.generation import Floats
from optimizer.search.ranking import Ranking, rank_individuals, survive
from optimizer.search.reference_points import survive_by_reference

Indices = npt.NDArray[np.int64]
Rule = Callable[[Floats, Floats, int, Ranking | None], Indices]


def rule_of(name: str, n_objectives: int) -> Rule:
    """A rule of survival: objectives [P, O], violations [P], keep, ranking -> best first.

    Args:
        name: As `SearchSettings.survival`.
        n_objectives: O, which decides what ``"auto"`` is.
    """
    if name == "auto":
        name = "hypervolume" if n_objectives <= CONTRIBUTION_OBJECTIVES else "reference"
    rules: dict[str, Rule] = {
        "crowding": survive,
        "hypervolume": survive_by_hypervolume,
        "reference": survive_by_reference,
    }
    return rules[name]


def survive_by_hypervolume(
    objectives: Floats, violations: Floats, keep: int, ranking: Ranking | None = None
) -> Indices:
    """Choose who goes on, distinct fronts first, the last of them thinned by what it would cost.

    Args:
        objectives: [P, O], as in `rank_individuals`.
        violations: [P], as in `rank_individuals`.
        keep: How many survive, at least 0.
        ranking: That of `rank_individuals`, where it is known.

    Returns:
        [min(P, keep)] indices, best first.

    Raises:
        OptimizerError: As in `rank_individuals`.
    """
    ranking = ranking or rank_individuals(objectives, violations)
    ranks = _copies_last(violations, ranking)
    order = Ranking(ranks, ranking.crowding).order()
    if len(order) <= keep or not keep:
        return order[:keep]
    cut = ranks[order[keep - 1]]
    whole = order[ranks[order] < cut]
    last = np.flatnonzero(ranks == cut)
    if violations[last[0]] > 0 or len(whole) + len(last) == keep:
        return order[:keep]
    is_kept = np.zeros(len(ranks), dtype=np.bool_)
    is_kept[last[thinned(objectives[last], keep - len(whole))]] = True
    best: Indices = np.concatenate([whole, order[is_kept[order]]])
    return best


def _copies_last(violations: Floats, ranking: Ranking) -> Indices:
    """Ranks [P] in which copies of a feasible individual's objectives follow all fronts."""
    if not ranking.is_copy.any():
        return ranking.ranks
    n_fronts = int(ranking.ranks[violations == 0].max()) + 1
    # The infeasible, whose ranks begin after the last front, stay behind.
    is_moved = ranking.is_copy | (violations > 0)
    return np.where(is_moved, ranking.ranks + n_fronts, ranking.ranks)
