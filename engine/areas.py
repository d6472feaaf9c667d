"""Areas of memory that two processes see, for arrays that are too large for a pipe.

An area is a file without a name: in memory where the system offers that, in the folder of
temporary files else. Its descriptor is handed to the other process, and both map it. It is gone
with the last process that has it open, however that one ends.
"""

import contextlib
import mmap
import os
import tempfile
from collections.abc import Sequence

import numpy as np

from engine.errors import DeviceError
from engine.wire import KINDS, Array

Place = tuple[str, int, Sequence[int]]
"""Type, first byte and shape of an array in an area; plain values, so that frames can tell it."""

ALIGNMENT = 64
"""Bytes that the beginning of an array is a multiple of."""

ZEROS = bytes(2**20)


class Area:
    """Memory of this process that another one sees too.

    Args:
        descriptor: One that the other process made; a new one, with no room yet, when None.

    Raises:
        DeviceError: When there is none to be had.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = -1
        self.bytes = 0
        self._map: mmap.mmap | None = None
        self.descriptor = _nameless() if descriptor is None else descriptor

    def grow(self, size: int) -> None:
        """Have room for so many bytes; what lies there stays.

        Raises:
            DeviceError: When there is no room.
        """
        if size <= self.bytes:
            return
        # Some more, because no two populations are of quite one size.
        wanted = size + size // 4
        try:
            _fill(self.descriptor, self.bytes, wanted)
            self._map = mmap.mmap(self.descriptor, wanted)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, self.bytes)
            raise _no_room(f"{wanted:,} bytes", error) from None
        self.bytes = wanted

    def see(self, size: int) -> None:
        """Map what the other process has room for.

        Args:
            size: Bytes, as it says.

        Raises:
            ValueError: When the file is shorter than that.
        """
        if size > self.bytes:
            self._map = mmap.mmap(self.descriptor, size)
            self.bytes = size

    def array(self, place: Place) -> Array:
        """The array at a place; it is the area's own memory, not a copy.

        Raises:
            ValueError: When there is no such place.
        """
        kind, begin, shape = place
        if kind not in KINDS or begin < 0 or min(shape, default=0) < 0:
            raise ValueError(f"there are no arrays at {place}")
        if self._map is None or begin + _bytes_of(kind, shape) > self.bytes:
            raise ValueError(f"an area of {self.bytes} bytes ends before {place}")
        return np.ndarray(tuple(shape), kind, self._map, begin)

    def close(self) -> None:
        """Give it back; arrays that are still about stay readable."""
        descriptor, self.descriptor, self._map, self.bytes = self.descriptor, -1, None, 0
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


def places_of(arrays: Sequence[tuple[str, Sequence[int]]]) -> tuple[list[Place], int]:
    """Lay arrays out one behind the other.

    Args:
        arrays: Type and shape of each.

    Returns:
        Their places, and the bytes that they take together.
    """
    places: list[Place] = []
    end = 0
    for kind, shape in arrays:
        places.append((kind, end, shape))
        end += -(-_bytes_of(kind, shape) // ALIGNMENT) * ALIGNMENT
    return places, max(end, ALIGNMENT)


def _bytes_of(kind: str, shape: Sequence[int]) -> int:
    taken = np.dtype(kind).itemsize
    for length in shape:
        taken *= length
    return taken


def _nameless() -> int:
    """A new file without a name."""
    try:
        if hasattr(os, "memfd_create"):
            return os.memfd_create("exhaustion")
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise _no_room("an area", error) from None


def _fill(descriptor: int, begin: int, end: int) -> None:
    """Make a file longer; room that is only promised would end the process once it is used."""
    while begin < end:
        begin += os.pwrite(descriptor, ZEROS[: end - begin], begin)


def _no_room(what: str, error: OSError) -> DeviceError:
    return DeviceError(
        f"no room for {what} of memory that is shared with the device's process "
        f"({error.strerror}): free some, or use --device cpu"
    )
