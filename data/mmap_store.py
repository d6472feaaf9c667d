"""Bars as files that are mapped into memory: the system loads and drops pages as needed.

A file bears the SHA-256 of its bytes as its name, is written whole, and never changes.
"""

import dataclasses
import hashlib
import json
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from data.bars import Bars, FinerBars, Payments
from data.checks import COLUMNS, PRICES
from data.errors import SourceError
from data.files import open_ordinary, replace_whole
from data.hours import OpenGaps

ABOUT = b"bars"
"""In a file: all fields of its bars but the columns."""

FINER = b"finer times", b"finer prices", b"finer duration"
"""In a file with finer bars: their columns, as bytes, and their duration."""

EXTRA = "extra "
"""Before the names of extra columns."""

_FILES: "WeakKeyDictionary[Bars, Path]" = WeakKeyDictionary()


def pack_bars(bars: Bars) -> bytes:
    """Bars as the bytes of an Arrow file, by their fields alone: `unpack_bars` gives them back."""
    columns = {name: getattr(bars, name) for name in COLUMNS}
    about = {
        field.name: getattr(bars, field.name)
        for field in dataclasses.fields(bars)
        if field.name not in (*COLUMNS, "extra", "finer")
    }
    metadata = {ABOUT: json.dumps(about, default=_as_json).encode()}
    if (finer := bars.finer) is not None:
        # As metadata: they are of another length than the columns.
        stated = json.dumps([finer.timeframe_ns, finer.source]).encode()
        parts = (finer.timestamp.tobytes(), finer.prices.tobytes(), stated)
        metadata |= dict(zip(FINER, parts, strict=True))
    table = pa.Table.from_arrays(
        [pa.array(column) for column in (*columns.values(), *bars.extra.values())],
        names=[*columns, *(EXTRA + name for name in bars.extra)],
        metadata=metadata,
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpack_bars(content: bytes | mmap) -> Bars:
    """Bars of what `pack_bars` made; their columns show its bytes, none is copied."""
    buffer = pa.py_buffer(content)
    table = pa.ipc.open_file(buffer).read_all()
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        (chunk,) = column.chunks
        kind = np.int64 if pa.types.is_int64(chunk.type) else np.float64
        first = chunk.buffers()[1].address - buffer.address
        columns[name] = np.frombuffer(content, kind, len(chunk), first)
    bar_columns = {name: columns.pop(name) for name in COLUMNS}
    extra = {name.removeprefix(EXTRA): column for name, column in columns.items()}
    metadata = table.schema.metadata
    about = json.loads(metadata[ABOUT])
    about |= {name: tuple(about[name]) for name in ("notes", "dated")}
    about["payments"] = {name: Payments(**paid) for name, paid in about["payments"].items()}
    if (gaps := about["open_gaps"]) is not None:
        arrays = ("starts_ns", "ends_ns", "missing")
        gaps |= {name: np.array(gaps[name], np.int64) for name in arrays}
        gaps |= {name: tuple(gaps[name]) for name in ("days_off", "short_days")}
        about["open_gaps"] = OpenGaps(**gaps)
    if FINER[0] in metadata:
        times, prices, stated = (metadata[name] for name in FINER)
        rows = np.frombuffer(prices, np.float64).reshape(len(PRICES), -1)
        about["finer"] = FinerBars(np.frombuffer(times, np.int64), rows, *json.loads(stated))
    return Bars(**bar_columns, extra=extra, **about)


def put_down(bars: Bars, folder: Path) -> Bars:
    """Write bars into a folder, unless they are there, and map them.

    Raises:
        SourceError: When they cannot be written.
        OSError: When the disk is full.
    """
    return map_bars(write_packed(pack_bars(bars), folder))


def write_packed(content: bytes, folder: Path) -> Path:
    """Write the output of `pack_bars` into a folder, unless it is there; the file."""
    path = folder / hashlib.sha256(content).hexdigest()
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replace_whole(path, content)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise SourceError(f"{folder}: bars cannot be written ({error.strerror})") from None
    return path


def map_bars(path: Path) -> Bars:
    """Bars of a file that `put_down` wrote; refused where its bytes are not those of its name."""
    with open_ordinary(path) as file:
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    if hashlib.sha256(content).hexdigest() != path.name:
        raise SourceError(f"{path}: has other bytes than were written; delete it")
    bars = unpack_bars(content)
    _FILES[bars] = path
    return bars


def find_mapped_file(bars: Bars) -> Path | None:
    """The file that bars are mapped from; None of others."""
    return _FILES.get(bars)


def _as_json(part: OpenGaps | Payments) -> dict[str, object]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(part).items()
    }
