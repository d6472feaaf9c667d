"""What a population reads of one series: rows by their keys, conditions as words.

A key is a part of the strategy with the values of its genes. What several individuals ask for is
computed once; part after part is computed for all of them together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

import numpy as np

from engine.conditions.cpu.expression_vm import LEAF, OPERATIONS, WORD, decide_each, stack_of
from engine.conditions.cpu.kernels import RELATIONS, moved, over_bars
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.individuals import Individuals, columns_of, values_of
from engine.indicators.trend_spec import is_trend
from engine.runtime.cpu.bitset import LAST_BIT, Words
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.conditions import AllOf, Compare, Condition, Held, OverBars
from strategy.expressions import Arithmetic, Call, Expression, GeneValue, Number
from strategy.genes import GenomeLayout
from strategy.nodes import Node
from strategy.rows import Rows, bound

Thing = TypeVar("Thing")


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


class Formula(NamedTuple):
    """Arithmetic as instructions of `engine.conditions.cpu.expression_vm`.

    Args:
        steps: [S, 2] instruction and leaf, in turn.
        leaves: Rows and numbers that they put on the stack.
        depth: Places of the stack that they need.
    """

    steps: Ints
    leaves: tuple[Part, ...]
    depth: int


class Leaves(NamedTuple):
    """What some individuals read as the leaves of a formula; `Readings` holds the rows.

    Args:
        rows: [U, L] addresses of rows [T]; 0 where a leaf is a number.
        numbers: [U, L] numbers.
    """

    rows: Ints
    numbers: Floats


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
        conditions: All that will be asked for; what compares the same sides is decided together.
    """

    def __init__(
        self,
        rows: Rows,
        layout: GenomeLayout,
        workers: Threads,
        conditions: Sequence[Condition],
    ) -> None:
        self._rows, self._layout, self._workers = rows, layout, workers
        self._parts: dict[Node, Part] = {}
        self._relations: dict[tuple[int, int], set[int]] = {}
        self._lately: dict[tuple[int, bytes], Floats] = {}
        self.begin(layout.defaults[None])
        for condition in conditions:
            self.part(condition)

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.series)

    def begin(self, genomes: Floats) -> None:
        """Take up another population [P, G]."""
        self.individuals = Individuals(genomes, self._layout)
        self._read: dict[int, Read] = {}
        self._claimed: dict[int, Claimed] = {}
        self._pairs_decided: dict[tuple[int, int], dict[int, Words]] = {}
        # Only what the population before this one read is still at hand.
        self._before, self._lately = self._lately, {}

    def part(self, node: Node) -> Part:
        """The part of a node; equal nodes are one part."""
        if node not in self._parts:
            columns = columns_of(node, self._layout)
            is_fresh = isinstance(node, Arithmetic) and any(map(_is_fresh, node.parts))
            below = node.parts if is_fresh or isinstance(node, Condition) else ()
            parts = tuple(self.part(one) for one in below)
            made = Part(len(self._parts), node, parts, columns, is_fresh)
            if isinstance(node, Compare):
                sides = self._relations.setdefault((parts[0].number, parts[1].number), set())
                sides.add(RELATIONS[node.relation])
            self._parts[node] = made
        return self._parts[node]

    def values(self, setting: Node) -> Floats:
        """The value [P] of a constant or a gene."""
        return values_of(setting, self._layout, self.individuals.here)

    def formula(self, *parts: Part) -> tuple[Formula, Ints]:
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

    def leaves(self, formula: Formula, chosen: Ints) -> Leaves:
        """What some individuals read as the leaves of a formula."""
        rows = np.zeros((len(chosen), len(formula.leaves)), np.int64)
        numbers = np.zeros(rows.shape)
        for place, leaf in enumerate(formula.leaves):
            if isinstance(leaf.node, GeneValue | Number):
                numbers[:, place] = self.values(leaf.node)[chosen]
                continue
            read = self._rows_of(leaf)
            places = read.place[chosen]
            if read.rows[0].size == 1:
                numbers[:, place] = np.concatenate(read.rows)[places]
            else:
                rows[:, place] = np.array([row.ctypes.data for row in read.rows])[places]
        return Leaves(rows, numbers)

    def _rows_of(self, part: Part) -> Read:
        """What the population reads as a leaf."""
        if part.number not in self._read:
            first, place = self.individuals.distinct(part.columns)
            members = self.individuals.here[first]
            keys = [(part.number, one.tobytes()) for one in members[:, list(part.columns)]]
            rows = [self._before.get(key) for key in keys]
            missing = [u for u, row in enumerate(rows) if row is None]

            def compute(some: list[int]) -> None:
                found = self._computed(cast(Expression, part.node), members[some])
                for u, row in zip(some, found, strict=True):
                    # They are read from their addresses on.
                    rows[u] = np.ascontiguousarray(row)

            self._shared(compute, self._together(part.node, missing))
            found = cast(list[Floats], rows)
            self._lately |= zip(keys, found, strict=True)
            self._read[part.number] = Read(found, place)
        return self._read[part.number]

    def words(self, part: Part) -> Claimed:
        """The bars at which a condition is true for the population."""
        if part.number not in self._claimed:
            first, place = self.individuals.distinct(part.columns)
            self._claimed[part.number] = Claimed(self._decided(part, first), place)
        return self._claimed[part.number]

    def _together(self, node: Node, missing: list[int]) -> list[list[int]]:
        """Rows that are computed together: trends four at a time, where all threads get some."""
        size = 1
        if is_trend(node) and isinstance(self._rows.run, TrendForm):
            size = max(min(LANES, len(missing) // self._workers.count), 1)
        return [missing[begin : begin + size] for begin in range(0, len(missing), size)]

    def _computed(self, node: Expression, genomes: Floats) -> list[Floats]:
        trees = [bound(node, self._layout.decode(genome)) for genome in genomes]
        if len(trees) > 1 and isinstance(self._rows.run, TrendForm):
            return self._rows.run.of(self._rows, cast(list[Call], trees))
        return [np.atleast_1d(np.asarray(self._rows.of(tree), np.float64)) for tree in trees]

    def _decided(self, part: Part, first: Ints) -> Words:
        """Words [U, N] of a condition for some individuals."""
        node = part.node
        if isinstance(node, Compare):
            found = self._compared(part, first)[RELATIONS[node.relation]]
            return moved(found, node.bars_ago, self.n_bars) if node.bars_ago else found
        parts = [self.words(one) for one in part.below if isinstance(one.node, Condition)]
        words = [one.words[one.place[first]] for one in parts]
        if isinstance(node, OverBars):
            bars = self.values(node.bars)[first]
            found = np.empty_like(words[0])
            for count in np.unique(bars):
                chosen = bars == count
                found[chosen] = over_bars(
                    words[0][chosen], int(count), self.n_bars, is_held=isinstance(node, Held)
                )
            return found
        join = np.bitwise_and if isinstance(node, AllOf) else np.bitwise_or
        for other in words[1:]:
            join(words[0], other, out=words[0])
        return words[0]

    def _compared(self, part: Part, first: Ints) -> dict[int, Words]:
        """Words [U, N] of every relation of the same two sides that the strategy asks for."""
        sides = part.below[0].number, part.below[1].number
        if sides not in self._pairs_decided:
            formula, ends = self.formula(*part.below)
            rows, numbers = self.leaves(formula, first)
            relations = np.array(sorted(self._relations[sides]))
            width = (self.n_bars + LAST_BIT) // WORD
            words = np.empty((len(relations), len(first), width), np.uint64)
            stacks = [stack_of(formula.depth + 1) for _ in range(self._workers.count)]
            left, right = formula.steps[: ends[1]], formula.steps[ends[1] :]
            shared = np.zeros(1, np.int64)

            def compute(thread: int) -> None:
                decide_each(left, right, rows, numbers, relations, self.n_bars, stacks[thread],
                            shared, words)  # fmt: skip

            self._workers.run(compute, len(first))
            self._pairs_decided[sides] = dict(zip(relations.tolist(), words, strict=True))
        return self._pairs_decided[sides]

    def _shared(self, compute: Callable[[Thing], None], things: Sequence[Thing]) -> None:
        """Compute several things on all threads."""

        def work(thread: int) -> None:
            for thing in things[thread :: min(self._workers.count, len(things))]:
                compute(thing)

        if len(things):
            self._workers.run(work, len(things))


def _is_fresh(node: Node) -> bool:
    """Whether a gene stands in it that is no row's parameter."""
    if isinstance(node, Arithmetic):
        return any(map(_is_fresh, node.parts))
    return isinstance(node, GeneValue)


def _write(part: Part, steps: list[tuple[int, int]], leaves: dict[Part, int]) -> None:
    """Write a formula behind other steps."""
    if part.is_fresh:
        for one in part.below:
            _write(one, steps, leaves)
        steps.append((OPERATIONS[cast(Arithmetic, part.node).operation], 0))
    else:
        steps.append((LEAF, leaves.setdefault(part, len(leaves))))


def _depth(part: Part) -> int:
    """Places of the stack that a formula needs."""
    if not part.is_fresh:
        return 1
    return max(place + _depth(one) for place, one in enumerate(part.below))
