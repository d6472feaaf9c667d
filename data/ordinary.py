"""Ordinary files, opened so that nothing else can hold a program up."""

import errno
import os
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
