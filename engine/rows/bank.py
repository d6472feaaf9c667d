"""The bank: distinct rows on a device, kept between generations, least recently used out.

Lengths are integers, so after a few generations nearly every row that a population asks for has
been computed before. A slot holds the same row of every series.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from engine.contract import Form, RowRequest, Slots
from engine.rows.plan import RowGroup

Ints = npt.NDArray[np.int64]
Fill = Callable[[Sequence[RowRequest]], None]

LONGEST_LISTED = 2**20
"""Lengths up to this one are found by a look into a table, longer ones by name."""

NOWHERE: Slots = np.full(1, -1, np.int32)
"""The table of a form of which no row was computed."""


class RowBank:
    """Which row lies in which slot.

    Args:
        capacity: Number of slots.
        fill: Computes rows of several forms.
    """

    def __init__(self, capacity: int, fill: Fill) -> None:
        self.capacity = capacity
        self.computed = 0
        self._fill = fill
        self._places: dict[Form, _Places] = {}
        self._owner: list[tuple[Form, tuple[int, ...]] | None] = [None] * capacity
        self._last_used = np.zeros(capacity, np.int64)
        self._calls = 0
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def find(self, form: Form, lengths: Ints) -> Slots:
        """Where rows are, without computing any.

        Args:
            form: Indicator and source.
            lengths: [n, L].

        Returns:
            [n] slots, -1 where a row is not in the bank.
        """
        places = self._places.get(form)
        return np.full(len(lengths), -1, np.int32) if places is None else places.find(lengths)

    def table(self, form: Form) -> Slots:
        """Slots by length of a form whose rows have one length or none, -1 where there is none.

        Args:
            form: Indicator and source.

        Returns:
            [longest + 1]; a row without lengths lies at 0. Valid until the next row is computed.
        """
        places = self._places.get(form)
        return NOWHERE if places is None else places.table

    def peek(self, groups: Sequence[RowGroup]) -> Ints:
        """Slots [I] of rows, group after group, -1 where one is not in the bank; computes none."""
        found = [self.find(group.form, group.lengths).astype(np.int64) for group in groups]
        return np.concatenate(found)

    def touch(self, slots: Slots) -> None:
        """Remember that rows were used; only a full bank will ask.

        Args:
            slots: Of any shape, as `find` gave them.
        """
        self._calls += 1
        if self._n_rows == self.capacity:
            self._last_used[slots] = self._calls

    def clear(self) -> None:
        """Forget all rows; their slots hold something else."""
        self._places.clear()
        self._owner = [None] * self.capacity
        self._n_rows = 0

    def slots(self, groups: Sequence[RowGroup]) -> Ints:
        """Bring rows into the bank.

        Args:
            groups: Distinct rows, at most `capacity` together.

        Returns:
            [I] slot of each row, group after group; valid until the next call.
        """
        self._calls += 1
        found = [self.find(group.form, group.lengths).astype(np.int64) for group in groups]
        for slots in found:
            self._last_used[slots[slots >= 0]] = self._calls
        n_missing = sum(int((slots < 0).sum()) for slots in found)
        if n_missing:
            self._compute(groups, found, self._release(n_missing))
        return np.concatenate(found)

    def _release(self, count: int) -> Ints:
        """Empty the slots that were used longest ago; rows of this call are not among them."""
        oldest = np.argsort(self._last_used, kind="stable")[:count]
        for slot in oldest.tolist():
            owner = self._owner[slot]
            if owner is not None:
                form, lengths = owner
                self._places[form].put(lengths, -1)
                self._owner[slot] = None
                self._n_rows -= 1
        return oldest

    def _compute(self, groups: Sequence[RowGroup], found: Sequence[Ints], free: Ints) -> None:
        """Compute the rows that were not found into free slots, all in one call."""
        requests = []
        for group, slots in zip(groups, found, strict=True):
            (missing,) = np.nonzero(slots < 0)
            if missing.size:
                taken, free = free[: missing.size], free[missing.size :]
                slots[missing] = taken
                requests.append(RowRequest(group.form, group.lengths[missing], taken))
        self._fill(requests)
        # Entered only now: a row that was not written is never found.
        for request in requests:
            self._enter(request)

    def _enter(self, request: RowRequest) -> None:
        form, lengths, slots = request
        places = self._places.setdefault(form, _Places())
        for row, slot in zip(map(tuple, lengths.tolist()), slots.tolist(), strict=True):
            places.put(row, slot)
            self._owner[slot] = (form, row)
        self._n_rows += slots.size
        self._last_used[slots] = self._calls
        self.computed += slots.size


class _Places:
    """The slots of one form's rows: a table by length where there is one, else by name."""

    def __init__(self) -> None:
        self.table = np.full(1, -1, np.int32)
        self._named: dict[tuple[int, ...], int] = {}

    def put(self, lengths: tuple[int, ...], slot: int) -> None:
        """Enter a row; a slot of -1 removes it."""
        if not self._is_listed(lengths):
            self._named[lengths] = slot
            return
        place = lengths[0] if lengths else 0
        if place >= len(self.table):
            grown = np.full(min(2 * place + 1, LONGEST_LISTED), -1, np.int32)
            grown[: len(self.table)] = self.table
            self.table = grown
        self.table[place] = slot

    def find(self, lengths: Ints) -> Slots:
        """Slots [n] of rows by lengths [n, L]."""
        if lengths.shape[1] == 0:
            return np.full(len(lengths), self.table[0], np.int32)
        if lengths.shape[1] == 1:
            places = lengths[:, 0]
            most = int(places.max(initial=0))
            if most < len(self.table):
                return self.table[places]
            if most < LONGEST_LISTED:
                is_listed = places < len(self.table)
                return np.where(is_listed, self.table[np.where(is_listed, places, 0)], -1)
        return np.array([self._slot(tuple(row)) for row in lengths.tolist()], np.int32)

    def _slot(self, lengths: tuple[int, ...]) -> int:
        if self._is_listed(lengths):
            return int(self.table[lengths[0]]) if lengths[0] < len(self.table) else -1
        return self._named.get(lengths, -1)

    @staticmethod
    def _is_listed(lengths: tuple[int, ...]) -> bool:
        return not lengths or (len(lengths) == 1 and lengths[0] < LONGEST_LISTED)
