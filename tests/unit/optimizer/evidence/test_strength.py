"""Strength is how far trades lie above zero, and the strongest member is the pick."""

import math

import numpy as np
import pytest

from optimizer.evidence.strength import find_strongest, strength, strength_of_sums
from tests.support.evidence import make_ledger


def test_strength_of_the_law():
    """A sum of 6 over squares that sum to 50."""
    assert strength_of_sums(6.0, 50.0).value == 0.848528137423857
    windows = (make_ledger([3.0, -4.0]), make_ledger([]), make_ledger([7.0, 0.0]))
    assert strength(windows).value == pytest.approx(6 / math.sqrt(74))


def test_no_trade_that_moved_has_no_strength():
    """Neither no trade at all."""
    assert strength([]).why == strength([make_ledger([0.0])]).why == "no trade moved"


def test_the_pick_is_the_strongest_and_then_the_first_by_genome():
    """In whatever order members stand; what is undefined never wins."""
    genomes = np.array([[2.0, 1.0], [1.0, 9.0], [1.0, 2.0], [0.0, 0.0]])
    assert find_strongest(np.array([3.0, 3.0, 3.0, 1.0]), genomes) == 2
    assert find_strongest(np.array([np.nan, -1.0, np.nan, -2.0]), genomes) == 1
    assert find_strongest(np.full(4, np.nan), genomes) is None
    gone = {1, 2}
    assert find_strongest(np.array([1.0, 3.0, 4.0, 2.0]), genomes, gone.__contains__) == 3
    assert find_strongest(np.array([np.nan, 3.0, 4.0, np.nan]), genomes, gone.__contains__) is None
    assert find_strongest(np.empty(0), np.empty((0, 2))) is None
