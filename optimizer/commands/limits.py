"""Limits that a system sets to a process: which one an error is about, and what raises it."""

import errno
import resource

THREADS = (
    "can't start new thread",
    "failed to launch worker thread",
    "resource temporarily unavailable",
)
MEMORY = ("failed to map segment", "cannot allocate memory", "std::bad_alloc")
"""What libraries say, in small letters."""


def explain_limit(error: BaseException) -> str | None:
    """Words for an error of a limit of the system, None for any other.

    Libraries name no limit: numpy, pyarrow and numba each have another exception and other words.
    """
    text = str(error).lower()
    number = error.errno if isinstance(error, OSError) else None
    is_short = isinstance(error, MemoryError) or number == errno.ENOMEM
    if is_short or any(words in text for words in MEMORY):
        return (
            f"there is not enough memory for this{_name_limits(resource.RLIMIT_AS, 'v')}, ask for "
            f"less ({str(error) or 'no size given'})"
        )
    if number == errno.EAGAIN or any(words in text for words in THREADS):
        processes = _name_limits(resource.RLIMIT_NPROC, "u")
        memory = _name_limits(resource.RLIMIT_AS, "v")
        return (
            "the system starts no further thread or process for this user"
            f"{processes or memory or ': end others'} ({error})"
        )
    return None


def _name_limits(limit: int, flag: str) -> str:
    """The limit of a shell, where there is one, and what raises it."""
    most, _ = resource.getrlimit(limit)
    if most == resource.RLIM_INFINITY:
        return ""
    size = f"{most / 1e6:,.0f} MB" if flag == "v" else f"{most:,}"
    return f" (ulimit -{flag} allows {size}: raise it)"
