"""Memory of rows, which engines of one process leave to each other.

A system clears every page that it gives. For a search of few generations that takes about as long
as computing the rows that are written there. Pages are small ones: a virtual machine gives large
free ones back to its host, from which it then gets each small part of them anew.
"""

import mmap
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import prod

import numpy as np
import numpy.typing as npt

from engine.runtime.cpu.types import Ints

Memory = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

SMALL = 2**22
"""Bytes that are cleared as quickly as they are found again."""

_KEPT: list[Memory] = []

_KEEPERS = 0
"""Holders that want memory to be kept."""

_LOCK = threading.Lock()


@contextmanager
def keeping_row_memory() -> Iterator[None]:
    """Have engines leave the memory of their rows to later ones meanwhile.

    As much stays as engines alive at one time take.
    """
    global _KEEPERS
    with _LOCK:
        _KEEPERS += 1
    try:
        yield
    finally:
        with _LOCK:
            _KEEPERS -= 1
            if not _KEEPERS:
                _KEPT.clear()


def take_row_memory(n_bytes: int) -> Memory:
    """Memory [n_bytes] without another reader or writer; it holds whatever was there."""
    if not _KEEPERS:
        return _map(n_bytes)
    with _LOCK:
        # An engine that is gone has no view of its rows any more.
        unread = [k for k, count in enumerate(_count_references(_KEPT)) if count <= _UNREAD]
        fitting = [k for k in unread if _KEPT[k].nbytes >= n_bytes]
        if fitting:
            return _KEPT[min(fitting, key=lambda k: _KEPT[k].nbytes)][:n_bytes]
        # The old goes before the new comes.
        for k in reversed(unread):
            del _KEPT[k]
        _KEPT.append(_map(n_bytes))
        return _KEPT[-1]


class SlotMemory:
    """Memory of slots, which comes with them: as much as there is, so that its parts are few.

    Args:
        width: Bytes of a slot, whole words.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._slots: list[Memory] = []
        self._addresses = np.empty(0, np.int64)

    def bring(self, slots: Ints) -> Ints:
        """Where slots [n] lie."""
        known = len(self._slots)
        if (needed := int(slots.max(initial=-1)) + 1) > known:
            count = max(needed - known, known)
            n_bytes = count * self._width
            memory = np.empty(n_bytes, np.uint8) if n_bytes < SMALL else take_row_memory(n_bytes)
            block = memory.reshape(count, self._width)
            first = block.__array_interface__["data"][0]
            places = first + self._width * np.arange(count)
            self._addresses = np.concatenate([self._addresses, places])
            self._slots += list(block)
        return self._addresses[slots]

    def view(self, slot: int) -> Memory:
        """The bytes of a slot that was brought."""
        return self._slots[slot]


def _map(n_bytes: int) -> Memory:
    """Memory of small pages, which are taken as they are written."""
    mapped = mmap.mmap(-1, max(n_bytes, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        # A kernel without large pages refuses the advice.
        with suppress(OSError):
            mapped.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(mapped, np.uint8, n_bytes)


def _count_references(memories: Sequence[Memory]) -> list[int]:
    """References to each, of views too."""
    return [sys.getrefcount(memory) for memory in memories]


(_UNREAD,) = _count_references([np.empty(1, np.uint8)])
"""References to memory without a view."""


class Scratch:
    """Words that are read until the next population comes, in memory that stays.

    A system clears each page that it gives. For words of bars that takes as long as to decide them.
    """

    def __init__(self) -> None:
        self._kept: list[Words] = []
        self._taken = 0

    def release(self) -> None:
        """Have what was taken so far written anew."""
        self._taken = 0

    def take(self, *shape: int) -> Words:
        """An array of words; it holds whatever was there."""
        size, number = prod(shape), self._taken
        if number == len(self._kept):
            self._kept.append(np.empty(size, np.uint64))
        elif self._kept[number].size < size:
            self._kept[number] = np.empty(size, np.uint64)
        self._taken += 1
        return self._kept[number][:size].reshape(shape)
