"""The files of a run, never opened through a link; and its one owner.

A kernel lock on the run's directory is held for the life of the owner. It is on the directory and
not on a file in it, so that no run can be stolen by deleting a "stale" file, and it is gone the
instant that its owner is, however it ended. `owner.lock` only names the owner, and how much was
last known to be on disk: if the database has less, some was lost.
"""

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
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

NOTE_BYTES = 512
"""Size of that file: one write of a fixed size, so that a reader never sees half of it."""

NO_GENERATION = -1
"""Number of the newest generation of a run that has none."""

TRIES = 10
"""How often a lock is tried: one who only looks whether a run is owned holds it for a moment."""

_TRY_SECONDS = 0.02
_UNLOCKABLE = (errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOTSUP)


def open_plain(directory: Path, name: str, flags: int) -> int:
    """Descriptor of a plain file of a directory; it is made where `flags` say so.

    StoreError for a link, a pipe or anything else that is no plain file.
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


@dataclass(frozen=True)
class Owner:
    """Owner of a run, or its last one."""

    pid: int
    host: str
    started_at: str  # ISO time, UTC, at which the run was taken
    records: int = 0  # how many are on disk
    chain: str = ""  # digest of the last of them, hexadecimal
    generation: int = NO_GENERATION  # the newest one among them

    @property
    def position(self) -> list[object]:
        """End of the records that are on disk, ready for JSON."""
        return [self.records, self.chain]

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.started_at}"


class OwnerLock:
    """The lock of a run that this process owns; made by `acquire`."""

    def __init__(self, directory: Path, descriptor: int) -> None:
        self._descriptor = descriptor
        self._note = -1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        noted = read_owner(directory)
        self.noted = noted
        """Note of the owner before this one; None where there is none that can be read."""
        before = noted or Owner(0, "", "")
        self._owner = replace(before, pid=os.getpid(), host=socket.gethostname(), started_at=now)
        try:
            self._note = self._open_note(directory)
            self._write()
        except StoreError:
            self.release()
            raise
        except OSError as error:
            self.release()
            raise StoreError(
                f"{directory} cannot be written ({error.strerror}): copy the run to a place that "
                "can, or only read it"
            ) from None

    @classmethod
    def acquire(cls, directory: Path) -> "OwnerLock":
        """Become the owner of a run.

        StoreError when another process owns it, naming that owner, within a quarter of a second; or
        when the directory cannot be written.
        """
        for attempt in range(TRIES):
            descriptor = _try_lock(directory, fcntl.LOCK_EX)
            if descriptor is not None:
                return cls(directory, descriptor)
            time.sleep(_TRY_SECONDS if attempt + 1 < TRIES else 0)
        owner = read_owner(directory)
        raise StoreError(
            f"run '{directory.name}' is owned by {owner or 'another process'}: "
            "wait for it, or stop it first"
        )

    def note(self, records: int, chain: bytes, generation: int) -> None:
        """Note the state after a commit: records, digest of the last, newest generation."""
        self._owner = replace(
            self._owner, records=records, chain=chain.hex(), generation=generation
        )
        if os.fstat(self._note).st_nlink == 0:
            self._renew_note()
        self._write()

    def find_folder(self) -> Path | None:
        """Path of the run's folder now; None if it is gone or the system does not know."""
        with contextlib.suppress(OSError):
            path = Path(os.readlink(f"/proc/self/fd/{self._descriptor}"))
            return path if path.is_dir() else None
        return None

    def release(self) -> None:
        """Let go; a second call does nothing."""
        for descriptor in (self._note, self._descriptor):
            if descriptor >= 0:
                os.close(descriptor)
        self._note = self._descriptor = -1

    def _renew_note(self) -> None:
        """Write a note that was removed anew, where the folder still is."""
        folder = self.find_folder()
        with contextlib.suppress(OSError, StoreError):
            if folder is not None:
                note = self._open_note(folder)
                os.close(self._note)
                self._note = note

    def _open_note(self, directory: Path) -> int:
        """Descriptor of the note, which a copy by hard links does not share with its original."""
        flags = os.O_RDWR | os.O_CREAT
        note = open_plain(directory, OWNER, flags)
        is_shared = os.fstat(note).st_nlink > 1
        if is_shared and stat.S_ISDIR(os.fstat(self._descriptor).st_mode):
            os.close(note)
            (directory / OWNER).unlink()
            return open_plain(directory, OWNER, flags)
        return note

    def _write(self) -> None:
        text = json.dumps(asdict(self._owner))
        os.pwrite(self._note, text.encode().ljust(NOTE_BYTES)[:NOTE_BYTES], 0)


def is_owned(directory: Path) -> bool:
    """True if some process, this one included, owns a run at this moment."""
    descriptor = _try_lock(directory, fcntl.LOCK_SH)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def read_owner(directory: Path) -> Owner | None:
    """Owner of a run or its last one; None when that was never noted or cannot be read."""
    with contextlib.suppress(OSError, StoreError, ValueError, TypeError, KeyError):
        with open(open_plain(directory, OWNER, os.O_RDONLY), "rb") as file:
            noted = json.loads(file.read(NOTE_BYTES))
        who = (int(noted["pid"]), str(noted["host"]), str(noted["started_at"]))
        return Owner(*who, int(noted["records"]), str(noted["chain"]), int(noted["generation"]))
    return None


def _try_lock(directory: Path, kind: int) -> int | None:
    """Open file descriptor that holds the lock, or None when someone else does."""
    try:
        return _lock_descriptor(os.open(directory, os.O_RDONLY), kind)
    except OSError as error:
        if error.errno not in _UNLOCKABLE:
            raise StoreError(f"{directory} cannot be opened: {error.strerror}") from None
    # Network file systems that lock bytes need a descriptor that is open for writing.
    try:
        return _lock_descriptor(open_plain(directory, OWNER, os.O_RDWR | os.O_CREAT), kind)
    except OSError as error:
        raise StoreError(f"{directory} cannot be locked: {error.strerror}") from None


def _lock_descriptor(descriptor: int, kind: int) -> int | None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
