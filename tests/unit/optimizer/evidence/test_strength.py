"""Strength is how far trades lie above zero."""

import math

import pytest

from optimizer.evidence.strength import strength, strength_of_sums
from tests.support.evidence import make_ledger


def test_strength_of_the_law():
    """A sum of 6 over squares that sum to 50."""
    assert strength_of_sums(6.0, 50.0).value == 0.848528137423857
    windows = (make_ledger([3.0, -4.0]), make_ledger([]), make_ledger([7.0, 0.0]))
    assert strength(windows).value == pytest.approx(6 / math.sqrt(74))


def test_no_trade_that_moved_has_no_strength():
    """Neither no trade at all."""
    assert strength([]).why == strength([make_ledger([0.0])]).why == "no trade moved"
