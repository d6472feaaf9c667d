"""The bank: distinct rows on a device, kept between generations, least recently used out.

Lengths are integers, so after a few generations nearly every row that a population asks for has
been computed before. A slot holds the same row of every series.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from engine.backends.contract import Form
from engine.plan import RowGroup

Ints = npt.NDArray[np.int64]
Fill = Callable[[Form, Ints, Ints], None]
Key = int | tuple[int, ...]


class RowBank:
    """Which row lies in which slot.

    Args:
        capacity: Number of slots.
        fill: Computes rows: form, lengths [n, L], slots [n].
    """

    def __init__(self, capacity: int, fill: Fill) -> None:
        self.capacity = capacity
        self.computed = 0
        self._fill = fill
        self._slot_of: dict[Form, dict[Key, int]] = {}
        self._owner: list[tuple[Form, Key] | None] = [None] * capacity
        self._last_used = np.zeros(capacity, np.int64)
        self._calls = 0

    def __len__(self) -> int:
        return sum(len(slots) for slots in self._slot_of.values())

    def slots(self, groups: Sequence[RowGroup]) -> Ints:
        """Bring rows into the bank.

        Args:
            groups: Distinct rows, at most `capacity` together.

        Returns:
            [I] slot of each row, group after group; valid until the next call.
        """
        self._calls += 1
        keys = [_keys(group.lengths) for group in groups]
        found = [
            np.array([known.get(key, -1) for key in of_group], np.int64)
            for known, of_group in zip(
                (self._slot_of.setdefault(group.form, {}) for group in groups), keys, strict=True
            )
        ]
        for slots in found:
            self._last_used[slots[slots >= 0]] = self._calls
        n_missing = sum(int((slots < 0).sum()) for slots in found)
        if n_missing:
            free = self._release(n_missing)
            for group, of_group, slots in zip(groups, keys, found, strict=True):
                free = self._compute(group, of_group, slots, free)
        return np.concatenate(found)

    def _release(self, count: int) -> Ints:
        """Empty the slots that were used longest ago; rows of this call are not among them."""
        oldest = np.argsort(self._last_used, kind="stable")[:count]
        for slot in oldest.tolist():
            owner = self._owner[slot]
            if owner is not None:
                del self._slot_of[owner[0]][owner[1]]
                self._owner[slot] = None
        return oldest

    def _compute(self, group: RowGroup, keys: list[Key], slots: Ints, free: Ints) -> Ints:
        """Compute the missing rows of a group into free slots; returns what is still free."""
        (missing,) = np.nonzero(slots < 0)
        if not missing.size:
            return free
        taken, rest = free[: missing.size], free[missing.size :]
        self._fill(group.form, group.lengths[missing], taken)
        # Entered only now: a row that was not written is never found.
        for place, slot in zip(missing.tolist(), taken.tolist(), strict=True):
            self._slot_of[group.form][keys[place]] = slot
            self._owner[slot] = (group.form, keys[place])
        self._last_used[taken] = self._calls
        self.computed += missing.size
        slots[missing] = taken
        return rest


def _keys(lengths: Ints) -> list[Key]:
    if lengths.shape[1] == 1:
        single: list[Key] = lengths[:, 0].tolist()
        return single
    return [tuple(row) for row in lengths.tolist()]
