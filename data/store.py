"""Files of caches on disk: content behind its SHA-256, least recently used removed first.

Any number of processes may share a folder: a file appears whole or not at all.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from data.files import drafting, open_ordinary

DIGEST_BYTES = 32


class DamagedError(Exception):
    """A file of a cache differs from its written content."""


class CacheEntry(NamedTuple):
    """A file of a cache, or a folder of files that are removed together."""

    used: float  # when it was last used, seconds since 1970
    path: Path
    size: int  # bytes of all its files


def read_sealed(path: Path) -> bytes | None:
    """Content of a file by `write_sealed`; None without one, a `DamagedError` if changed."""
    try:
        with open_ordinary(path) as file:
            digest, content = file.read(DIGEST_BYTES), file.read()
    except FileNotFoundError:
        return None
    if hashlib.sha256(content).digest() != digest:
        raise DamagedError(f"{path} is damaged")
    return content


def write_sealed(path: Path, content: bytes) -> None:
    """Put content behind its digest into a file of an existing folder, whole or not at all."""
    with drafting(path) as draft:
        # Not synchronised with the disk: the digest shows the traces of a crash.
        draft.write_bytes(hashlib.sha256(content).digest() + content)


def note_use(path: Path) -> None:
    """Note that a file or a folder is used: others are let go before it."""
    with contextlib.suppress(OSError):
        os.utime(path)


def list_entries(folder: Path, pattern: str) -> list[CacheEntry]:
    """Files and folders of a cache that have such names, the one used longest ago first."""
    return sorted(_measure_entries(folder, pattern))


def remove_oldest(folder: Path, pattern: str, most_bytes: int, keep: Collection[Path] = ()) -> int:
    """Remove the least recently used files, down to so many bytes; the bytes that are left.

    Files to keep stay, even if that is more.
    """
    entries = list_entries(folder, pattern)
    left = sum(entry.size for entry in entries)
    for entry in entries:
        if left > most_bytes and entry.path not in keep:
            remove_entry(entry.path)
            left -= entry.size
    return left


def remove_entry(path: Path) -> None:
    """Remove a file or a folder; another process may have been quicker."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        path.unlink()


def _measure_entries(folder: Path, pattern: str) -> Iterator[CacheEntry]:
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            files = path.iterdir() if path.is_dir() else [path]
            size = sum(file.stat().st_size for file in files)
            yield CacheEntry(path.stat().st_mtime, path, size)
