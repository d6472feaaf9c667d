"""Ranks, crowding and survival on cases small enough to check by hand, and against DEAP."""

import numpy as np
from deap import base
from deap.tools import emo

from optimizer.search.ranking import rank_individuals, survive
from tests.support.looping import each

NAN = float("nan")

emo_assign = emo.assignCrowdingDist


class Individual:
    """What DEAP's selection needs of an individual: a fitness, here to be minimised."""

    def __init__(self, index, values):
        self.index = index
        kind = type("Minimised", (base.Fitness,), {"weights": (-1.0,) * len(values)})
        self.fitness = kind(tuple(values))


def individuals(objectives):
    """DEAP individuals that remember their row."""
    return [Individual(i, row) for i, row in enumerate(objectives.tolist())]


def population(seed):
    """A random population; two of three kinds are full of ties and duplicates."""
    rng = np.random.default_rng(seed)
    n_individuals, n_objectives = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    objectives = rng.normal(size=(n_individuals, n_objectives))
    if has_partial_ties(seed):
        objectives = rng.integers(0, 4, size=objectives.shape).astype(np.float64)
    if seed % 3 == 2:
        objectives = objectives[rng.integers(0, n_individuals, size=n_individuals)]
    return objectives


def has_partial_ties(seed):
    """Whether individuals of `population(seed)` may agree in some objectives only."""
    return seed % 3 == 1


def feasible(objectives):
    """No violations, [P]."""
    return np.zeros(len(objectives))


def crowd_in_lexicographic_order(front):
    """DEAP's crowding of a front that is listed as we list it."""
    emo_assign(sorted(front, key=lambda member: member.fitness.values))


@each("seed", range(150))
def test_ranks_and_crowding_equal_deap(seed):
    """Fronts are the sets that DEAP finds, and crowding distances are DEAP's to the last bit."""
    objectives = population(seed)
    members = individuals(objectives)
    fronts = emo.sortNondominated(members, len(members))
    expected_ranks, expected_crowding = np.empty(len(members)), np.empty(len(members))
    for number, front in enumerate(fronts):
        crowd_in_lexicographic_order(sorted(front, key=lambda member: member.index))
        for member in front:
            expected_ranks[member.index] = number
            expected_crowding[member.index] = member.fitness.crowding_dist
    ranking = rank_individuals(objectives, feasible(objectives))
    assert np.array_equal(expected_ranks, ranking.ranks)
    assert np.array_equal(expected_crowding, ranking.crowding)


@each("seed", range(150))
def test_survivors_equal_deap_but_for_the_tie_at_the_cut(seed, monkeypatch):
    """Survivors are those of `selNSGA2`; among equals at the cut, ours are the earliest."""
    objectives = population(seed)
    keep = (len(objectives) + 1) // 2
    if has_partial_ties(seed):
        monkeypatch.setattr(emo, "assignCrowdingDist", crowd_in_lexicographic_order)
    deaps = {member.index for member in emo.selNSGA2(individuals(objectives), keep)}
    ranking = rank_individuals(objectives, feasible(objectives))
    standing = list(zip(ranking.ranks.tolist(), (-ranking.crowding).tolist(), strict=True))
    ours = survive(objectives, feasible(objectives), keep).tolist()
    at_cut = standing[ours[-1]]
    tied = [i for i in range(len(objectives)) if standing[i] == at_cut]
    assert sorted(standing[i] for i in deaps) == [standing[i] for i in ours]
    assert deaps - set(tied) == set(ours) - set(tied)
    assert [i for i in ours if i in tied] == tied[: len(set(ours) & set(tied))]


def test_infeasible_follow_by_violation():
    """The smaller violation ranks better, equal ones share a rank, and objectives do not count."""
    objectives = np.array([[NAN, NAN], [5.0, 5.0], [-9.0, -9.0], [NAN, 0.0], [6.0, 6.0]])
    violations = np.array([0.5, 0.0, 2.0, 0.5, 0.0])
    ranking = rank_individuals(objectives, violations)
    assert ranking.ranks.tolist() == [2, 0, 3, 2, 1]
    assert ranking.order().tolist() == [1, 4, 0, 3, 2]
    assert survive(objectives, violations, 3).tolist() == [1, 4, 0]
