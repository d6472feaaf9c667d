"""Files of a run apart from those of its copies by hard links."""

import fcntl
import os
import shutil
from pathlib import Path

from optimizer.errors import StoreError
from optimizer.store.files import DATABASE, DRAFT, SIDES

SHARED_FROM, SHARED_BYTES = 2**30 + 2, 510
"""Bytes of a SQLite file that each of its readers locks."""


def separate_links(directory: Path) -> bool:
    """Give a run files of its own where a copy by hard links shares them; whether it was so.

    Two owners of one file by two names would not meet: the lock is on a folder, and a log is
    found by the name of its database. Killed at any step, the rest is done by the next owner, who
    alone may do so, before anything opens the database.

    Raises:
        StoreError: When the file is in use by its other name.
        OSError: When it cannot be copied.
    """
    # The database last: its log goes with either file, the index of a log with none.
    paths = [directory / (DATABASE + side) for side in reversed(SIDES)]
    shared = [path for path in paths if path.exists() and path.stat().st_nlink > 1]
    if shared and is_in_use(directory / DATABASE):
        raise StoreError(
            f"run '{directory.name}' shares {DATABASE} with another folder by a hard link, and "
            "is in use there: wait for that run, or stop it first"
        )
    for path in shared:
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, directory / DRAFT)
            with open(directory / DRAFT, "rb+") as copy:
                os.fsync(copy.fileno())
            os.replace(directory / DRAFT, path)
        else:
            path.unlink()
    return bool(shared)


def is_in_use(path: Path) -> bool:
    """Whether another process has a database open whose log is written ahead.

    Source: SQLite, "File Locking And Concurrency": readers and writers of such a one share a lock
    on these bytes for as long as they have it open.
    """
    with open(path, "rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED_FROM)
        except BlockingIOError:
            return True
    return False
