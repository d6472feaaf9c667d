"""Comparisons on one series: by codes where a row meets a gene or another row.

Codes (`engine.indicators.coders`) lie bit by bit, so that a word has a bit of 64 bars, and most
bars are decided by the first bits. Rows compared with genes have a map over the bounds of these;
rows compared with each other share a map by one of them. Arithmetic, and comparisons with few sets
of genes, are computed by a kernel that is compiled for their form.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.backend import Ints
from engine.conditions.cpu.expression_vm import RELATIONS
from engine.conditions.cuda.expression_vm import Form, Formulas
from engine.conditions.cuda.kernels import (
    ALONE,
    BOTH_HOLD,
    ONE_HOLDS,
    compare_codes_kernel,
    compare_form_kernel,
    plane_kernel,
)
from engine.indicators.coders import HIGHEST_CODE, CodeMap, map_bounds, map_row
from engine.indicators.cuda.device_rows import DeviceRows, GrowingRows
from engine.indicators.individuals import drop_market, is_row, list_gene_columns, read_row
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device
from strategy.conditions import Compare
from strategy.expressions import Expression, GeneValue
from strategy.genes import GenomeLayout

TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
"""Relation of swapped sides."""

WORDS, CODED = 8, 128
"""Words that a program computes, and words that one decides by codes."""

BITS = HIGHEST_CODE.bit_length()
"""Bits of a code; another says whether a value is known."""

ENCODED = 16
"""Halves of words that a program encodes."""

PROGRAMS = 65_536
"""Programs that keep a large device busy."""

MOST_SHARES = 65_535
"""Programs along the second axis of a grid."""


class FormComparison(NamedTuple):
    """A comparison of two formulas."""

    asked: torch.Tensor  # as `compare_form_kernel` takes it
    left: Form  # form of its left side
    right: Form  # form of its right side
    relation: int  # number of its relation


class CodedComparison(NamedTuple):
    """A comparison of a row with a gene or with a row."""

    left: int  # place of the left row
    right: int  # place of the right row, or column of the gene
    relation: int  # number of its relation
    ago: int  # how many bars ago
    is_gene: bool  # whether the right side is a gene


Comparison = FormComparison | CodedComparison


class Joined(NamedTuple):
    """Words of another condition that a comparison is joined with."""

    words: torch.Tensor  # [n, N]
    sets: torch.Tensor  # [m] int32, row of them that each set of genes reads; as of `join_kernel`
    way: int  # how sets are read
    all: bool  # whether both must hold, else either


class Read(NamedTuple):
    """Operands that comparisons read of a population."""

    genomes: torch.Tensor  # [P, G]
    slots: torch.Tensor  # [P, R]
    members: torch.Tensor  # [1 + n] how many sets of genes there are, and an individual of each


class Comparisons:
    """Comparisons of one strategy on one series.

    Args:
        rows: Of the series.
        layout: Of the genomes, as `engine.indicators.individuals.add_market` gives it.
        formulas: Of the strategy; sides of comparisons are put there.
        device: Where tensors lie.
    """

    def __init__(
        self, rows: DeviceRows, layout: GenomeLayout, formulas: Formulas, device: torch.device
    ) -> None:
        self._rows, self._layout, self._formulas, self._device = rows, layout, formulas, device
        self._n_bars = len(rows.hosts[0].series)
        self._bounds: dict[int, tuple[float, float]] = {}
        self._groups: list[dict[int, Expression]] = []
        self._tables: dict[tuple[int, bool], CodeTable] = {}
        self._codes: list[GrowingRows] = []

    def add(self, node: Compare) -> Comparison:
        """The comparison of a condition."""
        left, relation, right = node.left, RELATIONS[node.relation], node.right
        spans, ago = [self._formulas.span(side) for side in (left, right)], node.bars_ago
        ago = min(ago, self._n_bars)
        if not is_row(left):
            left, relation, right = right, RELATIONS[TURNED[node.relation]], left
        is_gene = isinstance(right, GeneValue)
        # Few sets of genes are compared as quickly without codes.
        is_many = len(list_gene_columns(node, self._layout)) > 1
        if not is_row(left) or not (is_gene or (is_row(right) and is_many)):
            asked = to_device(np.array([*spans[0], *spans[1], ago], np.int32), self._device)
            first, second = (self._formulas.form(span) for span in spans)
            return FormComparison(asked, first, second, RELATIONS[node.relation])
        place = self._formulas.rows[left]
        if isinstance(right, GeneValue):
            gene = right.gene
            low, high = self._bounds.get(place, (gene.low, gene.high))
            self._bounds[place] = min(low, gene.low), max(high, gene.high)
            column = self._layout.index(gene.name)
            return CodedComparison(place, column, relation, ago, is_gene=True)
        other = self._formulas.rows[right]
        places = {place: left, other: right}
        for group in [group for group in self._groups if places.keys() & group.keys()]:
            self._groups.remove(group)
            places |= group
        self._groups.append(places)
        return CodedComparison(place, other, relation, ago, is_gene=False)

    def load(self) -> None:
        """Bring formulas to the device and make tables of codes, after the last comparison."""
        code = np.array([*self._formulas.code, 0, 0], np.int32)
        constants = np.array([*self._formulas.constants, 0.0])
        self.code = to_device(code, self._device), to_device(constants, self._device)
        among_rows = {place for group in self._groups for place in group}
        # Only a row that is compared with genes and with rows has codes of two maps.
        n_maps = 2 if among_rows & self._bounds.keys() else int(bool(among_rows or self._bounds))
        self._codes = [self._make_codes() for _ in range(n_maps)]
        for place, bounds in self._bounds.items():
            self._add_table([(place, True)], [map_bounds(*bounds)], self._codes[0])
        for group in self._groups:
            keys = [(place, False) for place in group]
            self._add_table(keys, self._follow(group[min(group)]), self._codes[-1])

    @property
    def row_bytes(self) -> int:
        """Bytes of a row at a bar, with its codes."""
        return count_row_bytes(len(self._codes))

    @property
    def addresses(self) -> list[int]:
        """Where codes lie."""
        return [codes.values.data_ptr() for codes in self._codes]

    def list_tables(self, place: int) -> tuple["CodeTable", ...]:
        """Tables in which rows that are read at a place have codes."""
        keys = (place, True), (place, False)
        return tuple(self._tables[key] for key in keys if key in self._tables)

    def encode(self, tables: Sequence[tuple["CodeTable", ...]], slots: Ints) -> None:
        """Make the codes of rows in slots [n], of each in its tables."""
        for table in dict.fromkeys(itertools.chain.from_iterable(tables)):
            table.encode(self._rows.values, slots[[table in some for some in tables]])

    def decide(
        self, comparison: Comparison, read: Read, words: torch.Tensor, joined: Joined | None = None
    ) -> None:
        """Write words [n, N] of the bars at which it holds for each set of genes.

        One by codes is joined with words of another condition on request.
        """
        rows = self._rows.values
        if isinstance(comparison, FormComparison):
            halves = words.view(torch.int32)
            launch(compare_form_kernel, _spread(halves, 2 * WORDS), *self.code, comparison.asked,
                   read.genomes, read.slots, rows, read.members, halves, read.genomes.shape[1],
                   read.slots.shape[1], self._n_bars, self._n_bars, halves.shape[1],
                   LEFT=comparison.left, RIGHT=comparison.right, RELATION=comparison.relation,
                   HALVES=2 * WORDS)  # fmt: skip
            return
        table = self._tables[comparison.left, comparison.is_gene]
        given, sets, way, join = words, read.members, 0, ALONE
        if joined is not None:
            given, sets, way = joined.words, joined.sets, joined.way
            join = BOTH_HOLD if joined.all else ONE_HOLDS
        launch(compare_codes_kernel, _spread(words, CODED), table.codes.values, rows, table.low,
               table.scale, read.genomes, read.slots, read.members, given, sets, words,
               read.genomes.shape[1], read.slots.shape[1], self._n_bars, words.shape[1],
               comparison.left, comparison.right, comparison.ago, warps=1,
               RELATION=comparison.relation, BOTH=not comparison.is_gene,
               IS_NOW=comparison.ago == 0, JOIN=join, FROM=way, HIGHEST=HIGHEST_CODE, BITS=BITS,
               LANES=CODED)  # fmt: skip

    def _make_codes(self) -> GrowingRows:
        rows, n_words = self._rows, -(-self._n_bars // 64)
        return GrowingRows(
            (BITS + 1) * n_words, rows.most, self._device, torch.int64, first=rows.first,
            markets=rows.markets,
        )  # fmt: skip

    def _add_table(
        self, keys: Sequence[tuple[int, bool]], maps: Sequence[CodeMap], codes: GrowingRows
    ) -> None:
        table = CodeTable(maps, codes, self._n_bars, self._device)
        self._tables |= dict.fromkeys(keys, table)

    def _follow(self, row: Expression) -> list[CodeMap]:
        """Maps of each market for rows that wander as one with default genes does."""
        layout = drop_market(self._layout)
        read, genes = read_row(row, layout), layout.genes
        tree = read.name(tuple(layout.defaults[list(read.columns)].tolist()))
        longest = int(max((gene.high for gene in genes if gene.is_length), default=2))
        return [
            map_row(np.broadcast_to(host.of(tree), self._n_bars), longest)
            for host in self._rows.hosts
        ]


class CodeTable:
    """A map, and the codes that rows have by it, bit by bit.

    Args:
        maps: One of all markets, or one of each.
        codes: Of all rows, in their slots.
        n_bars: T.
        device: Where they lie.

    Attributes:
        low: [M, T] the value at which code 1 begins in each market, or that of all bars.
        scale: Codes per unit, the same way.
    """

    def __init__(
        self, maps: Sequence[CodeMap], codes: GrowingRows, n_bars: int, device: torch.device
    ) -> None:
        self.codes = codes
        self.low, self.scale = (
            to_device(np.stack(numbers), device)
            for numbers in ([one.low for one in maps], [one.scale for one in maps])
        )
        self._n_bars, self._n_halves, self._moves = n_bars, -(-n_bars // 64) * 2, maps[0].moves > 0

    def encode(self, rows: torch.Tensor, slots: Ints) -> None:
        """Make codes of rows [slots M, T] that stand in some slots [n]."""
        markets = self.codes.markets
        together = MOST_SHARES // markets

        def make(some: Ints, out: torch.Tensor) -> None:
            there = to_device(slots[some].astype(np.int32), rows.device)
            for begin in range(0, len(some), together):
                of_part = there[begin : begin + together]
                grid = -(-self._n_halves // ENCODED), len(of_part) * markets
                launch(plane_kernel, grid, rows, of_part, self.low, self.scale,
                       out[begin * markets :].view(torch.int32), rows.shape[1], self._n_bars,
                       self._n_halves, markets, MOVES=self._moves, HIGHEST=HIGHEST_CODE,
                       BITS=BITS, HALVES=ENCODED)  # fmt: skip

        self.codes.put(slots, make)


def count_row_bytes(n_maps: int = 1) -> int:
    """Bytes of a row at a bar, with codes of so many maps."""
    return 8 + -(-n_maps * (BITS + 1) // 8)


def _spread(out: torch.Tensor, width: int) -> tuple[int, int]:
    """Grid of programs that write out [n, N], so many numbers of a share of its lines each."""
    blocks = -(-out.shape[1] // width)
    return blocks, max(1, min(len(out), PROGRAMS // blocks, MOST_SHARES))
