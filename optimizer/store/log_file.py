"""The file of a run's log: how it is made and opened, the room it takes, and errors in words.

One SQLite database per run, so that two runs never wait for each other. Each write is one
``BEGIN IMMEDIATE`` transaction with ``synchronous=FULL``: once it has returned, it is on disk.
Source: SQLite's documentation, "Write-Ahead Logging" and "PRAGMA synchronous".
"""

import errno
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
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

SCHEMA_VERSION = 4
"""Goes up whenever an older program could not read what a newer one writes."""

APPLICATION_ID = 0x47424F31
"""Marks a SQLite file as a run of this program."""

BUSY_SECONDS = 10.0
"""Seconds that a transaction waits for a reader or for another writer."""

LOG_INDEX_BYTES = 32_768
"""Bytes that opening a write-ahead log needs on disk, for readers and writers alike."""

# The body stands last: reading the rest never walks through a population.
_TABLE = """
CREATE TABLE record (
  id INTEGER PRIMARY KEY, kind TEXT, name TEXT, about TEXT, payload BLOB, whole BLOB, chain BLOB,
  body BLOB
);
"""
_DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR")


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


@contextmanager
def creating(path: Path) -> Iterator[sqlite3.Connection]:
    """Make the file of a run, which must not exist, with the records of the context."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLE} PRAGMA application_id={APPLICATION_ID};"
            f"PRAGMA user_version={SCHEMA_VERSION};"
        )
        yield connection
        connection.execute("COMMIT")


def open_writer(path: Path) -> sqlite3.Connection:
    """Open for writing, by any thread, but only by one at a time.

    A write-ahead log needs memory that all processes share, which a network file system lacks:
    a rollback journal serves there. StoreError when it is not a run of this version, or cannot be
    written.
    """
    journal = "wal" if find_network_kind(path) is None else "delete"
    with translate_sqlite_errors(path):
        connection = _connect(path, "rw")
        try:
            _check_kind(connection, path)
            connection.execute(f"PRAGMA journal_mode={journal}")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
            # Fails at once where the file is read-only.
            with transaction(connection):
                pass
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open for reading, also beside a writer or where no file can be written.

    StoreError when it is not a run of this version.
    """
    with translate_sqlite_errors(path):
        try:
            return _open_reader(path, "ro")
        except sqlite3.OperationalError:
            journal, log = (path.with_name(path.name + end) for end in ("-journal", "-wal"))
            if journal.exists():
                # Undoes a transaction whose owner died in it; only a writer can.
                with closing(_connect(path, "rw")) as connection:
                    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return _open_reader(path, "ro")
            if log.exists() and log.stat().st_size:
                raise
            # Without a journal or a log the file alone is the database; this is how a read-only
            # copy is opened, where the index of a log cannot be made.
            return _open_reader(path, "ro&immutable=1")


def measure_log(path: Path) -> int:
    """Size of the write-ahead log of a database, 0 without one."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def make_plain(connection: sqlite3.Connection) -> None:
    """Fold the write-ahead log into the file, unless it is being read.

    A run that is closed is then one plain file, which any copy carries whole.
    """
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise


def check_integrity(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Problems that SQLite itself finds in the file."""
    try:
        lines = connection.execute("PRAGMA integrity_check(5)").fetchall()
    except sqlite3.DatabaseError as error:
        return (str(error),)
    return tuple(str(line) for (line,) in lines if line != "ok")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of the body, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line with the place and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        if str(getattr(error, "sqlite_errorname", "")).startswith(_DISK_ERRORS):
            raise build_write_error(error, path, LOG_INDEX_BYTES) from None
        raise StoreError(f"{path}: {error}{_advise(error)}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _open_reader(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        # Lets SQLite read the rest of a cut file; a reader cannot write schemas.
        connection.execute("PRAGMA writable_schema=ON")
        _check_kind(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    mark, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )
    if mark != APPLICATION_ID:
        raise StoreError(f"{path} is not the database of a run, or its first page is damaged")
    if version < SCHEMA_VERSION:
        raise StoreError(f"{path} was made by version 0.2.0 or before: open it with that version")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was made by a newer version of this program (schema {version}, this one reads "
            f"{SCHEMA_VERSION}): update the program"
        )
    # A view or a trigger would show, or write, something else than the records.
    foreign = _read_schema(connection) ^ _build_schema()
    if foreign:
        names = ", ".join(sorted({f"{kind} '{name}'" for kind, name, _ in foreign}))
        raise StoreError(
            f"{path} does not hold the table of a run alone ({names} differs): it was changed by "
            "another program or is damaged, use a copy that was not"
        )


def _read_schema(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Kind, name and definition of everything that a database declares."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset((str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows)


@cache
def _build_schema() -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLE)
        return _read_schema(connection)


def _can_open() -> bool:
    """True if this process may open one more file; SQLite does not tell."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True


def _advise(error: sqlite3.Error) -> str:
    text = str(error)
    if "unable to open" in text and not _can_open():
        return ": this process may have no further file open, raise ulimit -n"
    if "unable to open" in text or "readonly" in text:
        return ": copy the run's whole directory to a place that can be written"
    if "no such table" in text or "no such column" in text:
        return ": the file is cut short or damaged"
    if isinstance(error, sqlite3.OperationalError) and "locked" in text:
        return ": another program has held it for too long"
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return ": the file is damaged"
    return ""
