"""Which rows a child holds, so that its successor can be given them anew."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.backends.contract import Form, Ints
from engine.wire import Frame


class Rows(NamedTuple):
    """Rows of one form.

    Args:
        form: What they compute.
        lengths: [n, L].
        slots: [n] where they lie.
    """

    form: Form
    lengths: Ints
    slots: Ints

    @property
    def frame(self) -> Frame:
        """What asks a child to compute them."""
        return Frame("fill", {"form": list(self.form)}, [self.lengths, self.slots])


class HeldRows:
    """The rows in a child's slots, as they were last filled."""

    def __init__(self) -> None:
        self._by_slot: dict[int, tuple[Form, Sequence[int]]] = {}

    def note(self, rows: Rows) -> None:
        """Remember rows, in place of those that lay there."""
        for slot, lengths in zip(rows.slots.tolist(), rows.lengths.tolist(), strict=True):
            self._by_slot[slot] = rows.form, lengths

    def clear(self) -> None:
        """Forget all rows."""
        self._by_slot.clear()

    def __iter__(self) -> Iterator[Rows]:
        """All rows, form by form."""
        by_form: dict[Form, list[int]] = {}
        for slot, (form, _) in self._by_slot.items():
            by_form.setdefault(form, []).append(slot)
        for form, slots in by_form.items():
            lengths = np.array([self._by_slot[slot][1] for slot in slots], np.int64)
            yield Rows(form, lengths.reshape(len(slots), -1), np.array(slots, np.int64))
