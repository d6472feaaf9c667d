"""Strength of members: by how many standard errors their trades lie above zero.

Source: de la Pena, Lai and Shao, "Self-Normalized Processes", 2009.
"""

import math
from collections.abc import Sequence

import numpy as np

from data.checks import Floats
from engine.accounts.ledger import Ledger
from optimizer.evidence.figures import Figure, make_undefined


def strength(ledgers: Sequence[Ledger]) -> Figure:
    """Sum of R over the root of the sum of squares, over the windows [W] of one individual.

    About how many standard errors the trades lie above zero; at most the root of their number.
    """
    return compute_strength([ledger.r for ledger in ledgers])


def compute_strength(r_by_window: Sequence[Floats]) -> Figure:
    """Strength of R in windows: each summed in the order of trades, then windows in theirs."""
    return strength_of_sums(*sum_r_and_squares(r_by_window))


def sum_r_and_squares(r_by_window: Sequence[Floats]) -> tuple[float, float]:
    """Sum of R and of its squares, each window's in the order of trades, then windows in theirs."""
    sums = [(_sum(r), _sum(r * r)) for r in r_by_window]
    return _sum(np.array([sum_r for sum_r, _ in sums])), _sum(
        np.array([sum_r2 for _, sum_r2 in sums])
    )


def strength_of_sums(sum_r: float, sum_r2: float) -> Figure:
    """Strength from accumulators.

    >>> strength_of_sums(6.0, 50.0)
    Figure(value=0.848528137423857, why='')
    """
    if not sum_r2 > 0:
        return make_undefined("no trade moved")
    return Figure(sum_r / math.sqrt(sum_r2))


def _sum(values: Floats) -> float:
    """Sum of [n] in order, as accumulators do; 0 of none."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
