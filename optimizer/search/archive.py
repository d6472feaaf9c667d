"""The best compromises ever seen: kept, truncated and measured without randomness.

An archive holds feasible individuals that no found one dominates, one for each combination of
objectives (the first that had it), in the order of their discovery.

A full archive drops the least missed members: with two or three objectives those with the least
hypervolume, else the most crowded. The best in each objective always stay, and of two equals the
older one stays.

Contributions to the hypervolume of three objectives are whole numbers: each objective is cut into
2**20 cells, and the cells that a member alone dominates are counted, so that no program's order of
sums decides who stays.

Sources: hypervolume, and contributions of two objectives, by moocore (Fonseca, Paquete,
Lopez-Ibanez, 2006; Guerreiro and Fonseca, 2018); whole numbers, and removal in rounds, because one
removal changes the contributions of its neighbours, are house rules.
"""

from collections.abc import Callable

import moocore
import numpy as np
import numpy.typing as npt

from optimizer.search.compiled.choosing import choose_survivors, keep_compromises
from optimizer.search.compiled.contributions import CELLS, compute_volume
from optimizer.search.compiled.leaving import Front
from optimizer.search.generation import Floats, Indices, Population
from optimizer.search.randomness import stream
from optimizer.search.ranking import (
    Ranking,
    crowding_distances,
    is_nondominated,
    rank_individuals,
    rank_survivors,
    survive,
)
from optimizer.search.reference_points import survive_by_reference

Contributions = npt.NDArray[np.float64] | npt.NDArray[np.int64]

MARGIN = 0.1
"""The reference point lies this share of the front's extent beyond its worst values."""

REFERENCE = int((1.0 + MARGIN) * CELLS)
"""The same in whole cells, in each of three objectives."""

ROUNDS = 4
"""In so many rounds what is too much of a population is removed."""

ARCHIVE_ROUNDS = 2
"""Likewise of an archive, where little is too much at a time."""

EXACT_OBJECTIVES = 4
"""Up to so many objectives hypervolume is exact; beyond it is estimated by sampling."""

CONTRIBUTION_OBJECTIVES = 3
"""Up to so many objectives contributions are fast for any size of archive."""

WHOLE_OBJECTIVES = 3
"""With so many objectives contributions are whole numbers, found by a loop of our own."""

SAMPLES = 2048
"""Points of the estimate; the share of them that is dominated."""

Rule = Callable[[Floats, Floats, int, Ranking | None], Indices]


def extend_archive(
    archive: Population, newcomers: Population, keep: int
) -> tuple[Population, Indices]:
    """An archive after newcomers were judged, and which of these are in it [N].

    It is mutually undominated, without equals, and holds `keep` at most.
    """
    unknown = np.full(newcomers.objectives.shape[1], np.nan)
    return update_archive(archive, newcomers, keep, unknown, unknown)[:2]


def update_archive(
    archive: Population, newcomers: Population, keep: int, low: Floats, high: Floats
) -> tuple[Population, Indices, float]:
    """The same, and the hypervolume of the archive in a box.

    The box is given by its best and its worst corner, [O] each; where the best one is NaN the
    hypervolume is 0.
    """
    both = Population.concat(archive, newcomers)
    if both.objectives.shape[1] == WHOLE_OBJECTIVES:
        rounds = ARCHIVE_ROUNDS, REFERENCE
        best, size = keep_compromises(both.objectives, both.violations, keep, rounds, (low, high))
    else:
        best, size = find_compromises(both.objectives, both.violations, keep, low, high)
    n_before = int(best.searchsorted(len(archive)))
    return both.take(best), best[n_before:] - len(archive), size


def find_compromises(
    objectives: Floats, violations: Floats, keep: int, low: Floats, high: Floats
) -> tuple[Indices, float]:
    """Places [F] of the best compromises, rising, and their hypervolume as of `update_archive`.

    Of objectives [P, O] with violations [P]; only the feasible, of violation 0, can be.
    """
    feasible = (violations == 0).nonzero()[0]
    of_feasible = objectives.take(feasible, axis=0)
    best = is_nondominated(of_feasible).nonzero()[0]
    if len(best) > keep:
        best = best[truncate_front(of_feasible.take(best, axis=0), keep, ARCHIVE_ROUNDS)]
    kept = of_feasible.take(best, axis=0)
    return feasible[best], 0.0 if np.isnan(low[0]) else hypervolume(kept, low, high)


def truncate_front(objectives: Floats, keep: int, rounds: int = ROUNDS) -> Indices:
    """Members of a front [F, O] that are kept, ascending, when there are more than `keep`.

    The others leave in rounds; `keep` and `rounds` are 1 or more.
    """
    kept: Indices = np.arange(len(objectives))
    excess = len(kept) - keep
    if excess <= 0:
        return kept
    if objectives.shape[1] == WHOLE_OBJECTIVES:
        front = Front(objectives, REFERENCE)
        front.truncate(keep, rounds)
        return front.rows
    step = -(-excess // rounds)
    for gone in range(0, excess, step):
        missed = contributions(objectives[kept])
        # Stable on the reversed order: of equals the later one leaves.
        by_loss = len(kept) - 1 - np.argsort(missed[::-1], kind="stable")
        stays = np.ones(len(kept), dtype=np.bool_)
        stays[by_loss[: min(step, excess - gone)]] = False
        kept = kept[stays]
    return kept


def contributions(objectives: Floats) -> Contributions:
    """Loss [F] to a front [F, O] without each of its members, F at least 1.

    With two objectives that is its hypervolume contribution, with one and from four on its crowding
    distance. With three it is the contribution in whole cells: objectives are scaled by the front's
    extent to 0..1, times `CELLS`, rounded down, and the volume below `REFERENCE` counts that no
    other member dominates; where two are equal after rounding neither has any.

    Later ones of equals have 0; the first of the best in each objective is infinite, with three
    objectives `compiled.contributions.MOST`.
    """
    count, n_objectives = objectives.shape
    if n_objectives == 1 or n_objectives > CONTRIBUTION_OBJECTIVES:
        return crowding_distances(objectives, np.zeros(count, dtype=np.int64))
    if n_objectives == WHOLE_OBJECTIVES:
        return Front(objectives, REFERENCE).contributions()
    scaled = _scale_objectives(objectives)
    volumes = np.asarray(moocore.hv_contributions(scaled, ref=1.0 + MARGIN), dtype=np.float64)
    volumes[scaled.argmin(axis=0)] = np.inf
    return volumes


def compute_box(objectives: Floats) -> tuple[Floats, Floats]:
    """The box in which a run measures hypervolume: what its first feasible individuals [P, O] span.

    Best and worst corner, [O] each; the worst is `MARGIN` beyond.
    """
    low, high = objectives.min(axis=0), objectives.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    return low, high + MARGIN * extent


def hypervolume(objectives: Floats, low: Floats, high: Floats) -> float:
    """Volume that a front [F, O] dominates below the worst corner of a box, in units of the box.

    It is above 1 where the front lies beyond the best corner; what lies beyond the worst does not
    count. With more than `EXACT_OBJECTIVES` objectives it is an estimate within the box.
    """
    scaled = (objectives - low) / (high - low)
    # The library ends the process at anything but a number.
    is_inside = (np.isfinite(scaled) & (scaled < 1.0)).all(axis=1)
    if not is_inside.all():
        scaled = scaled[is_inside]
    if not len(scaled):
        return 0.0
    if scaled.shape[1] == 1:
        return float(1.0 - scaled.min())
    if scaled.shape[1] == WHOLE_OBJECTIVES:
        return compute_volume(scaled.T)
    if scaled.shape[1] <= EXACT_OBJECTIVES:
        return float(moocore.hypervolume(scaled, ref=1.0))
    points = stream(0, 0, "measure").random((SAMPLES, scaled.shape[1]))
    is_dominated = np.zeros(SAMPLES, dtype=np.bool_)
    for member in scaled:
        is_dominated |= (points >= member).all(axis=1)
    return float(is_dominated.mean())


def _scale_objectives(objectives: Floats) -> Floats:
    """Objectives in units of the front's own extent, 0 the best and 1 the worst."""
    # Halved first, so that no extent overflows.
    halves = objectives * 0.5
    low, high = halves.min(axis=0), halves.max(axis=0)
    scaled: Floats = (halves - low) / np.where(high > low, high - low, 1.0)
    return scaled


def select_survival_rule(name: str, n_objectives: int) -> Rule:
    """The rule of survival of a name in `SearchSettings.survival`, for so many objectives.

    Of objectives [P, O], violations [P], how many to keep and a ranking, it gives indices
    [min(P, keep)], best first.
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
    """A rule of survival: distinct fronts first, the last of them truncated by hypervolume.

    It differs from crowding in two ways. Of individuals with equal objectives only the first
    counts, the others come after all fronts. And the front that does not fit loses in rounds those
    of its members that contribute least (see `truncate_front`), while crowding judges all of them
    at once.

    Source: Beume, Naujoks and Emmerich, "SMS-EMOA: multiobjective selection based on dominated
    hypervolume", 2007; that it removes many at a time is a house rule.
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
    """Who goes on by a rule, [min(P, keep)] indices, best first, and their ranking.

    Arguments as of a `Rule`, `elders` as of `choose_survivors`; errors as of `rank_individuals`.
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
