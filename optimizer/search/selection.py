"""Selection: ranks, crowding, survival, and the archive of the best compromises; no randomness.

All objectives are minimised. Feasible individuals (violation 0) come before infeasible ones, by
front and then by crowding; infeasible ones follow by violation, whatever their objectives say, so
a NaN never ranks above a number. Where nothing else decides, the earlier index comes first.

An archive holds feasible individuals that no found one dominates, one for each combination of
objectives (the first that had it), in the order of their discovery. A full one drops the least
missed members: with two or three objectives those with the least hypervolume, else the most
crowded. The best in each objective always stay, and of two equals the older one stays.

Contributions to the hypervolume of three objectives are whole numbers: each objective is cut into
2**20 cells, and the cells that a member alone dominates are counted, so that no program's order of
sums decides who stays.

Sources: Deb, Pratap, Agarwal and Meyarivan, "A fast and elitist multiobjective genetic algorithm:
NSGA-II", IEEE Transactions on Evolutionary Computation 6(2), 2002; hypervolume, and contributions
of two objectives, by moocore (Fonseca, Paquete, Lopez-Ibanez, 2006; Guerreiro and Fonseca, 2018);
whole numbers, and removal in rounds, because one removal changes the contributions of its
neighbours, are house rules.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from math import comb

import moocore
import numpy as np
import numpy.typing as npt

from optimizer.errors import OptimizerError
from optimizer.search.compiled.choosing import choose_survivors, keep_compromises
from optimizer.search.compiled.contributions import CELLS, Front
from optimizer.search.compiled.fronts import (
    LARGE,
    argsort_objectives,
    compute_crowding_distances,
    rank_in_order,
    rising_orders,
)
from optimizer.search.generation import Bools, Floats, Indices, Population
from optimizer.search.randomness import stream

AXIS_WEIGHT = 1e6
"""How much the other objectives weigh when the extreme point of one is looked for."""

SMALLEST = 2.0**-20
"""Extents below this count as none."""

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


Rule = Callable[[Floats, Floats, int, Ranking], Indices]


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


def survive(objectives: Floats, violations: Floats, keep: int, ranking: Ranking) -> Indices:
    """NSGA-II's rule of survival: by rank, then by crowding; see `Rule`."""
    return ranking.order()[:keep]


def first_front(objectives: Floats) -> Bools:
    """Flags [P] of finite objectives [P, O] that none dominates; equals share a flag."""
    flags = moocore.is_nondominated(objectives, keep_weakly=True) if len(objectives) else ()
    return np.asarray(flags, dtype=np.bool_)


def is_nondominated(objectives: Floats) -> Bools:
    """Flags [P] of finite objectives [P, O] that none dominates and no earlier one equals."""
    if objectives.shape[1] != 2:
        flags = moocore.is_nondominated(objectives) if len(objectives) else ()
        return np.asarray(flags, dtype=np.bool_)
    columns = _columns(objectives)
    ranks, is_copy = rank_in_order(columns, argsort_objectives(columns, 1)[0], 1)
    return np.equal(ranks, 0) & ~is_copy


def crowding_distances(objectives: Floats, ranks: Indices) -> Floats:
    """Crowding distance [P] of each individual within its front, by rank [P], all fronts at once.

    Infinite for the first and the last of each front in each objective. The bits are those of
    DEAP's `assignCrowdingDist` for a front that is listed in lexicographic order of its objectives:
    each objective is sorted stably on top of the order left by the one before it. (DEAP's list of a
    front, and so its distances of individuals that are equal in one objective, depend on the order
    of the population; here they do not.)
    """
    columns = _columns(objectives)
    return compute_crowding_distances(columns, argsort_objectives(columns), ranks)


def _columns(objectives: Floats) -> Floats:
    """Objectives as the loops read them, [O, P]: a copy, each objective in one piece."""
    return np.array(objectives.T, dtype=np.float64, order="C")


def _ranks(columns: Floats, orders: Indices) -> tuple[Indices, Bools]:
    """Number of the front of each individual [P], and flags of repeats of an earlier one [P].

    By objectives [O, P] and their orders [O, P].
    """
    n_objectives, count = columns.shape
    if n_objectives == 2:
        return rank_in_order(columns, orders[0], count)
    ranks = np.asarray(moocore.pareto_rank(columns.T) if count else (), dtype=np.int64)
    order, listed = orders[0], columns[:, orders[0]]
    is_copy = np.zeros(len(order), dtype=np.bool_)
    is_copy[order[1:]] = (listed[:, 1:] == listed[:, :-1]).all(axis=0)
    return ranks, is_copy


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


@cache
def directions(n_objectives: int, at_most: int) -> Floats:
    """Evenly spaced directions [R, O], read-only, as many as possible up to a number.

    The axes themselves are always among them; each sums to 1 but for rounding.
    """
    parts = 1
    while comb(n_objectives + parts, parts + 1) <= at_most and parts < at_most:
        parts += 1
    # Stars and bars: gaps between bars are the parts of each objective.
    bars = combinations(range(parts + n_objectives - 1), n_objectives - 1)
    ends = np.array([(-1, *positions, parts + n_objectives - 1) for positions in bars])
    lines: Floats = (np.diff(ends, axis=1) - 1) / parts
    lines.flags.writeable = False
    return lines


def survive_by_reference(
    objectives: Floats, violations: Floats, keep: int, ranking: Ranking
) -> Indices:
    """A rule of survival: whole fronts, then the least crowded directions; see `Rule`."""
    order = ranking.order()
    if len(order) <= keep or not keep:
        return order[:keep]
    cut = ranking.ranks[order[keep - 1]]
    whole = order[ranking.ranks[order] < cut]
    last = np.flatnonzero(ranking.ranks == cut)
    if violations[last[0]] > 0 or len(whole) + len(last) == keep:
        return order[:keep]
    pool = np.concatenate([whole, last])
    is_first = ranking.ranks[pool] == 0
    points = normalise_objectives(objectives[pool], is_first)
    niche, distance = associate_directions(points, directions(objectives.shape[1], keep))
    chosen = _fill_niches(niche, distance, len(whole), keep - len(whole))
    best: Indices = np.concatenate([whole, pool[chosen]])
    return best


def normalise_objectives(objectives: Floats, is_first: npt.NDArray[np.bool_]) -> Floats:
    """Objectives [N, O] with the ideal point at 0, the plane of extreme points at 1 on each axis.

    `is_first` [N] flags the first front.
    """
    if (np.abs(objectives) > LARGE).any():
        objectives = objectives * 2.0**-40  # neither differences nor weighted ones overflow then
    moved = objectives - objectives.min(axis=0)
    extremes = moved[_find_extremes(moved)]
    intercepts = _intercepts(extremes)
    furthest = moved.max(axis=0)
    if intercepts is None or ((intercepts < SMALLEST) | (intercepts > furthest)).any():
        worst = moved[is_first].max(axis=0)
        intercepts = np.where(worst > SMALLEST, worst, furthest)
    scaled: Floats = moved / np.where(intercepts > SMALLEST, intercepts, 1.0)
    return scaled


def associate_directions(points: Floats, lines: Floats) -> tuple[Indices, Floats]:
    """The nearest of directions [R, O] to each of normalised points [N, O], and how far it is.

    Numbers [N], the first of several as near, and squared distances [N].
    """
    along = np.zeros((len(points), len(lines)))
    for coordinate, line in zip(points.T, lines.T, strict=True):
        along += coordinate[:, None] * line
    length = np.zeros(len(lines))
    for line in lines.T:
        length += line * line
    square = np.zeros(len(points))
    for coordinate in points.T:
        square += coordinate * coordinate
    # |x|^2 - (x.w)^2 / |w|^2: the nearest direction has the greatest share along it.
    share = along * along / length
    niche = share.argmax(axis=1)
    return niche, square - share[np.arange(len(points)), niche]


def _find_extremes(moved: Floats) -> Indices:
    """Individual that is best in each objective when all others weigh `AXIS_WEIGHT` times, [O]."""
    n_objectives = moved.shape[1]
    weights = np.where(np.eye(n_objectives, dtype=np.bool_), 1.0, AXIS_WEIGHT)
    extremes = [int((moved * weight).max(axis=1).argmin()) for weight in weights]
    return np.array(extremes, dtype=np.int64)


def _intercepts(extremes: Floats) -> Floats | None:
    """Where the plane through the rows [O, O] meets each axis; None when there is no such plane."""
    rows = [[*row, 1.0] for row in extremes.tolist()]
    count = len(rows)
    for i in range(count):
        pivot = max(range(i, count), key=lambda k: abs(rows[k][i]))
        if abs(rows[pivot][i]) <= SMALLEST:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(count):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    inverse = np.array([rows[i][-1] / rows[i][i] for i in range(count)])
    if not (np.isfinite(inverse).all() and (inverse > 0).all()):
        return None
    return np.asarray(1.0 / inverse, dtype=np.float64)


def _fill_niches(niche: Indices, distance: Floats, n_whole: int, room: int) -> Indices:
    """Places of members of the last front that fill the room [room], the first chosen first.

    Each time the direction with fewest individuals takes the nearest that is left.
    """
    counts = np.bincount(niche[:n_whole], minlength=int(niche.max()) + 1)
    last = np.arange(n_whole, len(niche))
    by_niche = last[np.lexsort((last, distance[last], niche[last]))]
    groups = niche[by_niche]
    starts = np.searchsorted(groups, groups, side="left")
    # The k-th of a direction comes when the direction has its count and k more.
    level = counts[groups] + (np.arange(len(groups)) - starts)
    chosen = by_niche[np.lexsort((by_niche, groups, level))]
    taken: Indices = chosen[:room]
    return taken


def extend_archive(
    archive: Population, newcomers: Population, keep: int
) -> tuple[Population, Indices]:
    """An archive after newcomers were judged, and flags [N] of those in it.

    It is mutually undominated, without equals, and holds `keep` at most.
    """
    unknown = np.full(newcomers.objectives.shape[1], np.nan)
    return update_archive(archive, newcomers, keep, unknown, unknown)[:2]


def update_archive(
    archive: Population, newcomers: Population, keep: int, low: Floats, high: Floats
) -> tuple[Population, Indices, float]:
    """The same, and the hypervolume of the archive in a box.

    Arguments of the box are its best and its worst corner, [O] each; with a NaN as the best one the
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
    objectives: Floats, violations: Floats, keep: int, ranking: Ranking
) -> Indices:
    """A rule of survival: distinct fronts first, the last of them truncated by hypervolume.

    It differs from crowding in two ways. Of individuals with equal objectives only the first
    counts, the others come after all fronts. And the front that does not fit loses in rounds those
    of its members that contribute least (see `truncate_front`), while crowding judges all of them
    at once.

    Source: Beume, Naujoks and Emmerich, "SMS-EMOA: multiobjective selection based on dominated
    hypervolume", 2007; that it removes many at a time is a house rule.
    """
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
