"""The bank: distinct rows on a device, kept between generations, least recently used out.

Most parameters are whole, so that after a few generations nearly every row that a population asks
for has been computed before. A slot holds the same row of every series.
"""

from collections.abc import Callable, Sequence

import numpy as np

from engine.backend import Floats, Ints, RowForm, RowRequest, Slots
from engine.indicators.plan import RowGroup

Key = tuple[float, ...]
Fill = Callable[[Sequence[RowRequest]], None]

LONGEST_LISTED = 2**20
"""A single whole parameter below this is found by a look into a table, others by name."""

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
        self._places: dict[RowForm, _Places] = {}
        self._owner: list[tuple[RowForm, Key] | None] = [None] * capacity
        self._last_used = np.zeros(capacity, np.int64)
        self._calls = 0
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def find(self, form: RowForm, parameters: Floats) -> Slots:
        """Slots [n] of rows by parameters [n, L], -1 where a row is not in the bank."""
        slots_of_form = self._places.get(form)
        if slots_of_form is None:
            return np.full(len(parameters), -1, np.int32)
        return slots_of_form.find(parameters)

    def table(self, form: RowForm) -> Slots:
        """Slots [largest + 1] by the one whole parameter of a form, -1 where there is none.

        A row without parameters lies at 0. Valid until the next row is computed.
        """
        slots_of_form = self._places.get(form)
        return NOWHERE if slots_of_form is None else slots_of_form.table

    def touch(self, slots: Slots) -> None:
        """Remember that rows, of any shape, were used; only a full bank will ask."""
        self._calls += 1
        if self._n_rows == self.capacity:
            self._last_used[slots] = self._calls

    def clear(self) -> None:
        """Forget all rows; their slots hold something else."""
        self._places.clear()
        self._owner = [None] * self.capacity
        self._n_rows = 0

    def slots(self, groups: Sequence[RowGroup]) -> Ints:
        """Bring distinct rows into the bank, at most `capacity` together.

        Returns [I] slot of each row, group after group; valid until the next call.
        """
        self._calls += 1
        slots_of_groups = [
            self.find(group.form, group.parameters).astype(np.int64) for group in groups
        ]
        for slots in slots_of_groups:
            self._last_used[slots[slots >= 0]] = self._calls
        n_missing = sum(int((slots < 0).sum()) for slots in slots_of_groups)
        if n_missing:
            self._compute(groups, slots_of_groups, self._release(n_missing))
        return np.concatenate([np.zeros(0, np.int64), *slots_of_groups])

    def _release(self, count: int) -> Ints:
        """Empty the slots that were used longest ago; rows of this call are not among them."""
        oldest = np.argsort(self._last_used, kind="stable")[:count]
        for slot in oldest.tolist():
            owner = self._owner[slot]
            if owner is not None:
                form, key = owner
                self._places[form].put(key, -1)
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
                requests.append(RowRequest(group.form, group.parameters[missing], taken))
        self._fill(requests)
        # Entered only now: a row that was not written is never found.
        for request in requests:
            self._enter(request)

    def _enter(self, request: RowRequest) -> None:
        form, parameters, slots = request
        slots_of_form = self._places.setdefault(form, _Places())
        for row, slot in zip(map(tuple, parameters.tolist()), slots.tolist(), strict=True):
            slots_of_form.put(row, slot)
            self._owner[slot] = (form, row)
        self._n_rows += slots.size
        self._last_used[slots] = self._calls
        self.computed += slots.size


class _Places:
    """The slots of one form's rows: a table by whole parameter where there is one, else by name."""

    def __init__(self) -> None:
        self.table = np.full(1, -1, np.int32)
        self._named: dict[Key, int] = {}

    def put(self, key: Key, slot: int) -> None:
        """Enter a row; a slot of -1 removes it."""
        if not _is_listed(key):
            self._named[key] = slot
            if slot < 0:
                del self._named[key]
            return
        index = int(key[0]) if key else 0
        if index >= len(self.table):
            grown = np.full(min(2 * index + 1, LONGEST_LISTED), -1, np.int32)
            grown[: len(self.table)] = self.table
            self.table = grown
        self.table[index] = slot

    def find(self, parameters: Floats) -> Slots:
        """Slots [n] of rows by parameters [n, L]."""
        if parameters.shape[1] == 0:
            return np.full(len(parameters), self.table[0], np.int32)
        if parameters.shape[1] == 1:
            values = parameters[:, 0]
            is_listed = (values >= 0) & (values < LONGEST_LISTED) & (values % 1 == 0)
            if is_listed.all():
                indices = values.astype(np.int64)
                is_there = indices < len(self.table)
                return np.where(is_there, self.table[np.where(is_there, indices, 0)], -1)
        return np.array([self._slot(tuple(row)) for row in parameters.tolist()], np.int32)

    def _slot(self, key: Key) -> int:
        if _is_listed(key):
            return int(self.table[int(key[0])]) if key[0] < len(self.table) else -1
        return self._named.get(key, -1)


def _is_listed(key: Key) -> bool:
    """Whether a table has a place for a row."""
    return not key or (len(key) == 1 and 0 <= key[0] < LONGEST_LISTED and key[0] % 1 == 0)
