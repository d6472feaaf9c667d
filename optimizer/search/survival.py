"""Three rules of survival for arrays, all feasibility first, without randomness.

``crowding`` is NSGA-II's own, in `ranking`. ``hypervolume`` differs from it in two ways. Of
individuals with equal objectives only the first counts, the others come after all fronts. And the
front that does not fit loses those of its members in rounds that contribute least to its
hypervolume (see `archive.truncate_front`), while crowding judges all of them at once.
``reference`` is NSGA-III, in `reference_points`.

Source: Beume, Naujoks and Emmerich, "SMS-EMOA: multiobjective selection based on dominated
hypervolume", 2007, for the second rule; that it removes many at a time is a house rule.
"""

from collections.abc import Callable

import numpy as np

from optimizer.search.archive import (
    CONTRIBUTION_OBJECTIVES,
    REFERENCE,
    ROUNDS,
    WHOLE_OBJECTIVES,
    truncate_front,
)
from optimizer.search.compiled.survivors import choose_survivors
from optimizer.search.generation import Floats, Indices
from optimizer.search.ranking import Ranking, rank_individuals, rank_survivors, survive
from optimizer.search.reference_points import survive_by_reference

Rule = Callable[[Floats, Floats, int, Ranking | None], Indices]


def select_survival_rule(name: str, n_objectives: int) -> Rule:
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
    """Choose who goes on, distinct fronts first, the last of them truncated by hypervolume.

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
    ends = np.cumsum(np.bincount(ranks))
    cut = int(ends.searchsorted(keep))  # number of the front that may not fit
    last = np.flatnonzero(ranks == cut)
    if len(ranks) <= keep or not keep or ends[cut] == keep or violations[last[0]] > 0:
        return Ranking(ranks, ranking.crowding).order()[:keep]
    is_kept = ranks < cut
    room = keep - int(ends[cut] - len(last))
    is_kept[last[truncate_front(objectives[last], room)]] = True
    kept = np.flatnonzero(is_kept)
    return kept[Ranking(ranks[kept], ranking.crowding[kept]).order()]


def rank_and_choose(
    rule: Rule, objectives: Floats, violations: Floats, keep: int, elders: Indices
) -> tuple[Indices, Ranking]:
    """Choose who goes on by a rule, and rank these.

    Args:
        rule: Of survival.
        objectives: [P, O], as in `rank_individuals`.
        violations: [P], as in `rank_individuals`.
        keep: How many survive, at least 1.
        elders: As in `choose_survivors`.

    Returns:
        [min(P, keep)] indices, best first, and how `rank_individuals` ranks these.

    Raises:
        OptimizerError: As in `rank_individuals`.
    """
    if rule is survive_by_hypervolume and objectives.shape[1] == WHOLE_OBJECTIVES:
        rounds = ROUNDS, REFERENCE
        chosen = choose_survivors(objectives, violations, keep, elders, rounds)
        if chosen is not None:
            return chosen[0], Ranking(*chosen[1:])
    ranking = rank_individuals(objectives, violations)
    order = rule(objectives, violations, keep, ranking)
    return order, rank_survivors(ranking, objectives, violations, order)


def _copies_last(violations: Floats, ranking: Ranking) -> Indices:
    """Ranks [P] in which copies of a feasible individual's objectives follow all fronts."""
    if not ranking.is_copy.any():
        return ranking.ranks
    n_fronts = int(ranking.ranks[violations == 0].max()) + 1
    # The infeasible stay behind, with ranks after the last front.
    is_moved = ranking.is_copy | (violations > 0)
    return np.where(is_moved, ranking.ranks + n_fronts, ranking.ranks)
