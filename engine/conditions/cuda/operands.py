"""Operands of a strategy's individuals on one series, on the device.

A part of the strategy is computed once for each set of values of its genes: rows as
`engine.indicators.cuda.device_rows` does, comparisons and what joins them on the device.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine.backend import Ints
from engine.conditions.cuda.comparisons import (
    CodedComparison,
    CodeTable,
    Comparison,
    Comparisons,
    Joined,
    Read,
)
from engine.conditions.cuda.expression_vm import Formulas
from engine.conditions.cuda.kernels import (
    BY_SET,
    FIRST,
    SAME,
    following_kernel,
    join_kernel,
    remember_kernel,
)
from engine.indicators.cuda.device_rows import DeviceRows
from engine.indicators.individuals import (
    Individuals,
    drop_market,
    list_gene_columns,
    read_row,
    resolve_values,
)
from engine.indicators.row_bank import RowBank, RowRead
from engine.runtime.compiling.launch import launch
from strategy.conditions import AllOf, Compare, Condition, Held, OverBars
from strategy.expressions import Expression, GeneValue
from strategy.genes import GenomeLayout

BITS = 64

MOVED_WORDS = 256
"""Words that a program moves."""


@dataclass(frozen=True, eq=False)
class DevicePart:
    """A condition of the strategy."""

    node: Condition  # the condition
    columns: tuple[int, ...]  # genes that decide it, columns of a genome
    below: tuple["DevicePart", ...]  # the conditions that it joins, holds or remembers
    comparison: Comparison | None  # of a comparison; None of any other condition


Columns = tuple[int, ...]
"""Genes, columns of a genome."""

ArrayName = str | tuple[Columns | DevicePart, ...]

Arrays = dict[ArrayName, npt.NDArray[np.generic]]
"""Inputs of a population for a device. Under columns: how many sets of values there are, and an
individual of each, int32. Under two of them: the set of the first for each set of the second,
int32. Under a condition over bars: how many, for each set of values, int32."""

Rooms = dict[ArrayName, int]
"""Lines that arrays have room for."""


class DevicePopulation(NamedTuple):
    """A population as kernels read it."""

    individuals: Individuals  # all of them
    # `Arrays` on the device, and under "genomes" [P, G] float64.
    there: dict[ArrayName, torch.Tensor]


class CodedRow(NamedTuple):
    """A row of a bank."""

    tree: Expression  # without genes
    tables: tuple[CodeTable, ...]  # in which it has codes


class WordsBelow(NamedTuple):
    """Words of a condition below another, and the place read by each set of genes above."""

    words: torch.Tensor  # [n, N]
    sets: torch.Tensor  # [m] int32, not read unless way is BY_SET
    way: int  # SAME, FIRST or BY_SET


class DeviceReadings:
    """Rows and conditions of one series in one market or several, one population after another.

    All that is read is named by `part`, and stands in `formulas`, before the first population.

    Args:
        rows: Of the series.
        layout: Of the genomes, as `engine.indicators.individuals.add_market` gives it.
        formulas: Of the strategy.
        device: Where tensors lie.
        settle: Called before rows change, which launches may read.
        market: Market that all individuals meet; None where each has its number behind its genes.
    """

    def __init__(
        self,
        rows: DeviceRows,
        layout: GenomeLayout,
        formulas: Formulas,
        device: torch.device,
        settle: Callable[[], None],
        market: int | None,
    ) -> None:
        self._rows, self._layout, self._formulas, self._settle = rows, layout, formulas, settle
        self._market = market
        # Genomes and slots of the last population, for which other markets ask next.
        self._brought: list[Any] = [None, None]
        self._device, self._comparisons = device, Comparisons(rows, layout, formulas, device)
        self._parts: dict[Condition, DevicePart] = {}
        self._words: dict[DevicePart, torch.Tensor] = {}
        self._spread: set[tuple[Columns, Columns]] = set()

    def of_market(self, market: int) -> "DeviceReadings":
        """The same in another market, with the same rows and codes on the device."""
        other = copy(self)
        other._market, other._words = market, {}
        return other

    @property
    def rows(self) -> torch.Tensor:
        """Rows [slots M, T] of the population before, and others."""
        return self._rows.values

    @property
    def n_bars(self) -> int:
        """Bars T of the series."""
        return len(self._rows.hosts[0].series)

    @property
    def n_words(self) -> int:
        """Words N of a condition."""
        return -(-self.n_bars // BITS)

    @property
    def n_parts(self) -> int:
        """Conditions, with the joined parts among them."""
        return len(self._parts)

    def part(self, node: Condition) -> DevicePart:
        """The part of a condition; equal ones are one part."""
        if node not in self._parts:
            below = tuple(
                self.part(condition) for condition in node.parts if isinstance(condition, Condition)
            )
            comparison = self._comparisons.add(node) if isinstance(node, Compare) else None
            self._parts[node] = DevicePart(
                node, list_gene_columns(node, self._layout), below, comparison
            )
        return self._parts[node]

    def load(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Instructions and constants of all formulas on the device."""
        # A slot has the row of each market.
        layout = drop_market(self._layout)
        self._comparisons.load()
        reads = [
            self._name_codes(place, read_row(node, layout))
            for node, place in self._formulas.rows.items()
        ]
        most = max(1, 8 * self._rows.most // self._comparisons.row_bytes)
        self._bank = RowBank(reads, most, self._fill)
        self._spread = {
            (below.columns, part.columns)
            for part in self._parts.values()
            for below in part.below
            if below.columns and below.columns != part.columns
        }
        return self._comparisons.code

    def _name_codes(self, place: int, read: RowRead) -> RowRead:
        """The row read at a place, one with those that have codes of the same maps."""
        tables = self._comparisons.list_tables(place)
        return read._replace(name=lambda values: CodedRow(read.name(values), tables))

    def _fill(self, rows: Sequence[CodedRow], slots: Ints) -> None:
        self._settle()
        self._rows.fill([row.tree for row in rows], slots)
        self._comparisons.encode([row.tables for row in rows], slots)

    def forget(self) -> None:
        """Let go of conditions of the population before."""
        self._words.clear()

    def arrays(self, individuals: Individuals) -> tuple[Arrays, Rooms] | None:
        """Inputs of a population for a device; None where there is no room for all its rows.

        Under "slots": [P, R] int32, the places of each one's rows, present from now on.
        """
        genomes, market = individuals.here, self._market
        if self._brought[0] is not genomes:
            self._brought[:] = genomes, self._bank.bring(genomes)
        slots = self._brought[1]
        if slots is None:
            return None
        if self._rows.markets > 1:
            met = genomes[:, -1:].astype(np.int32) if market is None else np.int32(market)
            slots = slots * self._rows.markets + met
        # Kernels get a column even if no row is read.
        arrays: Arrays = {"slots": slots if slots.size else np.zeros((len(slots), 1), np.int32)}
        rooms: Rooms = {}
        for part in self._parts.values():
            columns = part.columns
            if (columns,) not in arrays:
                members = individuals.distinct(columns).members
                arrays[columns,] = np.concatenate([[len(members)], members]).astype(np.int32)
                rooms[columns,] = 1 + individuals.count_room(columns)
            if isinstance(part.node, OverBars):
                arrays[part,] = self._count_bars(part.node, part, individuals).astype(np.int32)
                rooms[part,] = individuals.count_room(columns)
        for below, above in self._spread:
            set_of = individuals.distinct(below).set_of
            members = individuals.distinct(above).members
            arrays[below, above] = set_of[members].astype(np.int32)
            rooms[below, above] = individuals.count_room(above)
        return arrays, rooms

    def key(self, individuals: Individuals) -> tuple[int, ...]:
        """Numbers that launches for a population depend on, beside the room of its arrays."""
        most = [
            self._most_bars(part.node, individuals)
            for part in self._parts.values()
            if isinstance(part.node, OverBars)
        ]
        return self.rows.data_ptr(), *self._comparisons.addresses, *most

    def words(self, part: DevicePart, seen: DevicePopulation) -> torch.Tensor:
        """Words [n, N] of a condition for every set of its genes; no bit behind the last bar."""
        if part not in self._words:
            self._words[part] = self._decide_words(part, seen)
        return self._words[part]

    def following(self, part: DevicePart, seen: DevicePopulation) -> torch.Tensor:
        """For each word of a condition the first from there on that is not 0, [n, N + 1]; N: none.

        n, N as of `words`.
        """
        words = self.words(part, seen)
        shape = len(words), self.n_words + 1
        following_words = torch.empty(shape, dtype=torch.int32, device=self._device)
        launch(following_kernel, (len(words),), words, seen.there[part.columns,], following_words,
               self.n_words, WORDS=MOVED_WORDS)  # fmt: skip
        return following_words

    def _decide_words(self, part: DevicePart, seen: DevicePopulation) -> torch.Tensor:
        if part.comparison is not None:
            return self._compare(part, part.comparison, seen)
        if isinstance(part.node, OverBars):
            below = self._find_below(part.below[0], part, seen)
            return self._reduce_over_bars(part, part.node, below, seen)
        return self._join_words(part, seen)

    def _compare(
        self,
        part: DevicePart,
        comparison: Comparison,
        seen: DevicePopulation,
        joined: Joined | None = None,
    ) -> torch.Tensor:
        """Words of a comparison for each set of a part's genes, joined with others on request."""
        members = seen.there[part.columns,]
        words = self._new_words(len(members) - 1)
        read = Read(seen.there["genomes"], seen.there["slots"], members)
        self._comparisons.decide(comparison, read, words, joined)
        return words

    def _find_below(
        self, below: DevicePart, part: DevicePart, seen: DevicePopulation
    ) -> WordsBelow:
        words = self.words(below, seen)
        if below.columns == part.columns:
            return WordsBelow(words, seen.there[part.columns,], SAME)
        if not below.columns:
            return WordsBelow(words, seen.there[part.columns,], FIRST)
        return WordsBelow(words, seen.there[below.columns, part.columns], BY_SET)

    def _join_words(self, part: DevicePart, seen: DevicePopulation) -> torch.Tensor:
        """Words of a condition that holds where all of some hold, or any of them.

        Comparisons by codes come last, those with genes first: they look only at bars that others
        leave open.
        """
        members, is_all = seen.there[part.columns,], isinstance(part.node, AllOf)
        count = len(members) - 1
        coded = [
            (below, below.comparison)
            for below in part.below
            if isinstance(below.comparison, CodedComparison)
            and 2 * len(seen.there[below.columns,]) > count
        ]
        plain = [below for below in part.below if below not in dict(coded)]
        joined: WordsBelow | None = None
        for below in plain:
            others = self._find_below(below, part, seen)
            # A condition that stands alone is joined with itself.
            joined = joined or others
            if below is plain[0] and len(part.below) > 1:
                continue
            words = self._new_words(count)
            launch(join_kernel, (count, -(-self.n_words // MOVED_WORDS)), members, joined.words,
                   joined.sets, others.words, others.sets, words, self.n_words, FROM=joined.way,
                   OTHERS_FROM=others.way, ALL=is_all, WORDS=MOVED_WORDS)  # fmt: skip
            joined = WordsBelow(words, members, SAME)
        for _, comparison in sorted(coded, key=lambda one: not one[1].is_gene):
            with_others = None if joined is None else Joined(*joined, is_all)
            words = self._compare(part, comparison, seen, with_others)
            joined = WordsBelow(words, members, SAME)
        assert joined is not None
        return joined.words

    def _reduce_over_bars(
        self, part: DevicePart, node: OverBars, below: WordsBelow, seen: DevicePopulation
    ) -> torch.Tensor:
        members = seen.there[part.columns,]
        count, covered = len(members) - 1, 1
        while True:
            words = self._new_words(count)
            launch(remember_kernel, (count, -(-self.n_words // MOVED_WORDS)), members, below.words,
                   below.sets, seen.there[part,], words, self.n_bars, self.n_words, covered,
                   FROM=below.way, HELD=isinstance(node, Held), WORDS=MOVED_WORDS)  # fmt: skip
            below, covered = WordsBelow(words, members, SAME), 2 * covered
            if covered >= self._most_bars(node, seen.individuals):
                return words

    def _most_bars(self, node: OverBars, individuals: Individuals) -> int:
        """The most bars of any condition, or by a gene's bounds if launches stay."""
        most = float(resolve_values(node.bars, self._layout, individuals.here).max(initial=1.0))
        if individuals.has_room and isinstance(node.bars, GeneValue):
            most = max(most, node.bars.gene.high)
        return int(min(most, self.n_bars + 1))

    def _count_bars(self, node: OverBars, part: DevicePart, individuals: Individuals) -> Ints:
        """For how many bars each set of genes asks, [n]; no more than there are, and one."""
        members = individuals.distinct(part.columns).members
        bars = resolve_values(node.bars, self._layout, individuals.here)[members]
        return np.minimum(bars, self.n_bars + 1).astype(np.int64)

    def _new_words(self, count: int) -> torch.Tensor:
        return torch.empty((count, self.n_words), dtype=torch.int64, device=self._device)
