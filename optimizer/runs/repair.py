"""A sound database made of what is sound in a damaged one."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from data.files import sync_folder
from optimizer.runs.chain import follow_chain
from optimizer.runs.database import (
    create_tables,
    read_columns,
    read_resumptions,
    transaction,
    write_resumption,
    write_row,
)
from optimizer.runs.files import DAMAGED, REBUILT
from optimizer.runs.payload import sha256
from optimizer.runs.rows import NOTHING, Columns, Digests


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
                write_row(target, *_salvaged(connection, digests))
            for payload in _salvaged_resumptions(connection):
                write_resumption(target, payload)
    for suffix in ("", "-wal"):
        old = path.with_name(path.name + suffix)
        if old.exists():
            shutil.copyfile(old, path.with_name(DAMAGED + suffix))
    # A log that outlived its file would be applied to the new one.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(new, path)
    sync_folder(path.parent)


def remove_leftovers(directory: Path) -> None:
    """Remove what an interrupted `rebuild` left; only the owner of a run may."""
    for name in (REBUILT, REBUILT + "-journal"):
        (directory / name).unlink(missing_ok=True)


def _salvaged(connection: sqlite3.Connection, digests: Digests) -> tuple[Digests, Columns]:
    """A row with its population, or without when that cannot be read."""
    try:
        return digests, read_columns(connection, digests.number)
    except ValueError:
        return digests._replace(kept="summary"), NOTHING


def _salvaged_resumptions(connection: sqlite3.Connection) -> list[bytes]:
    try:
        return [note for note in read_resumptions(connection) if isinstance(note, bytes)]
    except sqlite3.Error:
        return []
