"""What a population reads of one series: rows by their keys, conditions as words.

A key is a part of the strategy with the values of its genes. What several individuals ask for is
computed once; part after part is computed for all of them together.
"""

from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar, cast

import numpy as np

from engine.conditions.cpu.expression_vm import LEAF, OPERATIONS, WORD, allocate_stack, decide_each
from engine.conditions.cpu.kernels import RELATIONS, gather_words, join_each, over_bars, shift_words
from engine.conditions.cpu.keyed import KeyedArrays, addresses_within, list_addresses
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.individuals import Individuals, list_gene_columns, resolve_values
from engine.indicators.trend_spec import is_trend
from engine.runtime.cpu.bitset import LAST_BIT, Words
from engine.runtime.cpu.simd4 import LANES
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.conditions import AllOf, Compare, Condition, Held, OverBars
from strategy.expressions import Arithmetic, Call, Expression, GeneValue, Number, holds_row
from strategy.genes import GenomeLayout
from strategy.nodes import Node
from strategy.rows import Rows, bound

Thing = TypeVar("Thing")
Key = TypeVar("Key", bound=Hashable)
Name = Hashable


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
        self._is_whole = layout.is_int.tolist()
        self._parts: dict[Node, Part] = {}
        self._relations: dict[tuple[int, int], set[int]] = {}
        self._kept = cast(ArrayCache, rows.kept)
        self._let_go, self._n_blocks = 0, count()
        self._row_tables: dict[int, KeyedArrays] = {}
        self._word_tables: dict[Name, KeyedArrays] = {}
        self.begin(layout.defaults[None])
        for condition in conditions:
            self.part(condition)

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.series)

    @property
    def n_words(self) -> int:
        """Words N that hold all bars."""
        return (self.n_bars + LAST_BIT) // WORD

    def begin(self, genomes: Floats) -> None:
        """Take up another population [P, G]."""
        self.individuals = Individuals(genomes, self._layout)
        if self._kept.let_go != self._let_go:
            # What was let go must not be held here; only what was read last is still at hand.
            self._let_go = self._kept.let_go
            for table in self._row_tables.values():
                table.forget_others()
            self._word_tables.clear()
        for table in self._row_tables.values():
            table.start()
        self._asked: set[int] = set()
        self._found: dict[Name, Ints] = {}
        self._blocks: list[Words] = []

    def part(self, node: Node) -> Part:
        """The part of a node; equal nodes are one part."""
        if node not in self._parts:
            columns = list_gene_columns(node, self._layout)
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
        return resolve_values(setting, self._layout, self.individuals.here)

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
            table = self._update_row_table(leaf)
            if not leaf.columns and table.first.size == 1:
                # The same at every bar.
                numbers[:, place] = table.first[0]
            else:
                rows[:, place] = table.addresses[0][chosen]
        return Leaves(rows, numbers)

    def _update_row_table(self, part: Part) -> KeyedArrays:
        """Rows of a leaf, in which those that the population reads were looked up."""
        table = self._row_tables.setdefault(part.number, KeyedArrays(part.columns))
        if part.number not in self._asked:
            with _whole(self._row_tables, part.number):
                fresh = table.find(self.individuals.here)
                rows = self._computed_rows(part, self.individuals.here[fresh])
                table.add(list_addresses(rows)[None], rows)
            self._asked.add(part.number)
        return table

    def _computed_rows(self, part: Part, genomes: Floats) -> list[Floats]:
        """A leaf's rows for genomes [n, G]."""
        found: dict[int, Floats] = {}

        def compute(some: list[int]) -> None:
            rows = self._evaluate_trees(cast(Expression, part.node), genomes[some])
            # They are read from their addresses on.
            found.update(zip(some, map(np.ascontiguousarray, rows), strict=True))

        self._run_on_threads(compute, self._together(part.node, list(range(len(genomes)))))
        return [found[u] for u in range(len(genomes))]

    def words(self, part: Part) -> Ints:
        """Where the words of bars at which a condition is true lie, [P]; their memory stays here.

        They stay until the next population comes.
        """
        node = part.node
        if isinstance(node, Compare) and not node.bars_ago:
            return self._sides(part)[RELATIONS[node.relation]]
        found: Ints = self._addresses(
            part.number, part.columns, 1, partial(self._decide_words, part)
        )[0]
        return found

    def _sides(self, part: Part) -> dict[int, Ints]:
        """Where words [P] lie, by each relation that the strategy asks for between two sides."""
        sides = part.below[0].number, part.below[1].number
        relations = sorted(self._relations[sides])
        compute = partial(self._compare_sides, part, np.array(relations))
        found = self._addresses(sides, part.columns, len(relations), compute)
        return dict(zip(relations, found, strict=True))

    def _addresses(
        self, name: Name, columns: tuple[int, ...], kinds: int, compute: Callable[[Ints], Words]
    ) -> Ints:
        """Where words [kinds, P] lie; `compute` decides them [kinds, n, N] for some individuals.

        They stay for the next population where no real gene stands in them.
        """
        if name in self._found:
            return self._found[name]
        table = self._word_tables.get(name) or KeyedArrays(columns, kinds)
        is_kept = all(self._is_whole[column] for column in columns)
        with _whole(self._word_tables, name):
            fresh = table.find(self.individuals.here)
            if fresh.size:
                block = self._kept_block(compute, fresh) if is_kept else compute(fresh)
                table.add(addresses_within(block), [block])
        if is_kept:
            self._word_tables[name] = table
        else:
            self._blocks.append(table.first)
        self._found[name] = table.addresses
        return self._found[name]

    def _kept_block(self, compute: Callable[[Ints], Words], fresh: Ints) -> Words:
        """Words that count as kept, as rows do."""
        name = (*self._rows.place, "words", next(self._n_blocks))
        return cast(Words, self._kept.get(name, lambda: cast(Floats, compute(fresh))))

    def _together(self, node: Node, places: list[int]) -> list[list[int]]:
        """Rows that are computed together: trends four at a time, where all threads get some."""
        size = 1
        if is_trend(node) and isinstance(self._rows.run, TrendForm):
            size = max(min(LANES, len(places) // self._workers.count), 1)
        return [places[begin : begin + size] for begin in range(0, len(places), size)]

    def _evaluate_trees(self, node: Expression, genomes: Floats) -> list[Floats]:
        trees = [bound(node, self._layout.decode(genome)) for genome in genomes]
        if len(trees) > 1 and isinstance(self._rows.run, TrendForm):
            return self._rows.run.of(self._rows, cast(list[Call], trees))
        return [np.atleast_1d(np.asarray(self._row(tree), np.float64)) for tree in trees]

    def _row(self, tree: Expression) -> Floats | float:
        """A row, which counts as kept also where it is arithmetic."""
        if isinstance(tree, Arithmetic) and holds_row(tree):
            name = (*self._rows.place, tree)
            return self._kept.get(name, lambda: cast(Floats, self._rows.of(tree)))
        return self._rows.of(tree)

    def _decide_words(self, part: Part, chosen: Ints) -> Words:
        """Words [1, n, N] of a condition for some individuals."""
        node = part.node
        if isinstance(node, Compare):
            sides = self._sides(part)[RELATIONS[node.relation]][chosen]
            return shift_words(gather_words(sides, self.n_words), node.bars_ago, self.n_bars)[None]
        below = [self.words(one)[chosen] for one in part.below if isinstance(one.node, Condition)]
        found = np.empty((1, len(chosen), self.n_words), np.uint64)
        if isinstance(node, OverBars):
            bars = self.values(node.bars)[chosen]
            for length in np.unique(bars):
                words = gather_words(below[0][bars == length], self.n_words)
                found[0, bars == length] = over_bars(
                    words, int(length), self.n_bars, is_held=isinstance(node, Held)
                )
            return found
        parts, is_all, shared = np.stack(below, 1), isinstance(node, AllOf), np.zeros(1, np.int64)
        self._workers.run(lambda _: join_each(parts, is_all, shared, found[0]), len(chosen))
        return found

    def _compare_sides(self, part: Part, relations: Ints, chosen: Ints) -> Words:
        """Words [Q, n, N] of several relations of the same two sides."""
        formula, ends = self.formula(*part.below)
        rows, numbers = self.leaves(formula, chosen)
        words = np.empty((len(relations), len(chosen), self.n_words), np.uint64)
        stacks = [allocate_stack(formula.depth + 1) for _ in range(self._workers.count)]
        left, right = formula.steps[: ends[1]], formula.steps[ends[1] :]
        shared = np.zeros(1, np.int64)

        def compute(thread: int) -> None:
            decide_each(left, right, rows, numbers, relations, self.n_bars, stacks[thread],
                        shared, words)  # fmt: skip

        self._workers.run(compute, len(chosen))
        return words

    def _run_on_threads(self, compute: Callable[[Thing], None], things: Sequence[Thing]) -> None:
        """Compute several things on all threads."""

        def work(thread: int) -> None:
            for thing in things[thread :: min(self._workers.count, len(things))]:
                compute(thing)

        if len(things):
            self._workers.run(work, len(things))


@contextmanager
def _whole(tables: MutableMapping[Key, KeyedArrays], name: Key) -> Iterator[None]:
    """Forget a table in which individuals were looked up, but whose arrays were not computed."""
    try:
        yield
    except BaseException:
        tables.pop(name, None)
        raise


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
