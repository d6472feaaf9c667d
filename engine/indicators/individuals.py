"""Individuals of a population by the genes that a part of a strategy reads."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np

from engine.backend import Floats, Ints
from engine.indicators.keys import number_once
from engine.indicators.row_bank import RowRead
from strategy.expressions import Arithmetic, Expression, GeneValue, Number
from strategy.gene import Gene
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.rows import bound

MARKET = "market met"
"""Name that no gene of a strategy has: which of several markets an individual meets."""


KEPT_ROWS = 2**13
"""Values of its genes for which a row is kept: markets of many searches ask for the same."""


class Distinct(NamedTuple):
    """Sets of values of some genes that individuals have."""

    members: Ints  # [n] one individual of each set
    set_of: Ints  # [P] the set of each individual


class Individuals:
    """Genomes of a population.

    Args:
        genomes: [P, G].
        layout: Of the genomes.
        room: Individuals that a device makes room for; as many as there are when None.
    """

    def __init__(self, genomes: Floats, layout: GenomeLayout, room: int | None = None) -> None:
        self.here = genomes
        self._layout, self._room = layout, room
        self._is_whole = layout.is_int.tolist()
        self._distinct: dict[tuple[int, ...], Distinct] = {}
        self._rooms: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self.here)

    def distinct(self, columns: tuple[int, ...]) -> Distinct:
        """Distinct sets of values in some columns; with a real gene each individual is one."""
        if columns not in self._distinct:
            self._distinct[columns] = self._found(columns)
        return self._distinct[columns]

    @property
    def has_room(self) -> bool:
        """True if a device makes room for other populations as well."""
        return self._room is not None

    def count_room(self, columns: tuple[int, ...]) -> int:
        """Sets of values in some columns that a device makes room for: no fewer than there are.

        Where there is room for more individuals, it is the same for most populations: all sets
        within the bounds of whole genes, or one for each individual.
        """
        count = len(self.distinct(columns).members)
        if self._room is None:
            return count
        if columns not in self._rooms:
            low, high = self._layout.low, self._layout.high
            most = math.prod(
                high[column] - low[column] + 1.0 if self._is_whole[column] else math.inf
                for column in columns
            )
            self._rooms[columns] = self._room if most < count else int(min(most, self._room))
        return self._rooms[columns]

    def _found(self, columns: tuple[int, ...]) -> Distinct:
        count = len(self)
        if not columns:
            return Distinct(np.zeros(1, np.int64), np.zeros(count, np.int64))
        if not all(self._is_whole[column] for column in columns):
            return Distinct(np.arange(count), np.arange(count))
        numbers, fresh = number_once(self.here, columns)
        return Distinct(fresh, numbers)


def add_market(layout: GenomeLayout, count: int) -> GenomeLayout:
    """A layout with the number of an individual's market behind its genes, where some differ."""
    if count == 1:
        return layout
    return replace(layout, genes=(*layout.genes, Gene(MARKET, "int", 0.0, count - 1.0, 0.0)))


def drop_market(layout: GenomeLayout) -> GenomeLayout:
    """The layout without the number of a market."""
    if layout.names[-1:] == (MARKET,):
        return replace(layout, genes=layout.genes[:-1])
    return layout


def list_gene_columns(node: Node, layout: GenomeLayout) -> tuple[int, ...]:
    """Genes that decide a part's values, columns of a genome; with several markets theirs too."""
    names = {leaf.gene.name for leaf in walk(node) if isinstance(leaf, GeneValue)}
    if layout.names[-1:] == (MARKET,):
        names.add(MARKET)
    return tuple(sorted(map(layout.index, names)))


def read_row(row: Expression, layout: GenomeLayout) -> RowRead:
    """A row as a bank knows it: by its tree without genes."""
    columns = list_gene_columns(row, layout)
    genes = [layout.names[column] for column in columns]

    @lru_cache(KEPT_ROWS)
    def name(values: tuple[float, ...]) -> Expression:
        return bound(row, dict(zip(genes, values, strict=True)))

    return RowRead(columns, name)


def is_row(node: Node) -> bool:
    """True if a part is a row, and no arithmetic or number."""
    return isinstance(node, Expression) and not isinstance(node, Arithmetic | GeneValue | Number)


def count_rows(spec: Strategy, most: int) -> int:
    """Rows that searches of a strategy read at most, and rows inside of them; up to `most`."""
    layout, count = spec.layout, 0.0
    rows = {node for expression in spec.expressions for node in walk(expression)}
    for row in rows:
        if is_row(row):
            columns = list(list_gene_columns(row, layout))
            kinds = layout.high[columns] - layout.low[columns] + 1.0
            count += float(np.where(layout.is_int[columns], kinds, np.inf).prod())
    return int(min(count, most))


def resolve_values(setting: Node, layout: GenomeLayout, genomes: Floats) -> Floats:
    """Values [P] of a constant or a gene."""
    if isinstance(setting, GeneValue):
        column: Floats = genomes[:, layout.index(setting.gene.name)]
        return column
    return np.full(len(genomes), cast(Number, setting).value)
