"""A file of bars, which stays the same while it is read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG

from data.errors import DataError, SourceError
from data.files import note_input, open_ordinary
from data.providers.size_caps import refuse_size

HEAD_BYTES = 1 << 20
"""Bytes that a file may hold beside the values that are capped."""


def open_path(address: str, form: str) -> Path:
    """Check that an address is a file that can be read.

    Raises:
        SourceError: When it is empty, missing, no ordinary file, or closed to us.
    """
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


def label(path: Path) -> str:
    """The name of a file as errors show it: short, and safe for a terminal."""
    name = path.name if path.name.isprintable() else ascii(path.name)
    return name if len(name) <= 80 else name[:80] + "..."


def first_line(error: Exception) -> str:
    """Message of a library's error: one line, at most 160 characters, safe for a terminal."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 160 else text[:160] + "..."
