"""Picking a member and comparing fronts, by hand."""

import numpy as np
import pytest

from optimizer.report.pick import by_weight, compare, knee
from optimizer.run.compared import hypervolume_shares

FRONT = np.array([[0.0, 10.0], [2.0, 2.0], [10.0, 0.0]])


def test_the_knee_is_close_to_the_best_of_everything():
    """The middle of three is nearest to the corner."""
    assert knee(FRONT) == 1


@pytest.mark.parametrize(("weights", "expected"), [((1, 0), 0), ((0, 1), 2), ((1, 1), 1)])
def test_weights_decide(weights, expected):
    """All weight on one objective picks its best."""
    assert by_weight(FRONT, np.array(weights, float)) == expected


def test_hypervolume_is_the_share_of_the_area_that_is_dominated():
    """One point at the best corner dominates the whole box of 1.1 by 1.1."""
    best, other = np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])
    shares = hypervolume_shares([best, other, np.empty((0, 2))])
    assert shares == pytest.approx([1.0, 0.01 / 1.21, 0.0])
    assert hypervolume_shares([np.empty((0, 2))]) == [0.0]


def test_fronts_are_compared_member_by_member():
    """A member that another front dominates does not count."""
    table = compare({"good": FRONT, "bad": FRONT + 1})
    assert table["members"].tolist() == [3, 3]
    assert table["undominated"].tolist() == [3, 0]
    assert table["hypervolume"]["good"] > table["hypervolume"]["bad"]
