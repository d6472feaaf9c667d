"""Files: opened so that nothing can hold a program up, written whole, and in turns."""

import contextlib
import errno
import fcntl
import glob
import os
import re
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from stat import S_IMODE, S_ISREG
from time import monotonic, sleep

DRAFT = ".part"
"""Ending of the name of a file that is being written."""

CLAIM_SECONDS = 0.02
"""Between two looks at a claim that another process holds."""

IS_DRAFT = re.compile(rf"\.(?P<name>.+)\.[0-9a-f]+{re.escape(DRAFT)}")
"""Name of a draft, and in it that of the file that it becomes."""


INPUTS: set[str] = set()
"""Absolute names of files that a person named, or sent with those, and this process has read."""


class NoFileError(OSError):
    """A folder, a pipe or a device stands where a file was to be read."""


class TooLargeError(NoFileError):
    """A file is larger than any of its kind."""


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


def read_ordinary(path: Path, most: int) -> bytes:
    """The content of a file that a person named, or that was sent with what they named.

    Raises:
        NoFileError: When it is no ordinary file.
        TooLargeError: When it has more than `most` bytes.
        OSError: When it cannot be read.
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
    """Whether a file is one that this process has read, under this name or another."""
    for name in tuple(INPUTS):
        with contextlib.suppress(OSError):
            if os.path.samefile(name, path):
                return True
    return False


def others_reach(mode: int) -> bool:
    """Whether a file of this mode can be reached by others than its owner, as no key may be."""
    return S_IMODE(mode) & 0o077 != 0


def replace_whole(path: Path, content: bytes) -> None:
    """Put content in the place of a file: what a reader finds is the old one or the new.

    `sync_folder` makes the move durable.

    Raises:
        OSError: When that fails; a file that was there is left as it was.
    """
    with drafting(path) as draft, open(draft, "rb+") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def drafting(path: Path) -> Iterator[Path]:
    """An empty file beside another one, whose place it takes at the end of the body.

    Its writer holds a lock on it, so that drafts of writers that were killed are known, and are
    removed by the next one.

    Raises:
        OSError: When it cannot be made or moved; a file that was there is left as it was.
    """
    remove_drafts(path.parent, path.name)
    draft, descriptor = _make_draft(path)
    try:
        with naming(path):
            yield draft
            os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
        os.close(descriptor)


@contextlib.contextmanager
def naming(name: object) -> Iterator[None]:
    """Let errors of the body name the file that a person knows; those of a write name none."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(name), None
        raise


def remove_drafts(folder: Path, name: str | None = None) -> None:
    """Remove drafts of writers that were killed, of all files or of one of that name.

    Those that are being written stay.
    """
    for draft in folder.glob(f".{'*' if name is None else glob.escape(name)}.*{DRAFT}"):
        if not IS_DRAFT.fullmatch(draft.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(draft, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()
            finally:
                os.close(descriptor)


def _make_draft(path: Path) -> tuple[Path, int]:
    """A new file beside another one, and the descriptor that holds its lock."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    while True:
        draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}{DRAFT}")
        try:
            descriptor = os.open(draft, flags, 0o666)
        except FileExistsError:
            continue
        # Where a file system has no locks, drafts of the killed stay.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return draft, descriptor
        # Another writer took it for one that was left, before it was locked.
        os.close(descriptor)


@contextlib.contextmanager
def claiming(path: Path, seconds: float) -> Iterator[None]:
    """Wait, at most so long, until no other process is in such a block for a file that is to come.

    The claim is a locked draft of the file, so that it ends with its process.
    """
    draft, until, descriptor = path.with_name(f".{path.name}.0{DRAFT}"), monotonic() + seconds, -1
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _lock_claim(draft)
        while descriptor < 0 and monotonic() < until:
            sleep(CLAIM_SECONDS)
            descriptor = _lock_claim(draft)
    try:
        yield
    finally:
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                draft.unlink()
            os.close(descriptor)


def _lock_claim(draft: Path) -> int:
    """The descriptor that holds a claim; -1 where another process has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return -1
    except OSError:
        # A file system without locks lets all go on.
        return descriptor
    if os.fstat(descriptor).st_nlink:
        return descriptor
    # Its holder removed it, before it was locked.
    os.close(descriptor)
    return -1


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
        # A file system without locks lets all go on; what is written stays whole all the same.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
