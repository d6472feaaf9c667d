"""Errors of reading bars; the exit code is 2 unless a class gives another."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches

ELSEWHERE = "name another place"
FREE = f"free some space, or {ELSEWHERE}"
TODO = {
    errno.ENOENT: "make its folder first",
    errno.EROFS: ELSEWHERE,
    errno.EACCES: ELSEWHERE,
    errno.EPERM: ELSEWHERE,
}
"""Remedies where a file cannot be written, by the number of the error."""

NO_FOLDER = "No usable temporary directory"
"""Python's message where no file can be written for a while, as on a full disk."""

FULL_DISK = {
    errno.ENOSPC: FREE,
    errno.EDQUOT: FREE,
    errno.EFBIG: f"raise ulimit -f, or {ELSEWHERE}",
    errno.EIO: f"look at the system's log, or {ELSEWHERE}",
}
"""Remedies where a disk takes no more: such an error, or one that it causes, is exit code 4."""


class DataError(Exception):
    """Bars cannot be had; the message names the fault, its place and the remedy."""

    exit_code = 2


class SourceError(DataError):
    """The spec names no known source, or the file is none of its kind."""


class TableError(DataError):
    """Columns or times cannot be recognised without guessing."""


class NoTimeError(TableError):
    """No column is named as the time of bars."""


class TimeframeError(DataError):
    """The duration of a bar is unknown, or the one asked for cannot be made."""


class NoDurationError(TimeframeError):
    """Steps between bars do not show how long a bar lasts."""


class LimitError(DataError):
    """The source is larger than ``--max-bytes`` allows."""


class FetchError(DataError):
    """A vendor or exchange does not answer, or not as it should, even after retries."""

    exit_code = 3


class RewrittenError(FetchError):
    """A vendor's bars are not those that were fetched before; nothing was merged."""


class BarsError(DataError):
    """Rows break the law of bars."""


class CacheError(DataError):
    """The cache of fetched bars cannot be read or written."""

    exit_code = 4


class WindowError(DataError):
    """A range of bars is empty or reversed."""


def describe_unwritten(name: object, error: OSError) -> str:
    """Say that a file cannot be written, why, and where it is known what to do about it.

    >>> describe_unwritten("x/a.csv", FileNotFoundError(2, "No such file or directory"))
    'x/a.csv cannot be written: No such file or directory; make its folder first'
    """
    todo = (TODO | FULL_DISK).get(error.errno or 0)
    return f"{name} cannot be written: {error.strerror or error}" + (f"; {todo}" if todo else "")


def is_full_disk(error: BaseException | None) -> bool:
    """Whether a disk that takes no more is the error, or the cause that one names."""
    while error is not None:
        if isinstance(error, OSError) and (error.errno in FULL_DISK or NO_FOLDER in str(error)):
            return True
        error = error.__cause__
    return False


def list_some(shown: Iterable[str], count: int) -> str:
    """The first of several texts for a message, and how many more there are of `count`.

    >>> list_some(["a", "b"], 5), list_some(["a", "b"], 2)
    ('a, b and 3 more', 'a, b')
    """
    texts = list(shown)
    return ", ".join(texts) + (f" and {count - len(texts)} more" if count > len(texts) else "")


def near_match(name: str, known: Iterable[str]) -> str:
    """The hint that ends an error about an unknown name; empty when no known name is near.

    Case counts for nothing.

    >>> near_match("utc+1", ["UTC", "Europe/Berlin"])
    "; did you mean 'UTC'?"
    """
    as_known = {known_name.lower(): known_name for known_name in known}
    near = get_close_matches(name.lower(), as_known, n=1)
    return f"; did you mean '{as_known[near[0]]}'?" if near else ""
