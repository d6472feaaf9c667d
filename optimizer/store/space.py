"""Room that a run takes, and the file system that it lies on."""

import errno
import resource
import shutil
from contextlib import suppress
from pathlib import Path
from typing import get_args

import psutil

from optimizer.config.values import Keep
from optimizer.errors import StoreError, WriteError
from optimizer.store.rows import measure_whole

KEEPS: tuple[Keep, ...] = get_args(Keep)

WHOLE_GENERATIONS = 2
"""So many of the newest always stay whole: one to go on from, one in case that it is damaged."""

ROW_BYTES = 1024
"""Digests and summary of a record, and the own bookkeeping of the table."""

PAGES_BYTES = 6144
"""Parts of pages of the database that a population leaves empty, or that a thinned row keeps."""

STATE_BYTES = 512
"""Bytes that a search remembers beside its individuals."""

LOG_BYTES = 12 * 2**20
"""Bytes of the write-ahead log and the run's other files, but for large populations."""

_NO_PLACE = (
    errno.EACCES,
    errno.EEXIST,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)
"""Errors of a place where nothing can be written, however much room there is."""

NETWORK_KINDS = frozenset((
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.davfs2",
    "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "orangefs", "smb3", "smbfs",
))  # fmt: skip
"""File system kinds, as the kernel names them, whose files several hosts may have open.

Source: SQLite's documentation, "Write-Ahead Logging": all processes must be on the same host,
because the index of the log is shared memory.
"""


def estimate_bytes(
    individuals: int,
    genes: int,
    objectives: int,
    generations: int,
    *,
    keep: Keep = "all",
    archive: int = 0,
) -> int:
    """Largest size in bytes of a run of P, G and O on disk, while it runs.

    A front may grow to the whole population, so `keep` bounds the size only as ``"last"``.
    `archive` is kept with each whole generation. At most about twice the populations' size, and
    `LOG_BYTES`.
    """
    rows = generations + 1
    whole_rows = min(rows, WHOLE_GENERATIONS + 1) if keep == "last" else rows
    population = measure_whole(individuals + archive, genes, objectives) + STATE_BYTES
    populations = whole_rows * (population + PAGES_BYTES)
    # A page links to the next; and the log may hold two populations more than intended.
    return rows * ROW_BYTES + populations * 101 // 100 + LOG_BYTES + 2 * population


def measure_free_bytes(path: Path) -> int:
    """Bytes that are free where a path lies, or will lie once its directories are made."""
    folder = path.absolute()
    return shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free


def require_space(path: Path, needed: int) -> None:
    """Refuse to start what cannot fit."""
    free = measure_free_bytes(path)
    if needed > free:
        raise StoreError(
            f"{path}: the run needs up to {needed:,} bytes and {free:,} are free: free some, use "
            "another place (--runs), record less (--keep last), or search less"
        )


def build_write_error(error: Exception, path: Path, needed_bytes: int) -> StoreError:
    """The error of a failed write: its cause, or needed and free space."""
    if isinstance(error, OSError) and error.errno in _NO_PLACE:
        return StoreError(
            f"{path} cannot be written ({error.strerror}): let --runs name a folder that can"
        )
    free, (most, _) = measure_free_bytes(path), resource.getrlimit(resource.RLIMIT_FSIZE)
    code = error.errno if isinstance(error, OSError) else None
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if free < needed_bytes or code == errno.ENOSPC or name == "SQLITE_FULL":
        why = f"needed {needed_bytes:,} bytes, {free:,} are free there"
    elif code == errno.EDQUOT:
        why = "your quota of that disk is used up"
    elif most != resource.RLIM_INFINITY:
        why = f"a file of this process may have {most:,} bytes at most: raise ulimit -f"
    else:
        why = f"space is not the reason, {free:,} bytes are free there: look at the system's log"
    return WriteError(f"{path} could not be written ({name}: {error}): {why}")


def find_network_kind(path: Path) -> str | None:
    """Kind of the network file system that a path lies on; None on a local one."""
    resolved, deepest, kind = path.resolve(), 0, ""
    mounts = []
    with suppress(OSError):
        mounts = psutil.disk_partitions(all=True)
    for mount in mounts:
        point = Path(mount.mountpoint)
        # A later one hides an earlier one at the same place, hence "not shorter".
        if resolved.is_relative_to(point) and len(point.parts) >= deepest:
            deepest, kind = len(point.parts), mount.fstype
    return kind if kind in NETWORK_KINDS else None
