"""A file of bars, which stays the same while it is read."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.errors import DataError, SourceError, TableError, refuse_size, shorten
from data.files import note_input, open_ordinary

VALUE_BYTES = 8

WORD_BYTES = 16
"""Bytes that a decoder keeps of each word of a dictionary, beside its text."""

HEAD_BYTES = 1 << 20
"""Bytes that a file may hold beside the values that are capped."""


def refuse_nested(fields: Iterable[pa.Field], where: str) -> None:
    """Refuse columns with rows of more than one value, or values that stand for more rows."""
    for field in fields:
        if not is_single(field.type):
            raise TableError(
                f"{where}: column {field.name!r} holds {field.type}, which is no single value"
            )


def is_single(kind: pa.DataType) -> bool:
    """True if each row of a column holds one value, which stands for no other row."""
    bare = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_packed = pa.types.is_run_end_encoded(bare) or pa.types.is_dictionary(bare)
    return not (is_packed or pa.types.is_nested(bare) or isinstance(bare, pa.BaseExtensionType))


def refuse_expanded(columns: pa.Table, where: str, max_bytes: int) -> None:
    """Refuse columns with rows that share their bytes, if they are too large without sharing."""
    refuse_nested(columns.schema, where)
    size = sum(_text_bytes(column) for column in columns.columns)
    if size > max_bytes:
        raise refuse_size(where, f"its text takes {size} bytes", max_bytes)


def refuse_rows(rows: int, columns: int, where: str, max_bytes: int) -> None:
    """Refuse a file with numbers that alone would take too much."""
    size = rows * columns * VALUE_BYTES
    if size > max_bytes:
        raise refuse_size(where, f"{rows} rows of {columns} columns take {size} bytes", max_bytes)


def open_path(address: str, form: str) -> Path:
    """Check that an address is a file that can be read."""
    if not address:
        raise SourceError(f"{form.partition(':')[0]} needs a path; write {form}")
    if "\0" in address:
        raise SourceError("a path cannot hold a zero byte")
    path = Path(address).expanduser()
    shown = address if address.isprintable() else ascii(address)
    try:
        if not S_ISREG(path.stat().st_mode):
            raise SourceError(f"{shown}: is no file; name a single file as {form}")
        with open_ordinary(path):
            return path
    except FileNotFoundError:
        raise SourceError(f"{shown}: there is no such file") from None
    except OSError as error:
        raise SourceError(f"{shown}: cannot be read ({error.strerror})") from None


@contextmanager
def open_unchanged(path: Path, max_bytes: int) -> Iterator[BufferedReader]:
    """A file, open to read, which must be the same when the context ends.

    Raises:
        LimitError: When it has far more than `max_bytes`, whatever they unpack to.
        SourceError: When the file has changed meanwhile, whatever else was wrong with it.
    """
    where = label(path)
    with open_ordinary(path) as file:
        note_input(path)
        before = _state(file, path)
        if before[0] > max_bytes + HEAD_BYTES:
            raise refuse_size(where, f"it has {before[0]} bytes", max_bytes)

        def check() -> None:
            if _state(file, path) != before:
                raise SourceError(
                    f"{where}: changed while it was read; wait until it is written, or name a copy"
                )

        try:
            yield file
        except DataError:
            check()
            raise
        check()


def label(path: Path) -> str:
    """The name of a file as errors show it: short, and safe for a terminal."""
    return shorten(path.name, 80)


def first_line(error: Exception) -> str:
    """Message of a library's error: one line, at most 160 characters, safe for a terminal."""
    text = " ".join(str(error).split()) or type(error).__name__
    return shorten("".join(letter if letter.isprintable() else "?" for letter in text), 160)


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of written text; 0 for columns with rows that share none."""
    types = pa.types
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if types.is_dictionary(column.type) and any(of(column.type.value_type) for of in is_text):
        taken = (pc.binary_length(part.dictionary).take(part.indices) for part in column.chunks)
        return sum(pc.sum(lengths).as_py() or 0 for lengths in taken)
    size = 0
    if types.is_string_view(column.type) or types.is_binary_view(column.type):
        for views in filter(len, column.chunks):
            # The first of the four numbers of a view is the length of its text.
            numbers = np.frombuffer(views.buffers()[1], np.int32).reshape(-1, 4)
            lengths = numbers[views.offset : views.offset + len(views), 0]
            size += int(lengths[np.asarray(views.is_valid())].sum(dtype=np.int64))
    return size


def _state(file: BufferedReader, path: Path) -> tuple[int, ...]:
    """Size, times and place of an open file, and of the present bearer of its name.

    A program may set the time of a change back, but not that of the inode.
    """
    status = os.fstat(file.fileno())
    try:
        named = os.stat(path).st_ino
    except FileNotFoundError:
        named = 0
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, named
