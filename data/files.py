"""Files: opened so that nothing can hold a program up, written whole, in turns, and kept in caches.

A file of a cache is content behind its SHA-256; the least recently used are removed first. Any
number of processes may share a folder: a file appears whole or not at all.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator
from io import BufferedReader
from pathlib import Path
from stat import S_IMODE, S_ISREG
from time import monotonic, sleep
from typing import NamedTuple

DIGEST_BYTES = 32

DRAFT = ".part"
"""Ending of the name of a file or a folder that is being made."""

DRAFT_LETTERS = len(f".012345012345{DRAFT}")
"""Letters that the name of a draft has behind that of what it becomes."""

CLAIM_SECONDS = 0.02
"""Between two looks at a claim that another process holds."""

CLAIM = "0" * 6
"""In the name of a claim in place of what is drawn."""

INPUTS: set[str] = set()
"""Absolute names of files that a person named, or sent with those, and this process has read."""


class DamagedError(Exception):
    """A file of a cache differs from its written content."""


class CacheEntry(NamedTuple):
    """A file of a cache, or a folder of files that are removed together."""

    used: float  # when it was last used, seconds since 1970
    path: Path
    size: int  # bytes of all its files


class NoFileError(OSError):
    """A folder, a pipe or a device stands where a file was to be read."""


class TooLargeError(NoFileError):
    """A file is larger than any of its kind."""


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


def open_ordinary(path: Path) -> BufferedReader:
    """Open a file to read; a pipe or a device, which may never answer, is no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NoFileError(errno.EINVAL, "is no file")
    return os.fdopen(descriptor, "rb")


def read_ordinary(path: Path, most: int) -> bytes:
    """The content of a file that a person named, or of one sent along with it.

    Raises:
        TooLargeError: When it has more than `most` bytes.
    """
    with open_ordinary(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError(errno.EFBIG, f"is larger than {most:,} bytes")
    note_input(path)
    return content


def note_input(path: Path) -> None:
    """Remember that this process read a file, which no result of it may replace."""
    INPUTS.add(os.path.abspath(path))


def is_input(path: Path) -> bool:
    """True if this process has read the file, under this name or another."""
    for name in tuple(INPUTS):
        with contextlib.suppress(OSError):
            if os.path.samefile(name, path):
                return True
    return False


def others_reach(mode: int) -> bool:
    """True if others than its owner can reach a file of this mode, as no key may be."""
    return S_IMODE(mode) & 0o077 != 0


def replace_whole(path: Path, content: bytes) -> None:
    """Put content in the place of a file: a reader finds the old one or the new.

    `sync_folder` makes the move durable.

    Raises:
        OSError: When that fails; a file that was there is left as it was.
    """
    with drafting(path) as draft, open(draft, "rb+") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def name_draft(name: str, drawn: str = "") -> str:
    """A name for the draft of a file or a folder, which no other program gives to anything."""
    drawn = drawn or os.urandom(3).hex()
    check = zlib.crc32(os.fsencode(f"{name}.{drawn}")) & 0xFFFFFF
    return f".{name}.{drawn}{check:06x}{DRAFT}"


def strip_draft(name: str) -> str:
    """The name behind the name of a draft of ours; any other name as it is."""
    former, drawn = name[1:-DRAFT_LETTERS], name[1 - DRAFT_LETTERS : 7 - DRAFT_LETTERS]
    return former if drawn and name == name_draft(former, drawn) else name


@contextlib.contextmanager
def drafting(path: Path) -> Iterator[Path]:
    """An empty file beside another one, whose place it takes at the end of the body.

    Its writer holds a lock on it. So drafts of killed writers are known, and the next writer in
    that folder removes them.

    Raises:
        OSError: When it cannot be made or moved; a file that was there is left as it was.
    """
    remove_drafts(path.parent)
    descriptor = -1
    while descriptor < 0:
        draft = path.with_name(name_draft(path.name))
        descriptor = _lock_draft(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        with naming(path):
            yield draft
            os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
        os.close(descriptor)


def temporary_folder() -> Path:
    """The folder for temporary files, from now on that of all libraries.

    Python's own search writes a file into each, which stays when the process is killed.
    """
    # Only here: most commands need none.
    import tempfile

    if tempfile.tempdir is None:
        places = (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp")
        usable = (place for place in places if place and os.access(place, os.W_OK | os.X_OK))
        tempfile.tempdir = next(map(os.path.abspath, usable), None)
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def naming(name: object) -> Iterator[None]:
    """Let errors of the body name the file that a person knows; those of a write name none."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(name), None
        raise


def remove_drafts(folder: Path, remove: Callable[[Path], object] = os.unlink) -> None:
    """Remove drafts of dead writers from a folder; drafts in progress stay.

    `remove` gets each, locked; without it drafts of files are removed, of folders none.
    """
    drafts = [path for path in folder.glob(f".*{DRAFT}") if strip_draft(path.name) != path.name]
    for draft in drafts:
        with contextlib.suppress(OSError):
            # A network's disk locks only files that may be written, and no folders.
            kind = os.O_DIRECTORY if draft.is_dir() else os.O_RDWR
            descriptor = os.open(draft, kind | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(draft)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def claiming(path: Path, seconds: float) -> Iterator[None]:
    """Wait, at most so long, until no other process is in such a block for a file that is to come.

    The claim is a locked draft of the file, so that it ends with its process.
    """
    draft, until = path.with_name(name_draft(path.name, CLAIM)), monotonic() + seconds
    descriptor = -1
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        while (descriptor := _lock_draft(draft, os.O_RDWR | os.O_CREAT)) < 0:
            if monotonic() > until:
                break
            sleep(CLAIM_SECONDS)
    try:
        yield
    finally:
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                draft.unlink()
            os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename within a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block for this folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # A file system without locks lets all go on; what is written stays whole all the same.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _measure_entries(folder: Path, pattern: str) -> Iterator[CacheEntry]:
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            files = path.iterdir() if path.is_dir() else [path]
            size = sum(file.stat().st_size for file in files)
            yield CacheEntry(path.stat().st_mtime, path, size)


def _lock_draft(draft: Path, kind: int) -> int:
    """The descriptor that holds the lock of a draft; -1 where another process took it."""
    try:
        descriptor = os.open(draft, kind | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its holder, or a writer that took it for one that was left, may have removed it.
        is_there = os.path.samestat(os.fstat(descriptor), os.lstat(draft))
    except (BlockingIOError, FileNotFoundError):
        is_there = False
    except OSError:
        # A file system without locks lets all go on; drafts of the killed stay there.
        return descriptor
    if is_there:
        return descriptor
    os.close(descriptor)
    return -1
