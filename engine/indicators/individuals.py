"""Individuals of a population by the genes that a part of a strategy reads."""

from typing import NamedTuple, cast

import numpy as np

from engine.backend import Floats, Ints
from strategy.expressions import GeneValue, Number
from strategy.genes import GenomeLayout
from strategy.nodes import Node, walk

SPARSE = 4
"""Codes are counted through where there are up to so many times as many as individuals."""


class Distinct(NamedTuple):
    """Sets of values of some genes that individuals have.

    Args:
        members: [n] one individual of each set.
        set_of: [P] the set of each individual.
    """

    members: Ints
    set_of: Ints


class Individuals:
    """Genomes of a population.

    Args:
        genomes: [P, G].
        layout: Of the genomes.
    """

    def __init__(self, genomes: Floats, layout: GenomeLayout) -> None:
        self.here = genomes
        self._is_whole = layout.is_int.tolist()
        self._distinct: dict[tuple[int, ...], Distinct] = {}

    def __len__(self) -> int:
        return len(self.here)

    def distinct(self, columns: tuple[int, ...]) -> Distinct:
        """The sets of values in some columns; with a real gene everybody is one."""
        if columns not in self._distinct:
            self._distinct[columns] = self._found(columns)
        return self._distinct[columns]

    def _found(self, columns: tuple[int, ...]) -> Distinct:
        count = len(self)
        if not columns:
            return Distinct(np.zeros(1, np.int64), np.zeros(count, np.int64))
        if not all(self._is_whole[column] for column in columns):
            return Distinct(np.arange(count), np.arange(count))
        codes = np.zeros(count, np.int64)
        for column in columns:
            values = self.here[:, column].astype(np.int64)
            # Small numbers, so that those of several columns stay whole.
            codes = _group_codes(codes * (int(np.ptp(values)) + 1) + (values - values.min())).set_of
        return _group_codes(codes)


def list_gene_columns(node: Node, layout: GenomeLayout) -> tuple[int, ...]:
    """Genes that decide a part's values, columns of a genome."""
    names = {one.gene.name for one in walk(node) if isinstance(one, GeneValue)}
    return tuple(sorted(map(layout.index, names)))


def resolve_values(setting: Node, layout: GenomeLayout, genomes: Floats) -> Floats:
    """Values [P] of a constant or a gene."""
    if isinstance(setting, GeneValue):
        column: Floats = genomes[:, layout.index(setting.gene.name)]
        return column
    return np.full(len(genomes), cast(Number, setting).value)


def _group_codes(codes: Ints) -> Distinct:
    """Sets of equal codes [P], none of them negative."""
    size = int(codes.max()) + 1
    if size > SPARSE * len(codes):
        _, members, set_of = np.unique(codes, return_index=True, return_inverse=True)
        return Distinct(members, set_of.reshape(-1))
    member = np.full(size, -1, np.int64)
    member[codes[::-1]] = np.arange(len(codes))[::-1]
    is_there = member >= 0
    return Distinct(member[is_there], (is_there.cumsum() - 1)[codes])
