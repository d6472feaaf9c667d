"""Rows on the device by what they compute; each is made once, see `device_rows`."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.backend import Ints

FIRST_ROWS = 64
"""Room at first; it is doubled when it is full."""

RowKey = tuple[float, ...]
"""Number of a row's tree in its strategy, and the values of its genes."""


class RowStore:
    """Rows of one series.

    Args:
        n_bars: T.
        most: Rows that may lie there.
        device: Where they lie.
        kind: Of their values.
        first: Rows that there is room for at first.

    Attributes:
        rows: [room, T].
        clears: How often all rows were let go.
    """

    def __init__(
        self,
        n_bars: int,
        most: int,
        device: torch.device,
        kind: torch.dtype = torch.float64,
        *,
        first: int = FIRST_ROWS,
    ) -> None:
        self._n_bars, self.most, self._device = n_bars, max(most, 1), device
        self._kind, self.clears = kind, 0
        self._slots: dict[RowKey, int] = {}
        self.rows = self._room(min(first, self.most))

    def slots(
        self, keys: Sequence[RowKey], make: Callable[[list[RowKey], torch.Tensor], None]
    ) -> Ints:
        """Slots [n] of rows by their keys, of which there are no more than `most`.

        `make` is given those that are not there, and where their rows belong.
        """
        slots = [self._slots.get(key, -1) for key in keys]
        if min(slots, default=0) >= 0:
            return np.array(slots, np.int64)
        missing = self._missing(keys)
        if len(self._slots) + len(missing) > self.most:
            # What earlier populations read goes, all of it.
            self._slots.clear()
            self.clears += 1
            missing = self._missing(keys)
        first = len(self._slots)
        self._grow(first + len(missing))
        make(missing, self.rows[first : first + len(missing)])
        self._slots |= {key: first + k for k, key in enumerate(missing)}
        return np.array([self._slots[key] for key in keys], np.int64)

    def _missing(self, keys: Sequence[RowKey]) -> list[RowKey]:
        """Keys that are not there, each once."""
        return list(dict.fromkeys(key for key in keys if key not in self._slots))

    def _grow(self, needed: int) -> None:
        if needed > len(self.rows):
            old = self.rows
            self.rows = self._room(min(max(2 * len(old), needed), self.most))
            self.rows[: len(self._slots)] = old[: len(self._slots)]

    def _room(self, rows: int) -> torch.Tensor:
        return torch.empty((rows, self._n_bars), dtype=self._kind, device=self._device)
