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
    """The duration of a bar is unknown, or a wanted one cannot be made."""


class NoDurationError(TimeframeError):
    """Steps between bars do not show how long a bar lasts."""


class LimitError(DataError):
    """The source is larger than ``--max-bytes`` allows."""


class FetchError(DataError):
    """A vendor or exchange does not answer, or not as it should, even after retries."""

    exit_code = 3


class RewrittenError(FetchError):
    """A vendor's bars differ from those fetched before; nothing was merged."""


class BarsError(DataError):
    """Rows break the law of bars."""


class CacheError(DataError):
    """The cache of fetched bars cannot be read or written."""

    exit_code = 4


class WindowError(DataError):
    """A range of bars is empty or reversed."""


def describe_unwritten(name: object, error: OSError) -> str:
    """Error of a file that cannot be written, with its cause and a known remedy.

    >>> describe_unwritten("x/a.csv", FileNotFoundError(2, "No such file or directory"))
    'x/a.csv cannot be written: No such file or directory; make its folder first'
    """
    todo = (TODO | FULL_DISK).get(error.errno or 0)
    return f"{name} cannot be written: {error.strerror or error}" + (f"; {todo}" if todo else "")


def is_full_disk(error: BaseException | None) -> bool:
    """True if a full disk is the error, or the cause that it names."""
    while error is not None:
        if isinstance(error, OSError) and (error.errno in FULL_DISK or NO_FOLDER in str(error)):
            return True
        error = error.__cause__
    return False


def refuse_size(where: str, size: str, max_bytes: int) -> LimitError:
    """The error for a source that would take `size`, in words."""
    return LimitError(f"{where}: {size}, above the cap of {max_bytes}; --max-bytes raises it")


def count_nouns(count: int, noun: str) -> str:
    """A count with its noun, such as ``1 bar`` or ``1,234 bars``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shorten(text: str, most: int) -> str:
    """The begin of a text that is too long for a message, safe for a terminal."""
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= most else text[:most] + "..."


def list_some(shown: Iterable[str], count: int) -> str:
    """The first of several texts for a message, and how many more there are of `count`.

    >>> list_some(["a", "b"], 5), list_some(["a", "b"], 2)
    ('a, b and 3 more', 'a, b')
    """
    texts = list(shown)
    return ", ".join(texts) + (f" and {count - len(texts)} more" if count > len(texts) else "")


def near_match(name: str, known: Iterable[str], *, only_slips: bool = False) -> str:
    """The hint that ends an error about an unknown name; empty when no known name is near.

    A near name differs by one slip of the hand, a longer one by one in four letters. Without
    `only_slips` it may also begin or go on so. Case does not count.

    >>> near_match("utc+1", ["UTC", "Europe/Berlin"])
    "; did you mean 'UTC'?"
    >>> near_match("--pairs", ["--parts"])
    ''
    """
    as_known = {known_name.lower(): known_name for known_name in known}
    for other in get_close_matches(name.lower(), as_known, n=5):
        short, long = sorted((name.lower().strip("-"), other.strip("-")), key=len)
        goes_on = not only_slips and long.startswith(short) and len(long) <= 2 * len(short)
        if goes_on or (len(short) > 1 and _count_slips(short, long) <= max(1, len(long) // 4)):
            return f"; did you mean '{as_known[other]}'?"
    return ""


def _count_slips(a: str, b: str) -> int:
    """Letters changed, left out, added or swapped: the restricted Damerau-Levenshtein distance."""
    before, row = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a):
        above, last = row, before
        before, row = row, [i + 1]
        for j, other in enumerate(b):
            least = min(above[j] + (letter != other), above[j + 1] + 1, row[j] + 1)
            is_swapped = i and j and (a[i - 1], letter) == (other, b[j - 1])
            row.append(min(least, last[j - 1] + 1) if is_swapped else least)
    return row[-1]
