"""Numbers of the adaptive trend that its fast forms on every device share."""

import math
from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from engine.backend import Ints
from strategy.expressions import Call
from strategy.nodes import Node

FAMILIES, LENGTHS = 6, 9
"""Families, and averages of each."""

FORMS = 8
EMA, HMA, WMA, DEMA, LSMA, KAMA, SMA, KAMA_FROM_ZERO = range(FORMS)
"""Families in their order; the last two are the script's."""

IN_SCRIPT = {HMA: SMA, KAMA: KAMA_FROM_ZERO}
"""Families that the script has in another form."""

OFFSETS = np.array([[1, 2, 3, 4], [1, 2, 4, 6], [1, 3, 5, 7]])
"""How far a family's lengths lie from its base, by robustness."""

TRENDS = {"adaptive_trend": False, "adaptive_trend_script": True}
"""Indicators by name, and whether each is the script's."""

BAND = 1e-12
"""Price and average are level within this share of price."""

QUICKEST, SLOWEST = 0.602, 0.064
"""Kaufman's factors: the gain of a straight path, and the value of a path that leads nowhere."""

FLOOR, MILLION = 0.25, 1_000_000
"""An equity never falls below the one; growth is counted in parts of the other."""

TAYLOR = np.array([1.0 / math.factorial(i) for i in range(19)])
"""Coefficients of the series of exp."""


LARGEST = 1e307
"""Bound of a fast form's sums: an overflow would be read as a level average."""


def has_room(largest: float, lengths: Iterable[int]) -> bool:
    """True if fast forms of averages of some lengths hold all sums over prices up to the largest.

    The largest is a weighted one: n (n + 1) / 2 differences of up to twice a price. Where there is
    no room rows are made by their definition.
    """
    longest = float(max(lengths)) + float(OFFSETS.max())
    return largest < LARGEST / (3.0 * longest * longest)


def is_trend(node: Node) -> TypeGuard[Call]:
    """True if a node is an adaptive trend; fast forms make many of these together."""
    return isinstance(node, Call) and node.label in TRENDS


def list_lengths(base: int, robustness: int) -> Ints:
    """A family's nine lengths: the base, longer ones, shorter ones."""
    return base + np.concatenate(([0], OFFSETS[robustness], -OFFSETS[robustness]))
