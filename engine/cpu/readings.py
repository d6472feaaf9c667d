"""What individuals of a strategy in words read of one series: rows by their keys, conditions.

A key is a part of the strategy with the values of its genes. What several individuals ask for is
computed once. Arithmetic with a real gene is computed where it is read, from the rows below it.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from engine.cpu.claims import compared, held, within
from engine.cpu.types import Floats, Ints
from engine.cpu.words import Words
from strategy.conditions import AllOf, AnyOf, Compare, Condition, Held
from strategy.conditions import Within as WithinBars
from strategy.expressions import Arithmetic, Expression, GeneValue, Number
from strategy.genes import GenomeLayout
from strategy.nodes import Node, walk
from strategy.rows import Rows, bound

Key = tuple[int, bytes]
"""Number of a part, and the values of its genes."""


@dataclass(frozen=True, eq=False)
class Part:
    """One node of a strategy's trees.

    Args:
        number: Equal nodes have one number.
        node: The node.
        below: Its parts that are computed by themselves.
        columns: Genes that decide its values, columns [n] of a genome.
        is_fresh: Whether it is arithmetic with a gene that no row takes as its parameter.
    """

    number: int
    node: Node
    below: tuple["Part", ...]
    columns: Ints
    is_fresh: bool


class Readings:
    """Values of a strategy's parts on one series, for one population after another.

    Args:
        rows: Of the series.
        layout: Of the genomes.
    """

    def __init__(self, rows: Rows, layout: GenomeLayout) -> None:
        self._rows, self._layout = rows, layout
        self._parts: dict[Node, Part] = {}
        self._known: dict[Key, Floats] = {}
        self._words: dict[Key, Words] = {}
        self._extremes: dict[Key, float] = {}

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.series)

    def forget(self) -> None:
        """Let go of what the population before this one read."""
        self._known.clear()
        self._words.clear()
        self._extremes.clear()

    def part(self, node: Node) -> Part:
        """The part of a node; equal nodes are one part."""
        if node not in self._parts:
            genes = [one.gene.name for one in walk(node) if isinstance(one, GeneValue)]
            columns = np.array(sorted({self._layout.index(name) for name in genes}), np.int64)
            is_fresh = isinstance(node, Arithmetic) and any(map(_is_fresh, node.parts))
            below = node.parts if is_fresh or isinstance(node, Condition) else ()
            parts = tuple(self.part(one) for one in below)
            self._parts[node] = Part(len(self._parts), node, parts, columns, is_fresh)
        return self._parts[node]

    def key(self, part: Part, genome: Floats) -> Key:
        """What its values are known by."""
        return part.number, genome[part.columns].tobytes()

    def row(self, part: Part, genome: Floats) -> Floats:
        """Values [T] of an expression for an individual [G]; [1] of what is always the same."""
        key = self.key(part, genome)
        if key not in self._known:
            self._known[key] = self._computed(part, genome)
        return self._known[key]

    def words(self, part: Part, genome: Floats) -> Words:
        """The bars at which a condition is true for an individual [G]."""
        key = self.key(part, genome)
        if key not in self._words:
            self._words[key] = self._decided(part, genome)
        return self._words[key]

    def value(self, setting: Node, genome: Floats) -> float:
        """The value of a constant or a gene."""
        if isinstance(setting, GeneValue):
            return float(genome[self._layout.index(setting.gene.name)])
        return cast(Number, setting).value

    def scaled(self, part: Part, genome: Floats) -> tuple[Part, float]:
        """A part and what to multiply it by, which together are this part; bit for bit."""
        node = part.node
        if isinstance(node, Arithmetic) and node.operation == "*" and part.is_fresh:
            for scale, other in (part.below, part.below[::-1]):
                if isinstance(scale.node, GeneValue | Number) and not other.is_fresh:
                    by = self.value(scale.node, genome)
                    if np.isfinite(self._largest(other, genome) * by):
                        return other, by
        return part, 1.0

    def _largest(self, part: Part, genome: Floats) -> float:
        """The largest value of a row, whatever its sign; infinity of what is no row."""
        key = self.key(part, genome)
        if key not in self._extremes:
            row = self.row(part, genome)
            known = np.fmax.reduce(np.abs(row), initial=0.0)
            self._extremes[key] = float(known) if row.size == self.n_bars else np.inf
        return self._extremes[key]

    def _computed(self, part: Part, genome: Floats) -> Floats:
        node = part.node
        if isinstance(node, GeneValue | Number):
            return np.array([self.value(node, genome)])
        if not part.is_fresh:
            genes = self._layout.decode(genome)
            return np.atleast_1d(np.asarray(self._rows.of(bound(cast(Expression, node), genes))))
        sides = [self.row(one, genome) for one in part.below]
        return _joined(cast(Arithmetic, node).operation, sides)

    def _decided(self, part: Part, genome: Floats) -> Words:
        node = part.node
        if isinstance(node, Compare):
            left, right = (self.row(one, genome) for one in part.below)
            return compared(left, right, node.relation, node.bars_ago, self.n_bars)
        if isinstance(node, Held | WithinBars):
            bars = int(self.value(node.bars, genome))
            function = held if isinstance(node, Held) else within
            return function(self.words(part.below[0], genome), bars, self.n_bars)
        join = {AllOf: np.bitwise_and, AnyOf: np.bitwise_or}[type(node)]  # type: ignore[index]
        found, *others = (self.words(one, genome) for one in part.below)
        for words in others:
            found = join(found, words)
        return found


def _is_fresh(node: Node) -> bool:
    """Whether a gene stands in it that is no row's parameter."""
    if isinstance(node, Arithmetic):
        return any(map(_is_fresh, node.parts))
    return isinstance(node, GeneValue)


def _joined(operation: str, sides: list[Floats]) -> Floats:
    """Arithmetic of values [T] or [1]; NaN where the result is no finite number."""
    with np.errstate(all="ignore"):
        if operation == "abs":
            found = np.abs(sides[0])
        elif operation == "+":
            found = sides[0] + sides[1]
        elif operation == "-":
            found = sides[0] - sides[1]
        elif operation == "*":
            found = sides[0] * sides[1]
        elif operation == "/":
            found = sides[0] / sides[1]
        else:
            found = (np.minimum if operation == "minimum" else np.maximum)(*sides)
    # A zero has no sign.
    known: Floats = np.where(np.isfinite(found), found, np.nan) + 0.0
    return known
