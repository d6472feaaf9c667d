"""Files written whole: a reader finds the old content or the new, never a part."""

import os
import stat
import sys
from pathlib import Path

from data.errors import describe_unwritten
from data.files import is_input, open_ordinary, replace_whole
from data.providers.kinds import HEAD_BYTES, PARQUET
from optimizer.errors import OptimizerError

MARK_LETTERS = 9
"""Letters that one kind of result begins with."""

OF_A_RUN = b" of run "
"""In the comment that programs of all platforms begin with."""


def write_output(path: Path, content: str | bytes) -> None:
    """Write a result into the file that a person named, completely or not at all.

    It takes the place of an earlier result of its kind, and of an empty file.

    Raises:
        OptimizerError: When it cannot be written, or the file was read here or holds anything else,
            such as bars, a strategy or the database of a run; it is left as it was.
    """
    if is_input(path):
        raise OptimizerError(f"{path} cannot be written: it was read here, name another file")
    payload = content.encode() if isinstance(content, str) else content
    if not _may_replace(path, payload):
        raise OptimizerError(
            f"{path} cannot be written: its file is no earlier result of this kind; name "
            "another file, or remove it"
        )
    write_whole(path, payload)


def check_outputs(*paths: Path | None) -> None:
    """Check that no two results of a command go to one file.

    Raises:
        OptimizerError: Naming it.
    """
    files = [os.path.realpath(path) for path in paths if path is not None and not is_stream(path)]
    for file in files:
        if files.count(file) > 1:
            raise OptimizerError(f"{file} would be written twice: name a file for each")


def _may_replace(path: Path, payload: bytes) -> bool:
    """True if nothing is there, or a file that begins as the new result does."""
    if is_stream(path):
        return True
    try:
        with open_ordinary(path) as file:
            before = file.read(HEAD_BYTES)
    except OSError:
        # Writing names the fault.
        return True
    if not before:
        return True
    is_alike = _read_mark(before) == _read_mark(payload[:HEAD_BYTES])
    return is_alike and (before[:4] != PARQUET or _same_columns(path, payload))


def _read_mark(head: bytes) -> bytes:
    """Beginning of a file by which results of one kind are known, whatever run they are of."""
    if head.startswith((b"#", b"//")) and OF_A_RUN in head:
        return OF_A_RUN
    return b"".join(head.split())[:MARK_LETTERS]


def _same_columns(path: Path, payload: bytes) -> bool:
    """True if two Parquet files begin with columns of the same name."""
    # Only here: no other result needs it.
    from pyarrow import ArrowException, BufferReader
    from pyarrow.parquet import read_schema

    try:
        before, after = read_schema(path), read_schema(BufferReader(payload))
    except ArrowException:
        return False
    return bool(before.names[:1] == after.names[:1])


def write_whole(path: Path, content: str | bytes, *, may_follow: bool = True) -> None:
    """Write a file completely or not at all.

    A device, a pipe or this program's own output, such as ``/dev/stdout``, cannot be replaced: it
    is written to as it is. A link stays one, and the file that it names is replaced.

    Args:
        path: Target; an existing file is replaced.
        content: Its new content; text is written as UTF-8.
        may_follow: Where False, what has the name is replaced, be it a link or a pipe.

    Raises:
        OptimizerError: When it cannot be written; a file that was there is left as it was.
    """
    if not path.name or os.path.isdir(path):
        raise OptimizerError(f"{path} cannot be written: it is a folder, name a file")
    payload = content.encode() if isinstance(content, str) else content
    try:
        if may_follow and is_stream(path):
            _write_device(path, payload)
            return
        target = Path(os.path.realpath(path)) if may_follow else path
        replace_whole(target, payload)
    except OSError as error:
        raise OptimizerError(describe_unwritten(path, error)) from error


def is_stream(path: Path) -> bool:
    """True if a path names a device, a pipe or our own output, which no file can replace."""
    try:
        status = path.stat()
    except OSError:
        return False
    return not stat.S_ISREG(status.st_mode) or _is_output(status)


def _write_device(path: Path, payload: bytes) -> None:
    """Write into a device or a pipe, at the place where our own output stands if it is that."""
    sys.stdout.flush()
    with open(os.dup(1) if _is_output(path.stat()) else path, "wb") as file:
        file.write(payload)


def _is_output(found: os.stat_result) -> bool:
    try:
        return os.path.samestat(found, os.fstat(1))
    except OSError:
        return False
