"""Files: opened so that nothing can hold a program up, written whole, and in turns."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG


class NoFileError(OSError):
    """What was to be opened is a folder, a pipe or a device."""


def open_ordinary(path: Path) -> BufferedReader:
    """Open a file to read; a pipe or a device, which may never answer, is refused at once.

    Raises:
        NoFileError: When it is no ordinary file.
        OSError: When it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NoFileError(errno.EINVAL, "is no file")
    return os.fdopen(descriptor, "rb")


def replace_whole(path: Path, content: bytes, draft: Path) -> None:
    """Put content in the place of a file: what a reader finds is the old one or the new.

    It is written to `draft` first, in the same folder; `sync_folder` makes the move durable.

    Raises:
        OSError: When that fails; a file that was there is left as it was.
    """
    try:
        # One that another process of this number left; whatever is there is not followed.
        draft.unlink(missing_ok=True)
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename within a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block for this folder, which is made if need be.

    Raises:
        OSError: When there is no such folder and none can be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Where a file system has no locks, nobody waits; what is written stays whole all the same.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
