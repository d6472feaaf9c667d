"""A sound database made of what is sound in a damaged one."""

import fcntl
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from data.files import remove_drafts, sync_folder
from optimizer.errors import StoreError
from optimizer.store.chain import follow_chain, link_evidence, read_evidence, set_evidence_aside
from optimizer.store.database import (
    create_tables,
    has_evidence,
    read_columns,
    read_result,
    read_resumptions,
    transaction,
    write_result,
    write_resumption,
    write_row,
)
from optimizer.store.files import DAMAGED, DATABASE, REBUILT, SIDES, list_folders
from optimizer.store.payload import sha256
from optimizer.store.rows import NOTHING, Columns, Digests

SHARED_FROM, SHARED_BYTES = 2**30 + 2, 510
"""Bytes of a SQLite file that are locked by whoever reads it."""


def rebuild(connection: sqlite3.Connection, path: Path, header: bytes, newest: int) -> None:
    """Replace a damaged database by one with the rows that are sound, and keep the damaged one.

    `connection` reads the damaged database, inside a transaction; its header is sound.
    Generations after `newest` are left out.

    Raises:
        sqlite3.Error: When the new file cannot be written; the old one is then as it was.
        OSError: As well.
    """
    new = path.with_name(REBUILT)
    new.unlink(missing_ok=True)
    create_tables(new, header)
    rows = follow_chain(connection, sha256(header)).rows[: newest + 1]
    with closing(sqlite3.connect(new, isolation_level=None)) as target:
        target.execute("PRAGMA synchronous=FULL")
        with transaction(target):
            for digests in rows:
                write_row(target, *_salvage_row(connection, digests))
            for payload in _salvaged_resumptions(connection):
                write_resumption(target, payload)
            _salvage_result(connection, target, rows[-1].chain if rows else sha256(header))
    for suffix in ("", "-wal"):
        old, kept = path.with_name(path.name + suffix), path.with_name(DAMAGED + suffix)
        # Not into one that a copy of the run by hard links shares.
        kept.unlink(missing_ok=True)
        if old.exists():
            shutil.copyfile(old, kept)
    # A log that outlived its file would be applied to the new one.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(new, path)
    sync_folder(path.parent)


def separate_links(directory: Path) -> bool:
    """Give a run files of its own where a copy by hard links shares them; whether it was so.

    Two owners of one file by two names would not meet: the lock is on a folder, and a log is
    found by the name of its database. Killed at any step, the rest is done by the next owner, who
    alone may do so, before anything opens the database.

    Raises:
        StoreError: When the file is in use by its other name.
        OSError: When it cannot be copied.
    """
    # The database last: its log goes with either file, the index of a log with none.
    paths = [directory / (DATABASE + side) for side in reversed(SIDES)]
    shared = [path for path in paths if path.exists() and path.stat().st_nlink > 1]
    if shared and is_in_use(directory / DATABASE):
        raise StoreError(
            f"run '{directory.name}' shares {DATABASE} with another folder by a hard link, and "
            "is in use there: wait for that run, or stop it first"
        )
    for path in shared:
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, directory / REBUILT)
            with open(directory / REBUILT, "rb+") as copy:
                os.fsync(copy.fileno())
            os.replace(directory / REBUILT, path)
        else:
            path.unlink()
    return bool(shared)


def is_in_use(path: Path) -> bool:
    """Whether another process has a database open whose log is written ahead.

    Source: SQLite, "File Locking And Concurrency": readers and writers of such a one share a lock
    on these bytes for as long as they have it open.
    """
    with open(path, "rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED_FROM)
        except BlockingIOError:
            return True
    return False


def remove_leftovers(directory: Path) -> None:
    """Remove what writers left that were killed; only the owner of a run may."""
    for name in (REBUILT, REBUILT + "-journal"):
        (directory / name).unlink(missing_ok=True)
    for folder in list_folders(directory):
        remove_drafts(folder)


def _salvage_row(connection: sqlite3.Connection, digests: Digests) -> tuple[Digests, Columns]:
    """A row with its population, or without when that cannot be read."""
    try:
        return digests, read_columns(connection, digests.number)
    except ValueError:
        return digests._replace(kept="summary"), NOTHING


def _salvage_result(
    connection: sqlite3.Connection, target: sqlite3.Connection, tail: bytes
) -> None:
    """Take over what can be read of result and evidence; of an end that is gone it is set aside."""
    with suppress(sqlite3.Error, ValueError):
        recorded = read_result(connection)
        if recorded is None:
            return
        payload, result_link = recorded
        evidence = read_evidence(connection, result_link) if has_evidence(connection) else []
        write_result(target, payload, result_link)
        link_evidence(target, evidence, result_link)
        if result_link != sha256(tail, payload):
            set_evidence_aside(target)


def _salvaged_resumptions(connection: sqlite3.Connection) -> list[bytes]:
    try:
        return [note for note in read_resumptions(connection) if isinstance(note, bytes)]
    except sqlite3.Error:
        return []
