"""What numbers are called for people: every metric and every objective has its few words."""

from engine.accounts.account import UNSIZED
from engine.accounts.metrics import FORMULAS
from optimizer.formatting import EXPECTED, MEANINGS
from optimizer.goals.objectives import OBJECTIVES
from optimizer.store.result import FIGURES


def test_every_metric_and_objective_says_what_it_is():
    """No more names than there are, and none without words."""
    assert set(MEANINGS) == {*FIGURES, UNSIZED, EXPECTED, *OBJECTIVES, *FORMULAS}
    assert all(MEANINGS.values())
