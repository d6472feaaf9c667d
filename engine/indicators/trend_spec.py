"""Numbers of the adaptive trend that its forms on every device share."""

import math
from typing import TypeGuard

import numpy as np

from engine.backend import Ints
from strategy.expressions import Call
from strategy.nodes import Node

FAMILIES, LENGTHS = 6, 9
"""Families, and averages of each."""

OFFSETS = np.array([[1, 2, 3, 4], [1, 2, 4, 6], [1, 3, 5, 7]])
"""How far a family's lengths lie from its base, by robustness."""

TRENDS = {"adaptive_trend": False, "adaptive_trend_script": True}
"""Indicators by name, and whether each is the script's."""

QUICKEST, SLOWEST = 0.602, 0.064
"""Kaufman's factors: the gain of a straight path, and the value of a path that leads nowhere."""

FLOOR, MILLION = 0.25, 1_000_000
"""An equity never falls below the one; growth is counted in parts of the other."""

TAYLOR = np.array([1.0 / math.factorial(i) for i in range(19)])
"""Coefficients of the series of exp."""


def is_trend(node: Node) -> TypeGuard[Call]:
    """True if a node is an adaptive trend; many of these are made together."""
    return isinstance(node, Call) and node.label in TRENDS


def list_lengths(bases: Ints, robustness: Ints) -> Ints:
    """Nine lengths [..., 9] of families [...]: the base, longer ones, shorter ones."""
    offsets = np.concatenate((np.zeros((len(OFFSETS), 1), np.int64), OFFSETS, -OFFSETS), axis=1)
    lengths: Ints = bases[..., None] + offsets[robustness]
    return lengths
