"""Parts of a strategy's trees, and arithmetic of them as instructions."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from engine.conditions.cpu.expression_vm import LEAF, OPERATIONS
from engine.runtime.cpu.types import Floats, Ints
from strategy.conditions import Compare
from strategy.expressions import Arithmetic, GeneValue, Number
from strategy.nodes import Node


@dataclass(frozen=True)
class Bound(Number):
    """A bound in the place of a gene: arithmetic with it is computed as it is with the gene."""


@dataclass(frozen=True, eq=False)
class Part:
    """One node of a strategy's trees."""

    number: int  # equal nodes have one number
    node: Node  # the node
    below: tuple["Part", ...]  # its parts that are computed by themselves
    columns: tuple[int, ...]  # genes that decide its values, columns of a genome
    is_fresh: bool  # as `is_fresh` says


class Formula(NamedTuple):
    """Arithmetic as instructions of `engine.conditions.cpu.expression_vm`."""

    steps: Ints  # [S, 2] instruction and leaf, in turn
    leaves: tuple[Part, ...]  # rows and numbers that they put on the stack
    depth: int  # places of the stack that they need


class Leaves(NamedTuple):
    """Leaves of a formula that some individuals read; `Readings` holds the rows."""

    rows: Ints  # [U, L] addresses of rows [T]; 0 where a leaf is a number
    numbers: Floats  # [U, L] numbers


def write_formula(*parts: Part) -> tuple[Formula, Ints]:
    """Formulas of several parts one after another, and the first step of each and the end."""
    steps: list[tuple[int, int]] = []
    leaves: dict[Part, int] = {}
    ends = [0]
    for part in parts:
        _write(part, steps, leaves)
        ends.append(len(steps))
    depth = max((_depth(part) for part in parts), default=1)
    written = Formula(np.array(steps, np.int64).reshape(-1, 2), tuple(leaves), depth)
    return written, np.array(ends)


def holds_gene(node: Node) -> bool:
    """True if a gene stands in it that is no row's parameter, or its bound."""
    if isinstance(node, Arithmetic):
        return any(map(holds_gene, node.parts))
    return isinstance(node, GeneValue | Bound)


def is_fresh(node: Node) -> bool:
    """True if it is arithmetic with a gene that no row takes as its parameter."""
    return isinstance(node, Arithmetic) and any(map(holds_gene, node.parts))


def name_sides(compare: Part) -> tuple[int, int]:
    """The two sides of a comparison, by the numbers of their parts."""
    return compare.below[0].number, compare.below[1].number


def name_words(condition: Part) -> Hashable:
    """Key of a condition's words: those of two sides are decided together."""
    node = condition.node
    is_side = isinstance(node, Compare) and not node.bars_ago
    return name_sides(condition) if is_side else condition.number


def _write(part: Part, steps: list[tuple[int, int]], leaves: dict[Part, int]) -> None:
    """Write a formula behind other steps."""
    if part.is_fresh:
        for below in part.below:
            _write(below, steps, leaves)
        steps.append((OPERATIONS[cast(Arithmetic, part.node).operation], 0))
    else:
        steps.append((LEAF, leaves.setdefault(part, len(leaves))))


def _depth(part: Part) -> int:
    """Places of the stack that a formula needs."""
    if not part.is_fresh:
        return 1
    return max(number + _depth(below) for number, below in enumerate(part.below))
