"""The files of a run, opened by a handle of its directory and never through a link."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from optimizer.errors import StoreError

DATABASE = "run.sqlite"
"""File in a run's directory that holds everything that was recorded."""

OWNER = "owner.lock"
"""File in a run's directory that names its owner."""

REPORT = "report.html"
"""Name of a run's report in the run's directory."""

LABELS = "labels.json"
"""Name of the file in a run's directory that holds its tags and note."""

COLUMN_FOLDER = "columns"
"""Folder in a run's directory with copies of its column files."""

SIDES = ("", "-wal", "-shm", "-journal")
"""Endings that SQLite adds to the name of a database."""

NAMES = (OWNER, *(DATABASE + side for side in SIDES))


def open_plain(directory: Path, name: str, flags: int) -> int:
    """Descriptor of a plain file of a directory; it is made where `flags` say so.

    Raises:
        StoreError: When the name is a link, a pipe or anything else that is no plain file.
        OSError: When it cannot be opened.
    """
    with _open_handle(directory) as handle:
        _refuse_special(directory, name, handle)
        # Without waiting, should it become a pipe in between.
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644, dir_fd=handle)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(_describe_special(directory / name))
    return descriptor


def refuse_links(directory: Path) -> None:
    """Refuse a run with a file that is a link, or anything else but a plain file.

    SQLite opens a database by its name and follows links, so it must not come that far.

    Raises:
        StoreError: Naming the file.
    """
    try:
        with _open_handle(directory) as handle:
            for name in NAMES:
                _refuse_special(directory, name, handle)
    except OSError as error:
        raise StoreError(f"{directory} cannot be opened: {error.strerror}") from None


def list_folders(directory: Path) -> list[Path]:
    """Folders in which a run keeps files, its own one last; links are left out."""
    inner = directory / COLUMN_FOLDER
    return [inner, directory] if inner.is_dir() and not inner.is_symlink() else [directory]


def _refuse_special(directory: Path, name: str, handle: int) -> None:
    try:
        status = os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(_describe_special(directory / name))


def _describe_special(path: Path) -> str:
    return (
        f"{path} is a link or no plain file, and is not followed: a run is a folder of plain "
        "files; remove it, or copy the run whole"
    )


@contextlib.contextmanager
def _open_handle(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
