"""Which file systems are shared between hosts, where a write-ahead log must not be used.

Source: SQLite's documentation, "Write-Ahead Logging": all processes must be on the same host,
because the index of the log is shared memory.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from optimizer.errors import StoreError

NETWORK_KINDS = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs2",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "smb3",
        "smbfs",
    ]
)
"""File system kinds, as the kernel names them, whose files several hosts may have open."""

MOUNTS = Path("/proc/self/mountinfo")


def network_kind(path: Path, mountinfo: str | None = None) -> str | None:
    """Kind of the network file system that a path lies on.

    Args:
        path: Of a file or a directory.
        mountinfo: Text of the kernel's mount table; read from the system when left out.

    Returns:
        Such as ``nfs4``; None on a local file system, and where there is no such table.
    """
    if mountinfo is None:
        if not MOUNTS.is_file():
            return None
        mountinfo = MOUNTS.read_text(errors="replace")
    place = PurePosixPath(path.resolve())
    # A later line hides an earlier one at the same place, hence "not shorter".
    deepest, kind = 0, ""
    for point, its_kind in _mounts(mountinfo):
        if place.is_relative_to(point) and len(point.parts) >= deepest:
            deepest, kind = len(point.parts), its_kind
    return kind if kind in NETWORK_KINDS else None


def refuse_network(path: Path, journal: str, mountinfo: str | None = None) -> None:
    """Refuse a write-ahead log on a network file system.

    Args:
        path: Directory that the database is to lie in.
        journal: ``"wal"`` or ``"delete"``; only the former is refused.
        mountinfo: As in `network_kind`.

    Raises:
        StoreError: Naming the file system and both ways out.
    """
    kind = network_kind(path, mountinfo) if journal == "wal" else None
    if kind is not None:
        raise StoreError(
            f"{path} lies on a network file system ({kind}), where a write-ahead log can be "
            "corrupted: put the runs on a local disk, or use journal='delete', which is slower"
        )


def _mounts(mountinfo: str) -> Iterator[tuple[PurePosixPath, str]]:
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        columns, kinds = fields.split(), rest.split()
        if len(columns) >= 5 and kinds:
            yield PurePosixPath(_unescaped(columns[4])), kinds[0]


def _unescaped(text: str) -> str:
    """Undo the kernel's octal escapes of blanks and backslashes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
