"""Rules of survival beside NSGA-II's: copies, the front that does not fit, and who is asked."""

import numpy as np
import pytest

from optimizer.search.archive import select_survival_rule, survive_by_hypervolume
from optimizer.search.ranking import rank_individuals, rank_survivors, survive
from optimizer.search.reference_points import survive_by_reference
from tests.support.looping import each

RULES = [survive, survive_by_hypervolume, survive_by_reference]


def pool(seed, n_objectives=3, count=60):
    """Objectives and violations, some of them copies, some infeasible."""
    rng = np.random.default_rng(seed)
    objectives = rng.random((count, n_objectives))
    objectives[rng.integers(0, count, count // 5)] = objectives[0]
    violations = np.where(rng.random(count) < 0.2, rng.random(count), 0.0)
    objectives[violations > 0] = np.nan
    return objectives, violations


def test_copies_wait_until_all_others_have_a_place():
    """Of equals the first counts as one; the others come after all fronts, before infeasible."""
    objectives = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [np.nan, np.nan]])
    violations = np.array([0.0, 0.0, 0.0, 0.0, 0.5])
    order = survive_by_hypervolume(objectives, violations, 5).tolist()
    assert order == [0, 2, 3, 1, 4]
    assert survive(objectives, violations, 2).tolist() == [0, 1]


def test_automatic_is_by_the_number_of_objectives():
    """Hypervolume up to three, reference directions beyond, whatever else was asked for by name."""
    assert select_survival_rule("auto", 3) is survive_by_hypervolume
    assert select_survival_rule("auto", 4) is survive_by_reference
    assert select_survival_rule("crowding", 4) is survive
    assert select_survival_rule("reference", 2) is survive_by_reference


@pytest.mark.parametrize("rule", RULES)
@each("seed", range(40))
def test_survivors_are_ranked_by_what_was_known_of_all(rule, seed):
    """What is carried over to survivors equals ranking them anew, bit for bit.

    All of the fronts before the one that is cut survive, or one of equals, so that each that
    was dominated still is by one of the front before; infeasible ones survive only when all
    feasible ones do, and the nearest of them first.
    """
    objectives, violations = pool(seed, n_objectives=1 + seed % 4)
    if seed % 3 == 0:
        objectives = np.round(objectives, 1)
    if seed % 5 == 0:
        objectives[:5] *= 1e305
    before = rank_individuals(objectives, violations)
    for keep in (0, 1, 7, 30, 47, 55, 60, 99):
        chosen = rule(objectives, violations, keep, before)
        assert len(chosen) == len(set(chosen.tolist())) == min(keep, 60)
        assert (np.diff(violations[chosen]) >= 0).all()
        assert rule(objectives, violations, keep).tolist() == chosen.tolist()
        anew = rank_individuals(objectives[chosen], violations[chosen])
        known = rank_survivors(before, objectives, violations, chosen)
        assert anew.ranks.tolist() == known.ranks.tolist()
        assert anew.crowding.tolist() == known.crowding.tolist()
