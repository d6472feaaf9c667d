"""Limits and settings of a process that libraries fail on: which one, and what to do about it."""

import errno
import os
import resource
import traceback
from pathlib import Path

from data.errors import NO_FOLDER

THREADS = (
    "can't start new thread",
    "failed to launch worker thread",
    "resource temporarily unavailable",
)
MEMORY = ("failed to map segment", "cannot allocate memory", "std::bad_alloc")
UNLOADED = "load shared object"
"""Messages of libraries, in small letters; the last for want of memory, or of a library."""

SETTINGS = {
    "numba": ("NUMBA_",),
    "llvmlite": ("LLVMLITE_",),
    "numpy": ("NPY_", "SOURCE_DATE_EPOCH"),
    "pyarrow": ("ARROW_",),
}
"""How names of the variables begin that each library reads when it is imported."""


def explain_limit(error: BaseException) -> str | None:
    """Words for an error of a limit of the system or of a library's setting, None for any other.

    Libraries name no limit: numpy, pyarrow and numba each have another exception and other words.
    """
    text = str(error).lower()
    number = error.errno if isinstance(error, OSError) else None
    memory = _name_limits(resource.RLIMIT_AS, "v")
    is_short = isinstance(error, MemoryError) or number == errno.ENOMEM
    is_short = is_short or (bool(memory) and UNLOADED in text)
    if is_short or any(words in text for words in MEMORY):
        return (
            f"there is not enough memory for this{memory}, ask for less "
            f"({str(error) or 'no size given'})"
        )
    if number == errno.EAGAIN or any(words in text for words in THREADS):
        processes = _name_limits(resource.RLIMIT_NPROC, "u")
        return (
            "the system starts no further thread or process for this user"
            f"{processes or memory or ': end others'} ({error})"
        )
    if number in (errno.EMFILE, errno.ENFILE):
        files = _name_limits(resource.RLIMIT_NOFILE, "n")
        return f"this process may have no further file open{files} ({error})"
    if NO_FOLDER in str(error):
        return f"temporary files have no room: free some, or let TMPDIR name a folder ({error})"
    if number == errno.ENOENT and not _has_folder():
        return "the folder in which this was started is gone: change into one that is there"
    return _explain_setting(error)


def _has_folder() -> bool:
    """True if this process's working folder exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def _explain_setting(error: BaseException) -> str | None:
    """Words for a setting of the environment that a library does not take."""
    if isinstance(error, ImportError | OSError):
        # The library is not whole, whatever its settings.
        return None
    named = [name for name in os.environ if name in str(error)]
    for frame in traceback.extract_tb(error.__traceback__):
        library = next((part for part in SETTINGS if part in Path(frame.filename).parts), None)
        if library is None:
            continue
        if frame.name == "<module>":
            named += [name for name in os.environ if name.startswith(SETTINGS[library])]
        if names := [name for name in dict.fromkeys(named) if name.startswith(SETTINGS[library])]:
            why = str(error).partition("\n")[0]
            return f"{library} cannot be used with {', '.join(names)} as set: unset it ({why})"
    return None


def _name_limits(limit: int, flag: str) -> str:
    """The limit of a shell, where there is one, and what raises it."""
    most, _ = resource.getrlimit(limit)
    if most == resource.RLIM_INFINITY:
        return ""
    size = f"{most / 1e6:,.0f} MB" if flag == "v" else f"{most:,}"
    return f" (ulimit -{flag} allows {size}: raise it)"
