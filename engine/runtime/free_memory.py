"""How much memory a process may still take on this host."""

import ctypes
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")

NAMES = ("memory.max", "memory.current", "inactive_file")
OLD_NAMES = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
"""A control group's limit, what of it is taken, and how much of that is files kept at hand."""


def free_host_bytes(groups: Path = GROUPS, own: Path = OWN_GROUPS) -> int:
    """Bytes that can be taken on this host without anything being swapped out.

    `groups` is where control groups are shown, `own` lists those of this process; they
    bound it, and so do limits of the process itself.
    """
    _give_back()
    bounds = [*_left_in_groups(groups, own), *_left_to_process()]
    return min([psutil.virtual_memory().available, *bounds])


def _give_back() -> None:
    """Give the system freed memory that the C library keeps, which counts as taken until then."""
    with suppress(AttributeError):
        # Only the GNU library has it, and only there is it needed.
        ctypes.CDLL(None).malloc_trim(0)


def _left_to_process() -> Iterator[int]:
    """Bytes that ``ulimit -d`` and ``-v`` leave, where they are set and the system knows them."""
    taken = psutil.Process().memory_info()
    for limit, used in (("RLIMIT_DATA", "data"), ("RLIMIT_AS", "vms")):
        most = resource.getrlimit(getattr(resource, limit))[0]
        if most != resource.RLIM_INFINITY and hasattr(taken, used):
            yield max(most - getattr(taken, used), 0)


def _left_in_groups(groups: Path, own: Path) -> Iterator[int]:
    """Bytes that each memory group with a limit around this process leaves."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root, names = (groups / "memory", OLD_NAMES) if kinds else (groups, NAMES)
        inmost = root / path.lstrip("/")
        for folder in (inmost, *inmost.parents):
            # A group without a limit says "max"; a hidden one has no files.
            with suppress(OSError, ValueError):
                if folder.is_relative_to(root):
                    yield _read_free_bytes(folder, *names)


def _read_free_bytes(folder: Path, limit: str, taken: str, kept: str) -> int:
    most = int((folder / limit).read_text())
    counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return max(most - int((folder / taken).read_text()) + int(counts.get(kept, 0)), 0)
