"""What a population reads of one series: rows by their keys, conditions as words.

A key is a part of the strategy with the values of its genes. What several individuals ask for is
computed once; part after part is computed for all of them together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from engine.cpu.claims import RELATIONS, compared, held, moved, within
from engine.cpu.threads import Threads
from engine.cpu.types import Floats, Ints
from engine.cpu.words import LAST_BIT, Words
from engine.rows.individuals import Individuals, columns_of, values_of
from strategy.conditions import AllOf, Compare, Condition, Held, OverBars
from strategy.expressions import Arithmetic, Expression, GeneValue, Number
from strategy.genes import GenomeLayout
from strategy.nodes import Node
from strategy.rows import Rows, bound


@dataclass(frozen=True, eq=False)
class Part:
    """One node of a strategy's trees.

    Args:
        number: Equal nodes have one number.
        node: The node.
        below: Its parts that are computed by themselves.
        columns: Genes that decide its values, columns of a genome.
        is_fresh: Whether it is arithmetic with a gene that no row takes as its parameter.
    """

    number: int
    node: Node
    below: tuple["Part", ...]
    columns: tuple[int, ...]
    is_fresh: bool


class Read(NamedTuple):
    """Rows that a population reads.

    Args:
        rows: U of them, each [T], or [1] where it is the same at every bar.
        place: [P] which of them each individual reads.
    """

    rows: list[Floats]
    place: Ints


class Claimed(NamedTuple):
    """Bars at which a condition is true.

    Args:
        words: [U, N].
        place: [P] which of them each individual asks.
    """

    words: Words
    place: Ints


class Readings:
    """Values of a strategy's parts on one series, for one population after another.

    Args:
        rows: Of the series.
        layout: Of the genomes.
        workers: Threads that share the work.
    """

    def __init__(self, rows: Rows, layout: GenomeLayout, workers: Threads) -> None:
        self._rows, self._layout, self._workers = rows, layout, workers
        self._parts: dict[Node, Part] = {}
        self._lately: dict[tuple[int, bytes], Floats] = {}
        self.begin(layout.defaults[None])

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.series)

    def begin(self, genomes: Floats) -> None:
        """Take up another population [P, G]."""
        self.individuals = Individuals(genomes, self._layout)
        self._read: dict[int, Read] = {}
        self._claimed: dict[int, Claimed] = {}
        # Only what the population before this one read is still at hand.
        self._before, self._lately = self._lately, {}

    def part(self, node: Node) -> Part:
        """The part of a node; equal nodes are one part."""
        if node not in self._parts:
            columns = columns_of(node, self._layout)
            is_fresh = isinstance(node, Arithmetic) and any(map(_is_fresh, node.parts))
            below = node.parts if is_fresh or isinstance(node, Condition) else ()
            parts = tuple(self.part(one) for one in below)
            self._parts[node] = Part(len(self._parts), node, parts, columns, is_fresh)
        return self._parts[node]

    def values(self, setting: Node) -> Floats:
        """The value [P] of a constant or a gene."""
        return values_of(setting, self._layout, self.individuals.here)

    def rows(self, part: Part) -> Read:
        """What the population reads as an expression."""
        if part.number not in self._read:
            first, place = self.individuals.distinct(part.columns)
            members = self.individuals.here[first]
            keys = [(part.number, one.tobytes()) for one in members[:, list(part.columns)]]
            rows = [self._before.get(key) for key in keys]
            missing = [u for u, row in enumerate(rows) if row is None]
            sides = [self.rows(one) for one in part.below]

            def compute(u: int) -> None:
                if part.is_fresh:
                    of_sides = [side.rows[side.place[first[u]]] for side in sides]
                    rows[u] = _joined(cast(Arithmetic, part.node).operation, of_sides)
                else:
                    rows[u] = self._computed(cast(Expression, part.node), members[u])

            self._shared(compute, missing)
            found = cast(list[Floats], rows)
            if not part.is_fresh:
                self._lately |= zip(keys, found, strict=True)
            self._read[part.number] = Read(found, place)
        return self._read[part.number]

    def scaled(self, part: Part) -> tuple[Part, Floats]:
        """A part and what each individual multiplies it by [P], together this part bit for bit."""
        node = part.node
        if isinstance(node, Arithmetic) and node.operation == "*" and part.is_fresh:
            for scale, other in (part.below, part.below[::-1]):
                if isinstance(scale.node, GeneValue | Number) and not other.is_fresh:
                    by, read = self.values(scale.node), self.rows(other)
                    # Beyond all numbers a product is unknown.
                    largest = np.array([_largest(row) for row in read.rows])[read.place]
                    with np.errstate(over="ignore"):
                        if np.isfinite(largest * by).all():
                            return other, by
        return part, np.ones(len(self.individuals))

    def words(self, part: Part) -> Claimed:
        """The bars at which a condition is true for the population."""
        if part.number not in self._claimed:
            first, place = self.individuals.distinct(part.columns)
            self._claimed[part.number] = Claimed(self._decided(part, first), place)
        return self._claimed[part.number]

    def _computed(self, node: Expression, genome: Floats) -> Floats:
        tree = bound(node, self._layout.decode(genome))
        return np.atleast_1d(np.asarray(self._rows.of(tree), np.float64))

    def _decided(self, part: Part, first: Ints) -> Words:
        """Words [U, N] of a condition for some individuals."""
        node = part.node
        if isinstance(node, Compare):
            left, right = (self.rows(one) for one in part.below)
            found = np.empty((len(first), (self.n_bars + LAST_BIT) >> 6), np.uint64)
            relation = RELATIONS[node.relation]

            def compute(u: int) -> None:
                row, other = (side.rows[side.place[first[u]]] for side in (left, right))
                compared(row, other, relation, self.n_bars, found[u])

            self._shared(compute, range(len(first)))
            return moved(found, node.bars_ago, self.n_bars) if node.bars_ago else found
        parts = [self.words(one) for one in part.below if isinstance(one.node, Condition)]
        words = [one.words[one.place[first]] for one in parts]
        if isinstance(node, OverBars):
            bars = self.values(node.bars)[first]
            return self._over_bars(held if isinstance(node, Held) else within, words[0], bars)
        join = np.bitwise_and if isinstance(node, AllOf) else np.bitwise_or
        return cast(Words, join.reduce(words))

    def _over_bars(
        self, function: Callable[[Words, int, int], Words], words: Words, bars: Floats
    ) -> Words:
        found = np.empty_like(words)
        for count in np.unique(bars):
            chosen = bars == count
            found[chosen] = function(words[chosen], int(count), self.n_bars)
        return found

    def _shared(self, compute: Callable[[int], None], numbers: "range | list[int]") -> None:
        """Compute several things on all threads."""

        def work(thread: int) -> None:
            for number in numbers[thread :: min(self._workers.count, len(numbers))]:
                compute(number)

        if len(numbers):
            self._workers.run(work, len(numbers))


def _is_fresh(node: Node) -> bool:
    """Whether a gene stands in it that is no row's parameter."""
    if isinstance(node, Arithmetic):
        return any(map(_is_fresh, node.parts))
    return isinstance(node, GeneValue)


def _largest(row: Floats) -> float:
    """The largest value of a row, whatever its sign; infinity of what is no row."""
    return float(np.fmax.reduce(np.abs(row), initial=0.0)) if row.size > 1 else np.inf


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
