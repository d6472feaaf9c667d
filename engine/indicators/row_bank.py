"""The bank: distinct rows on a device, kept between generations, least recently used out.

Most parameters are whole, so that after a few generations nearly every row that a population asks
for has been computed before.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.backend import Floats, Ints, Slots
from engine.indicators.keys import NO_GENE, Keys

RowName = Any
"""Name of a row's definition, hashable; equal names are one row for all readers."""

NO_SLOTS: Slots = np.empty(0, np.int32)

Fill = Callable[[Sequence[RowName], Ints], None]
"""Computes rows into slots."""

MOST_KEYS = 2**20
"""Known sets of genes; beyond them, sets without rows are forgotten."""


class RowRead(NamedTuple):
    """A row that a strategy reads."""

    columns: tuple[int, ...]  # genes that decide it, columns of a genome
    name: Callable[[tuple[float, ...]], RowName]  # of its computation, given their values


class RowBank:
    """Slots of rows, found for all individuals of a population at once.

    `computed` counts rows. One that `grows` has more slots where rows read together need them.
    """

    def __init__(
        self, reads: Sequence[RowRead], capacity: int, fill: Fill, *, grows: bool = False
    ) -> None:
        self.capacity, self.computed = capacity, 0
        self._reads, self._fill, self._grows = tuple(reads), fill, grows
        most = max((len(read.columns) for read in reads), default=0)
        self._columns = np.full((len(reads), most), NO_GENE, np.int64)
        for columns, read in zip(self._columns, reads, strict=True):
            columns[: len(read.columns)] = read.columns
        self._calls = 0
        self.clear()
        # Loaded here, and not when a population waits.
        self.find(np.zeros((1, 1 + max(self._columns.max(initial=0), 0))))

    def __len__(self) -> int:
        return len(self._slot_of_name)

    def clear(self) -> None:
        """Forget all rows; their slots hold something else."""
        self._keys = Keys(range(1 + self._columns.shape[1]))
        self._slot_of_key = NO_SLOTS
        self._slot_of_name: dict[RowName, int] = {}
        self._names: list[RowName] = []
        self._last_used = np.empty(0, np.int64)

    def find(self, genomes: Floats) -> Slots | None:
        """Slots [P, R] of the rows of genomes [P, G]; None where one is not there."""
        slots = np.empty((len(genomes), len(self._reads)), np.int32)
        if not self._keys.find(genomes, self._columns, self._slot_of_key, slots):
            return None
        self._calls += 1
        if len(self) == self.capacity:
            # Only a full bank will ask.
            self._last_used[slots] = self._calls
        return slots

    def bring(self, genomes: Floats) -> Slots | None:
        """The same, with missing rows computed; None where not all fit together."""
        slots = self.find(genomes)
        if slots is not None:
            return slots
        numbers = self._number(genomes)
        slots = self._slot_of_key[numbers]
        missing, names = self._name_rows(genomes, numbers, slots < 0)
        taken = self.take(names, slots[slots >= 0])
        if taken is None:
            return None
        self._slot_of_key[missing] = taken
        return self._slot_of_key[numbers]

    def take(self, names: Sequence[RowName], others: Slots = NO_SLOTS) -> Slots | None:
        """Slots [n] of rows by name, computed where they are not there.

        None where they do not fit together with `others`, slots of rows that stay.
        """
        self._calls += 1
        self._last_used[others] = self._calls
        known = [self._slot_of_name[name] for name in names if name in self._slot_of_name]
        self._last_used[known] = self._calls
        missing = list(dict.fromkeys(name for name in names if name not in self._slot_of_name))
        needed = int(np.count_nonzero(self._last_used == self._calls)) + len(missing)
        if needed > self.capacity and not self._grows:
            return None
        self.capacity = max(self.capacity, needed)
        if missing:
            self._compute(missing, self._release(len(missing)))
        return np.array([self._slot_of_name[name] for name in names], np.int32)

    def _name_rows(
        self, genomes: Floats, numbers: Ints, is_asked: npt.NDArray[np.bool_]
    ) -> tuple[Ints, list[RowName]]:
        """Distinct numbers [n], among requested ones [P, R], and the computations of these rows."""
        individuals, rows = np.nonzero(is_asked)
        distinct, firsts = np.unique(numbers[is_asked], return_index=True)
        individuals, rows = individuals[firsts], rows[firsts]
        genes = genomes[individuals[:, None], self._columns[rows]].tolist()
        names = [
            self._reads[row].name(tuple(some[: len(self._reads[row].columns)]))
            for row, some in zip(rows.tolist(), genes, strict=True)
        ]
        return distinct, names

    def _number(self, genomes: Floats) -> Ints:
        """Numbers [P, R] of the values of genes that decide each row of each individual."""
        if self._keys.count > MOST_KEYS:
            (there,) = np.nonzero(self._slot_of_key >= 0)
            self._keys.keep(there)
            self._slot_of_key = self._slot_of_key[there]
        n_rows, most = self._columns.shape
        sets = np.empty((len(genomes), n_rows, 1 + most))
        sets[:, :, 0] = np.arange(n_rows)
        sets[:, :, 1:] = np.where(self._columns == NO_GENE, 0.0, genomes[:, self._columns])
        numbers, fresh = self._keys.number(sets.reshape(-1, 1 + most))
        unknown = np.full(len(fresh), -1, np.int32)
        self._slot_of_key = np.concatenate([self._slot_of_key, unknown])
        return numbers.reshape(-1, n_rows)

    def _release(self, count: int) -> Ints:
        """Slots that are free, or were used longest ago; rows of this call are not among them."""
        begin = len(self._names)
        n_old = max(begin + count - self.capacity, 0)
        oldest = np.argsort(self._last_used, kind="stable")[:n_old]
        for slot in oldest.tolist():
            # A row that was to come here, and could not be computed, may lie elsewhere since.
            if self._slot_of_name.get(self._names[slot]) == slot:
                del self._slot_of_name[self._names[slot]]
        if n_old:
            self._slot_of_key[np.isin(self._slot_of_key, oldest)] = -1
        return np.concatenate([oldest, np.arange(begin, begin + count - n_old)])

    def _compute(self, names: Sequence[RowName], slots: Ints) -> None:
        self._fill(names, slots)
        # Entered only now: a row that was not written is never found.
        for name, slot in zip(names, slots.tolist(), strict=True):
            self._slot_of_name[name] = slot
            if slot < len(self._names):
                self._names[slot] = name
            else:
                self._names.append(name)
        new = np.empty(len(self._names) - len(self._last_used), np.int64)
        self._last_used = np.concatenate([self._last_used, new])
        self._last_used[slots] = self._calls
        self.computed += len(names)
