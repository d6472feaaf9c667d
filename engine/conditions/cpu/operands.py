"""Operands of a population on one series: rows by their keys, conditions as words.

A key is a part of the strategy with the values of its genes. What several individuals ask for is
computed once; part after part is computed for all of them together.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from engine.conditions.cpu.candidates import (
    Bounded,
    copy_candidates,
    set_kept_bars,
)
from engine.conditions.cpu.codes import (
    MOST_IN_TURN,
    NOT_SHARED,
    SAME,
    TURNS,
    AskedWords,
    RowCodes,
    decide_asked,
    is_coded,
    join_words,
)
from engine.conditions.cpu.expression_vm import (
    RELATIONS,
    WORD,
    allocate_stack,
    decide_each,
    join_each,
    over_bars,
    shift_words,
)
from engine.conditions.cpu.parts import (
    Formula,
    Leaves,
    Part,
    name_sides,
    write_formula,
)
from engine.conditions.cpu.plan import plan_conditions
from engine.indicators.coders import map_bounds, map_row
from engine.indicators.cpu.rows import ITEM, RowArrays
from engine.indicators.individuals import Individuals, resolve_values
from engine.indicators.keys import Keys, number_once
from engine.indicators.row_bank import RowBank
from engine.runtime.cpu.bitset import LAST_BIT, Words, list_set_bars
from engine.runtime.cpu.memory import Scratch
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.conditions import AllOf, Compare, Condition, Held, OverBars, Relation
from strategy.expressions import Expression, GeneValue, Number
from strategy.genes import GenomeLayout
from strategy.nodes import Node
from strategy.rows import Rows

Array = npt.NDArray[Any]
Made = tuple[Ints, Sequence[Array]]
"""Addresses [kinds, n], and what holds the memory there."""


class KeyedArrays:
    """Arrays that were computed so far, and where they lie.

    Args:
        columns: Genes that decide them, columns of a genome.
        kinds: Arrays of each set of values of these genes.

    `arrays` hold their memory.
    """

    def __init__(self, columns: Sequence[int], kinds: int) -> None:
        self._keys = Keys(columns)
        self.arrays: list[Array] = []
        self._addresses = np.empty((kinds, 0), np.int64)

    def bring(self, genomes: Floats, make: Callable[[Ints], Made]) -> Ints:
        """Where the arrays of individuals [P, G] lie, [kinds, P]; `make` makes those of some."""
        known = self._keys.count
        numbers, fresh = self._keys.number(genomes)
        if fresh.size:
            try:
                addresses, arrays = make(fresh)
            except BaseException:
                self._keys.keep(np.arange(known))
                raise
            self._addresses = np.concatenate([self._addresses, addresses], axis=1)
            self.arrays.extend(arrays)
        return self._addresses[:, numbers]


def list_addresses(arrays: Sequence[Array]) -> Ints:
    """Where arrays lie, [n]."""
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)


def addresses_within(block: Array) -> Ints:
    """Where the rows of a contiguous array [kinds, n, N] lie, [kinds, n]."""
    kinds, n, _ = block.shape
    begin = block.__array_interface__["data"][0]
    addresses: Ints = (
        begin + np.arange(kinds * n, dtype=np.int64).reshape(kinds, n) * block.strides[1]
    )
    return addresses


Name = Hashable

LESS, STRICT = ("<", "<="), ("<", ">")
"""Relations with a larger right side, and relations that equal sides lack."""

MOST_SHARE = 1 / 4
"""Share of bars that may be candidates; beyond, comparisons are decided at every bar."""


class Readings:
    """Values of a strategy's parts on one series, for one population after another.

    Args:
        rows: Of the series.
        layout: Of the genomes.
        workers: Threads that share the work.
        conditions: All that will be asked for; what compares the same sides is decided together.
        values: The same for what is read beside them.
        capacity: Rows that are kept for the next population.
    """

    def __init__(
        self,
        rows: Rows,
        layout: GenomeLayout,
        workers: Threads,
        conditions: Sequence[Condition],
        values: Sequence[Expression] = (),
        capacity: int = 0,
    ) -> None:
        self._rows, self._layout, self._workers = rows, layout, workers
        self._plan = plan_conditions(layout, tuple(conditions), tuple(values))
        self._places, self.part = self._plan.places, self._plan.part
        self._asked = [self.part(condition) for condition in conditions]
        self._is_sparse: dict[int, bool] = {}
        self._row_codes: dict[Name, RowCodes] = {}
        self._kept = cast(ArrayCache, rows.kept)
        self._let_go, self._n_blocks = 0, count()
        self._word_tables: dict[Name, KeyedArrays] = {}
        self._scratch = Scratch()
        self.begin(layout.defaults[None])
        self._arrays = RowArrays(rows, workers)
        # Not of this object: nothing collects cycles in a program.
        fill = partial(_fill_rows, self._arrays, self._row_codes)
        self._bank = RowBank(self._plan.reads, capacity, fill, grows=True)

    @property
    def n_rows(self) -> int:
        """Rows that an individual reads, at most."""
        return len(self._places)

    @property
    def holds_words(self) -> bool:
        """True if conditions of an individual may be decided before they are read."""
        words = [part for asked in self._asked for part in self._plan.split(asked)[1]]
        are_whole = all(self._plan.are_whole(part.columns) for part in words)
        return not are_whole or any(part.number in self._plan.bounded for part in self._asked)

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.series)

    @property
    def n_words(self) -> int:
        """Words N that hold all bars."""
        return (self.n_bars + LAST_BIT) // WORD

    def begin(self, genomes: Floats, span: tuple[int, int] | None = None) -> None:
        """Take up another population [P, G], whose conditions are read in a span of bars, or all.

        Conditions with real genes may be false at other bars.
        """
        first, last = (0, self.n_bars) if span is None else span
        self._span = first // WORD, min((last + LAST_BIT) // WORD, self.n_words)
        self.individuals = Individuals(genomes, self._layout)
        if self._kept.let_go != self._let_go:
            # Nothing that was let go may be held here.
            self._let_go = self._kept.let_go
            self._word_tables.clear()
        self._slots: Ints | None = None
        self._found: dict[Name, Ints] = {}
        self._blocks: list[Array] = []
        self._scratch.release()

    def values(self, setting: Node) -> Floats:
        """The value [P] of a constant or a gene."""
        return resolve_values(setting, self._layout, self.individuals.here)

    def leaves(self, formula: Formula, chosen: Ints) -> Leaves:
        """Leaves of a formula that some individuals read."""
        rows = np.zeros((len(chosen), len(formula.leaves)), np.int64)
        numbers = np.zeros(rows.shape)
        for column, leaf in enumerate(formula.leaves):
            if isinstance(leaf.node, GeneValue | Number):
                numbers[:, column] = self.values(leaf.node)[chosen]
                continue
            if leaf in self._places:
                slots = self._find_slots(leaf)[chosen]
                rows[:, column] = self._arrays.addresses[slots]
            else:
                # The same at every bar.
                numbers[:, column] = self._rows.of(cast(Expression, leaf.node))
        return Leaves(rows, numbers)

    def _find_slots(self, row: Part) -> Ints:
        """Slots [P] of a row; those of all rows are looked up once the population reads one."""
        if self._slots is None:
            slots = self._bank.bring(self.individuals.here)
            assert slots is not None
            self._slots = slots.astype(np.int64)
        column: Ints = self._slots[:, self._places[row]]
        return column

    def words(self, part: Part, chosen: Ints | None = None) -> Ints:
        """Where words of bars at which a condition is true lie, [n] of chosen individuals, or all.

        They stay here until the next population comes.
        """
        node = part.node
        if isinstance(node, Compare) and not node.bars_ago:
            return self._sides(part, chosen)[RELATIONS[node.relation]]
        decide = partial(self._decide_words, part)
        addresses: Ints = self._word_addresses(part.number, part.columns, 1, decide, chosen)[0]
        return addresses

    def gather(self, addresses: Ints) -> Words:
        """Words [n, N] that lie at addresses [n], until the next population comes."""
        return self.list_words(join_words(addresses[:, None], self.n_words))[:, 0]

    def ask(self, conditions: Sequence[Part]) -> AskedWords:
        """Words of conditions [C] of all individuals, decided where they are read.

        Valid as long as those of `words`.
        """
        chosen = np.arange(len(self.individuals.here))
        asked = self._ask([self._split(part, chosen) for part in conditions], chosen, self._span)
        sets = np.empty((len(chosen), len(conditions)), np.int64)
        for number, (part, span) in enumerate(zip(conditions, asked.spans, strict=True)):
            if span[0] == span[1]:
                sets[:, number] = asked.others[:, span[2]]
            else:
                sets[:, number] = number_once(self.individuals.here, part.columns).numbers
        turn = min(max(len(chosen) // (TURNS * self._workers.count), 1), MOST_IN_TURN)
        return asked._replace(sets=sets, order=np.argsort(sets[:, 0]), turn=turn)

    def make_word_room(self, asked: AskedWords) -> Words:
        """Room of each thread for the words of a turn, [threads, n, N]."""
        n_words = asked.turn * len(asked.spans)
        return self._scratch.take(self._workers.count, n_words, self.n_words)

    def list_words(self, asked: AskedWords) -> Words:
        """All words that were asked for, [P, C, N]."""
        words = self._scratch.take(len(asked.others), len(asked.spans), self.n_words)
        shared = np.zeros(1, np.int64)
        self._workers.run(lambda _: decide_asked(asked, shared, words), len(words))
        return words

    def _split(self, part: Part, chosen: Ints) -> tuple[Sequence[Part], Sequence[Part]]:
        """Comparisons to decide where a condition is read, and what holds there as well."""
        return ((), (part,)) if self._pays(part, chosen) else self._plan.split(part)

    def _make_room(self, part: Part, *shape: int) -> Words:
        """Room for words of a part; with a real gene nobody reads them after this population."""
        if self._plan.are_whole(part.columns):
            return np.empty(shape, np.uint64)
        return self._scratch.take(*shape)

    def _sides(self, part: Part, chosen: Ints | None) -> dict[int, Ints]:
        """Addresses of words [n], by each relation of the strategy between two sides."""
        sides = name_sides(part)
        relations = sorted(self._plan.relations[sides])
        compute = partial(self._compare_sides, part, np.array(relations))
        addresses = self._word_addresses(sides, part.columns, len(relations), compute, chosen)
        return dict(zip(relations, addresses, strict=True))

    def _word_addresses(
        self,
        name: Name,
        columns: tuple[int, ...],
        kinds: int,
        decide: Callable[[Ints], Words],
        chosen: Ints | None,
    ) -> Ints:
        """Where words [kinds, n] of the chosen lie; `decide` gives [kinds, n, N] of some."""
        is_kept = self._plan.are_whole(columns) and name not in self._plan.passing

        def make(fresh: Ints) -> Made:
            block = self._keep(lambda: decide(fresh)) if is_kept else decide(fresh)
            return addresses_within(block), [block]

        if chosen is None:
            return self._look_up(name, columns, kinds, make)
        if name not in self._plan.passing:
            return self._look_up(name, columns, kinds, make).take(chosen, axis=1)
        once = name, chosen.tobytes()
        if once not in self._found:
            self._found[once], blocks = make(chosen)
            self._blocks.extend(blocks)
        return self._found[once]

    def _look_up(
        self, name: Name, columns: tuple[int, ...], kinds: int, make: Callable[[Ints], Made]
    ) -> Ints:
        """Addresses [kinds, P] by the values of genes; `make` gives those of some individuals.

        They stay for the next population where no real gene is among the genes.
        """
        if name in self._found:
            return self._found[name]
        table = self._word_tables.get(name) or KeyedArrays(columns, kinds)
        self._found[name] = table.bring(self.individuals.here, make)
        if self._plan.are_whole(columns):
            self._word_tables[name] = table
        else:
            self._blocks.extend(table.arrays)
        return self._found[name]

    def _keep(self, compute: Callable[[], Array]) -> Array:
        """An array that counts as kept, as rows do."""
        name = (*self._rows.place, "words", next(self._n_blocks))
        return self._kept.get(name, compute)

    def _decide_words(self, part: Part, chosen: Ints) -> Words:
        """Words [1, n, N] of a condition for some individuals."""
        node = part.node
        if isinstance(node, Compare):
            sides = self._sides(part, chosen)[RELATIONS[node.relation]]
            return shift_words(self.gather(sides), node.bars_ago, self.n_bars)[None]
        if self._pays(part, chosen):
            return self._decide_candidates(self._plan.bounded[part.number], chosen)[None]
        if part.number in self._plan.coded:
            span = self._span if part.number in self._plan.outermost else (0, self.n_words)
            return self._decide_coded(self._plan.coded[part.number], chosen, span)[None]
        below = [
            self.words(condition, chosen)
            for condition in part.below
            if isinstance(condition.node, Condition)
        ]
        decided = self._make_room(part, 1, len(chosen), self.n_words)
        if isinstance(node, OverBars):
            bars = self.values(node.bars)[chosen]
            for length in np.unique(bars):
                words = self.gather(below[0][bars == length])
                decided[0, bars == length] = over_bars(
                    words, int(length), self.n_bars, is_held=isinstance(node, Held)
                )
            return decided
        if isinstance(node, AllOf):
            decided[0] = self.list_words(join_words(np.stack(below, 1), self.n_words))[:, 0]
            return decided
        parts, shared = np.stack(below, 1), np.zeros(1, np.int64)
        self._workers.run(lambda _: join_each(parts, shared, decided[0]), len(chosen))
        return decided

    def _pays(self, part: Part, chosen: Ints) -> bool:
        """True if few bars are candidates of a conjunction, and all individuals within bounds."""
        if part.number not in self._plan.bounded:
            return False
        bounded = self._plan.bounded[part.number]
        if part.number not in self._is_sparse:
            share = len(self._list_candidates(bounded, chosen[:1])[0]) / self.n_bars
            self._is_sparse[part.number] = share <= MOST_SHARE
        columns = list(bounded.columns)
        values = self.individuals.here[chosen][:, columns]
        is_within = (self._layout.low[columns] <= values) & (values <= self._layout.high[columns])
        return self._is_sparse[part.number] and bool(is_within.all())

    def _list_candidates(self, bounded: Bounded, chosen: Ints) -> list[Ints]:
        """Bars at which a conjunction can hold, of each of some individuals."""
        impossible = self.gather(self.words(self.part(bounded.impossible), chosen))
        return [bars[bars < self.n_bars] for bars in map(list_set_bars, ~impossible)]

    def _copy_candidates(self, bounded: Bounded, chosen: Ints) -> Made:
        """Addresses and lengths [2, n] of candidates with the values read there, and the arrays."""
        read = [self._read_sides(self.part(compare), chosen).rows for compare in bounded.compares]
        ago = [compare.bars_ago for compare in bounded.compares]
        rows, bars_ago = np.hstack(read), np.repeat(ago, [some.shape[1] for some in read])
        is_row = rows[0] != 0
        rows, bars_ago = np.ascontiguousarray(rows[:, is_row]), bars_ago[is_row]
        listed = self._list_candidates(bounded, chosen)
        copies = [
            self._keep(partial(copy_candidates, rows, u, bars, bars_ago))
            for u, bars in enumerate(listed)
        ]
        return np.stack([list_addresses(copies), np.array(list(map(len, listed)))]), copies

    def _decide_candidates(self, bounded: Bounded, chosen: Ints) -> Words:
        """Words [n, N] of a conjunction for some individuals."""
        part, make = self.part(bounded.impossible), partial(self._copy_candidates, bounded)
        name = "candidates", part.number
        # In the order of others: for another one loops would be compiled once more.
        begins, counts = self._look_up(name, part.columns, 2, make).take(chosen, axis=1)
        read = [self._read_sides(self.part(condition), chosen) for condition in bounded.compares]
        copy_numbers = np.cumsum(np.hstack([leaves.rows for leaves in read]) != 0, axis=1)
        copies = begins[:, None] + copy_numbers * counts[:, None] * copy_numbers.itemsize
        kept = []
        for compare, leaves in zip(bounded.compares, read, strict=True):
            width = leaves.rows.shape[1]
            leaves_there = Leaves(np.where(leaves.rows != 0, copies[:, :width], 0), leaves.numbers)
            relation = np.array([RELATIONS[compare.relation]])
            kept.append(self._decide(self.part(compare), leaves_there, relation, counts)[0])
            copies = copies[:, width:]
        rest = [self.words(self.part(condition), chosen) for condition in bounded.rest]
        others = np.stack([begins, *rest], axis=1)
        joined, shared = np.bitwise_and.reduce(kept), np.zeros(1, np.int64)
        words = self._scratch.take(len(chosen), self.n_words)
        words.fill(0)
        self._workers.run(lambda _: set_kept_bars(joined, others, shared, words), len(chosen))
        return words

    def _read_sides(self, part: Part, chosen: Ints) -> Leaves:
        """Both sides of a comparison as some individuals read them."""
        return self.leaves(write_formula(*part.below)[0], chosen)

    def _compare_sides(self, part: Part, relations: Ints, chosen: Ints) -> Words:
        """Words [Q, n, N] of several relations of the same two sides."""
        if is_coded(part.node, self._layout):
            # Words are of the bar itself: their reader looks back.
            node = replace(part.node, bars_ago=0)
            compares = [
                replace(part, node=replace(node, relation=cast(Relation, relation)))
                for relation, number in RELATIONS.items()
                if number in relations
            ]
            span = 0, self.n_words
            return np.stack(
                [self._decide_coded(([compare], []), chosen, span) for compare in compares]
            )
        n_bars = np.full(len(chosen), self.n_bars)
        return self._decide(part, self._read_sides(part, chosen), relations, n_bars)

    def _decide_coded(
        self, split: tuple[Sequence[Part], Sequence[Part]], chosen: Ints, span: tuple[int, int]
    ) -> Words:
        """Words [n, N] of where some comparisons and all other conditions hold, in a span of N."""
        return self.list_words(self._ask([split], chosen, span))[:, 0]

    def _ask(
        self,
        conditions: Sequence[tuple[Sequence[Part], Sequence[Part]]],
        chosen: Ints,
        span: tuple[int, int],
    ) -> AskedWords:
        """Words of conditions of some individuals, each by comparisons and other conditions."""
        compares = [compare for some, _ in conditions for compare in some]
        rest = [words for _, some in conditions for words in some]
        sides = np.empty((len(chosen), len(compares), 4), np.int64)
        steps = np.zeros((len(compares), 5), np.int64)
        genes = np.ascontiguousarray(self.individuals.here[chosen].T)
        self._blocks.append(genes)
        for k, compare in enumerate(compares):
            node = cast(Compare, compare.node)
            relation, ago = node.relation, node.bars_ago
            steps[k, 4] = relation in STRICT
            row_codes = self._find_codes(compare.below)
            for side, part in enumerate(compare.below):
                # For "less" the right side is the larger one.
                at = side ^ (relation in LESS)
                if part in self._places:
                    slots = self._find_slots(part)[chosen]
                    rows = self._arrays.addresses
                    sides[:, k, at] = row_codes.bring(slots, rows, self._workers) - ago
                    sides[:, k, 2 + at] = rows[slots] - ITEM * ago
                    steps[k, at], steps[k, 2 + at] = WORD, ITEM
                else:
                    gene = genes[part.columns[0]]
                    sides[:, k, at] = SAME.ctypes.data + WORD * row_codes.map.encode(gene)
                    sides[:, k, 2 + at] = gene.ctypes.data + ITEM * np.arange(len(gene))
        others = np.empty((len(chosen), len(rest)), np.int64)
        for number, condition in enumerate(rest):
            others[:, number] = self.words(condition, chosen)
        counts = np.array([[len(some), len(words)] for some, words in conditions], np.int64)
        ends = counts.cumsum(axis=0)
        spans = np.stack([ends - counts, ends], 2).reshape(-1, 4)
        return AskedWords(sides, steps, others, spans, *NOT_SHARED, *span, 1)

    def _find_codes(self, sides: Sequence[Part]) -> RowCodes:
        """Codes under the map that two sides share."""
        name = tuple(part.number for part in sides)
        if name not in self._row_codes:
            genes = [part for part in sides if part not in self._places]
            if genes:
                (column,) = genes[0].columns
                code_map = map_bounds(self._layout.low[column], self._layout.high[column])
            else:
                row = self._arrays.row(self._find_slots(sides[0])[0])
                code_map = map_row(row, int(self._layout.high[self._layout.is_int].max(initial=2)))
            self._row_codes[name] = RowCodes(code_map, self.n_bars)
        return self._row_codes[name]

    def _decide(self, part: Part, leaves: Leaves, relations: Ints, n_bars: Ints) -> Words:
        """Words [Q, n, M] of relations of two sides at the bars [n] that leaves have."""
        formula, ends = write_formula(*part.below)
        n_words = (n_bars.max() + LAST_BIT) // WORD
        words = self._make_room(part, len(relations), len(n_bars), n_words)
        words.fill(0)
        stacks = [allocate_stack(formula.depth + 1) for _ in range(self._workers.count)]
        left, right = formula.steps[: ends[1]], formula.steps[ends[1] :]
        shared = np.zeros(1, np.int64)

        def compute(thread: int) -> None:
            decide_each(left, right, *leaves, relations, n_bars, stacks[thread], shared, words)

        self._workers.run(compute, len(n_bars))
        return words


def _fill_rows(
    arrays: RowArrays, row_codes: dict[Name, RowCodes], trees: Sequence[Expression], slots: Ints
) -> None:
    """Compute rows into slots; codes of former rows are none of theirs."""
    arrays.fill(trees, slots)
    for codes in row_codes.values():
        codes.forget(slots)
