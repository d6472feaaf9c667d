"""Frames between two processes: a line of JSON and the bytes of arrays, nothing executable."""

import json
import os
import select
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

KINDS = ("float64", "int64", "int32", "int16", "int8")
"""Types of arrays that travel."""

MOST_PARTS = 1000
"""Of a frame that are written together; systems take 1,024."""


class Frame(NamedTuple):
    """One message.

    Args:
        kind: What is asked, or how it went.
        told: Plain values.
        arrays: By position.
    """

    kind: str
    told: Mapping[str, object] = {}
    arrays: Sequence[Array] = ()


class ClosedError(Exception):
    """The other process is gone, silent, or speaks another language."""


def send(descriptor: int, frame: Frame) -> None:
    """Write a frame.

    Raises:
        ClosedError: When nobody reads.
    """
    arrays = [np.ascontiguousarray(array) for array in frame.arrays]
    shapes = [[array.dtype.name, *array.shape] for array in arrays]
    head = json.dumps([frame.kind, frame.told, shapes]).encode()
    parts: list[memoryview | bytes] = [len(head).to_bytes(8, "little"), head]
    parts += [memoryview(array.reshape(-1).view(np.uint8)) for array in arrays]  # type: ignore[arg-type]
    try:
        while parts:
            written = os.writev(descriptor, parts[:MOST_PARTS])
            while parts and written >= len(parts[0]):
                written -= len(parts.pop(0))
            if written:
                parts[0] = parts[0][written:]
    except OSError as error:
        raise ClosedError(f"nobody reads ({error.strerror})") from None


def receive(descriptor: int, deadline_s: float | None = None) -> Frame:
    """Read a frame.

    Args:
        descriptor: Where from.
        deadline_s: Longest wait for all of it; no limit when None.

    Raises:
        ClosedError: When the writer is gone, waits too long, or writes what is no frame.
    """
    until = None if deadline_s is None else time.monotonic() + deadline_s
    length = int.from_bytes(_exactly(descriptor, 8, until), "little")
    try:
        kind, told, shapes = json.loads(_exactly(descriptor, length, until))
        arrays = []
        for name, *shape in shapes:
            if name not in KINDS:
                raise ValueError(name)
            size = int(np.prod(shape)) * np.dtype(name).itemsize
            raw = _exactly(descriptor, size, until)
            arrays.append(np.frombuffer(raw, name).reshape(shape))
    except (ValueError, TypeError, MemoryError) as error:
        raise ClosedError(f"not a frame ({error})") from None
    return Frame(kind, told, arrays)


def _exactly(descriptor: int, size: int, until: float | None) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        if until is not None:
            left = max(until - time.monotonic(), 0.0)
            if not select.select([descriptor], [], [], left)[0]:
                raise ClosedError("no answer in time")
        count = os.readv(descriptor, [view])
        if not count:
            raise ClosedError("it ended")
        view = view[count:]
    return data
