"""Arrays that are kept for the next request, up to an amount of memory; threads may share them."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy.typing as npt

Row = TypeVar("Row", bound=npt.NDArray[Any])


class ArrayCache:
    """Arrays that were computed before, by name, up to an amount of memory.

    Threads may call at once: one of them computes, others with the same name wait for it. The least
    recently used is let go first; the newest is always kept.

    Attributes:
        bytes: Of all that is kept.
        let_go: How many arrays were let go so far.
    """

    def __init__(self, most_bytes: int) -> None:
        self.bytes = self.let_go = 0
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._slots: dict[tuple[object, ...], _Slot] = {}

    def get(self, name: tuple[object, ...], compute: Callable[[], Row]) -> Row:
        """The array of that name, read-only; computed if missing."""
        with self._lock:
            slot = self._slots.pop(name, None) or _Slot()
            self._slots[name] = slot
        with slot.lock:
            if slot.values is None:
                slot.values = compute()
                slot.values.flags.writeable = False
                self._count(name, slot, slot.values.nbytes)
            return cast(Row, slot.values)

    def _count(self, name: tuple[object, ...], slot: "_Slot", size: int) -> None:
        with self._lock:
            # It may have been let go before it was computed.
            if self._slots.get(name) is slot:
                slot.bytes = size
                self.bytes += size
            while self.bytes > self._most_bytes and len(self._slots) > 1:
                self.bytes -= self._slots.pop(next(iter(self._slots))).bytes
                self.let_go += 1


class _Slot:
    """A place for one array."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: npt.NDArray[Any] | None = None
        self.bytes = 0
