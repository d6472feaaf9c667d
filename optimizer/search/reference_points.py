"""NSGA-III's survival: spread over reference directions, for four and more objectives.

Objectives are moved so that the best of each is 0 and scaled by where the plane through the
extreme points meets the axes. Everyone joins the nearest reference direction, and places go to
directions that have fewest. Where the original draws lots, the nearer and then the earlier
individual comes first here, so that survival needs no randomness.

Sums and products are written out per objective: a library's matrix product may round differently
on another processor.

Sources: Deb and Jain, "An evolutionary many-objective optimization algorithm using
reference-point-based nondominated sorting approach", IEEE Transactions on Evolutionary
Computation 18(4), 2014; Das and Dennis, "Normal-boundary intersection", 1998, for the directions.
"""

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from optimizer.search.compiled.fronts import LARGE
from optimizer.search.generation import Floats, Indices
from optimizer.search.ranking import Ranking, rank_individuals

AXIS_WEIGHT = 1e6
"""How much the other objectives weigh when the extreme point of one is looked for."""

SMALLEST = 2.0**-20
"""Extents below this count as none."""


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
    objectives: Floats, violations: Floats, keep: int, ranking: Ranking | None = None
) -> Indices:
    """A rule of survival: whole fronts, then the least crowded directions; see `archive.Rule`."""
    ranking = ranking or rank_individuals(objectives, violations)
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

    Each time the direction with fewest individuals takes its nearest one that is left.
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
