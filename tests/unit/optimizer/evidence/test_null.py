"""A search is counted among the same search on null markets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from optimizer.evidence.hypervolume import hypervolume
from optimizer.evidence.null import Compared, NullKind, NullRecord, Tally, tally

FOUND = [1, 3, 1, 2, 0, 5, 1, 1, 1]


def test_p_of_the_law():
    """With an early stop, and without reaching it."""
    assert tally(2, FOUND, stop_after=3) == Tally(6, 3, is_stopped=True)
    assert tally(2, FOUND, stop_after=3).p == Fraction(3, 6)
    assert tally(2, FOUND, stop_after=10).p == Fraction(4, 10)
    assert (tally(9, FOUND).p, tally(9, []).p) == (Fraction(1, 10), 1)


def test_an_empty_front_is_minus_infinity():
    """Every null search is at least as good then, and an empty null front only as good as it."""
    assert tally(-math.inf, [-math.inf, 1.0]).at_least == 2
    assert tally(0.5, [-math.inf, math.nan]).at_least == 0


def test_hypervolume_starts_from_an_account_that_does_nothing():
    """Two boxes that overlap, of strength above 0 and drawdown below 1."""
    values = np.array([[2.0, 0.5], [1.0, 0.2], [3.0, 1.0], [-1.0, 0.1]])
    volume = hypervolume(values, ["strength", "max_drawdown"], [True, False])
    assert volume.value == pytest.approx(2 * 0.5 + 1 * 0.8 - 1 * 0.5)
    factor = hypervolume(np.array([[1.5], [1.25]]), ["profit_factor"], [True])
    assert factor.value == 0.5
    small = hypervolume(np.array([[1e-12, 0.5]]), ["total_return", "exposure"], [True, False])
    assert small.value == pytest.approx(5e-13, rel=1e-9)


@pytest.mark.parametrize(
    ("run", "at_least", "side"), [(20, 0, ""), (98, 1, "against"), (99, 0, "for"), (199, 0, "for")]
)
def test_so_few_searches_speak_for_nothing(run, at_least, side):
    """Below 99 no outcome is more than luck; then none that did as well speaks for neither."""
    strength = Compared(2.0, at_least, (at_least + 1) / (run + 1))
    strengths = (3.0,) * at_least + (1.0,) * (run - at_least)
    kind = NullKind(run, False, strength, {}, None, strengths)
    (row,) = NullRecord(run, "none", kind).list_rows(None)
    assert f"{at_least} of {run} " in row.sentence
    assert row.speaks == side
