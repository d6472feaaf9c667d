"""The bank: distinct rows on a device, kept between generations, least recently used out.

Lengths are integers, so after a few generations nearly every row that a population asks for has
been computed before. A slot holds the same row of every series.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from engine.backends.contract import Form
from engine.plan import RowKey

Ints = npt.NDArray[np.int64]
Fill = Callable[[Form, Ints, Ints], None]


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
        self._slot_of: OrderedDict[RowKey, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._slot_of)

    def slots(self, keys: Sequence[RowKey]) -> Ints:
        """Bring rows into the bank.

        Args:
            keys: [I] distinct, at most `capacity`.

        Returns:
            [I] slot of each; valid until the next call.
        """
        missing = [key for key in keys if key not in self._slot_of]
        for key in keys:
            if key in self._slot_of:
                self._slot_of.move_to_end(key)
        for key in missing:
            self._slot_of[key] = self._free_slot()
        try:
            self._compute(missing)
        except BaseException:
            # A row that was not written must never be found again.
            for key in missing:
                self._slot_of.pop(key, None)
            self._slot_of.clear()
            raise
        return np.array([self._slot_of[key] for key in keys], np.int64)

    def _free_slot(self) -> int:
        if len(self._slot_of) < self.capacity:
            return len(self._slot_of)
        _, slot = self._slot_of.popitem(last=False)
        return slot

    def _compute(self, missing: Iterable[RowKey]) -> None:
        by_form: dict[Form, list[RowKey]] = {}
        for key in missing:
            by_form.setdefault(key.form, []).append(key)
        for form, keys in by_form.items():
            lengths = np.array([key.lengths for key in keys], np.int64).reshape(len(keys), -1)
            slots = np.array([self._slot_of[key] for key in keys], np.int64)
            self._fill(form, lengths, slots)
            self.computed += len(keys)
