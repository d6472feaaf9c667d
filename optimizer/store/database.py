"""The file of a run: its tables, how it is opened, and SQLite's errors in words.

One SQLite database per run, so that two runs never wait for each other. Each write is one
``BEGIN IMMEDIATE`` transaction with ``synchronous=FULL``: once it has returned, it is on disk.
Source: SQLite's documentation, "Write-Ahead Logging" and "PRAGMA synchronous".
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from optimizer.errors import StoreError
from optimizer.store.payload import sha256
from optimizer.store.rows import KEPT, Columns, Digests
from optimizer.store.space import LOG_BYTES, build_write_error, find_network_kind

SCHEMA_VERSION = 3
"""Goes up whenever an older program could not read what a newer one writes."""

WITHOUT_EVIDENCE = 2
"""Schema of runs that were made before they could be judged; still read, and gone on with."""

APPLICATION_ID = 0x47424F31
"""Marks a SQLite file as a run of this program."""

BUSY_SECONDS = 10.0
"""Seconds that a transaction waits for a reader or for another writer."""

LOG_INDEX_BYTES = 32_768
"""Bytes that opening a write-ahead log needs on disk, for readers and writers alike."""

_DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR")

# Digests stand before the columns: reading them then never walks through a population.
_TABLES = """
CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 0), payload BLOB, sha256 BLOB);
CREATE TABLE generation (
  number INTEGER PRIMARY KEY, individuals INTEGER, genes INTEGER, objective_count INTEGER,
  front INTEGER, kept TEXT, summary BLOB, whole_sha BLOB, front_sha BLOB, chain BLOB,
  genomes BLOB, objectives BLOB, violations BLOB, failures BLOB, lineage BLOB, state BLOB
);
CREATE TABLE resumption (id INTEGER PRIMARY KEY, payload BLOB);
CREATE TABLE result (id INTEGER PRIMARY KEY CHECK (id = 0), payload BLOB, sha256 BLOB, chain BLOB);
"""
_EVIDENCE = "CREATE TABLE evidence (id INTEGER PRIMARY KEY, name TEXT, payload BLOB, chain BLOB);"
_DIGESTS = (
    "number, individuals, genes, objective_count, front, kept, summary, whole_sha, front_sha, chain"
)
_COLUMNS = "genomes, objectives, violations, failures, lineage, state"
_MAX_NUMBER = 2**63 - 1
_KINDS = (int, int, int, int, int, str, bytes, bytes, bytes, bytes)


def create_tables(path: Path, header: bytes) -> None:
    """Make a database, which must not exist, with a header of JSON, in one plain file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} {_EVIDENCE} PRAGMA application_id={APPLICATION_ID};"
            f"PRAGMA user_version={SCHEMA_VERSION};"
        )
        connection.execute("INSERT INTO header VALUES (0, ?, ?)", (header, sha256(header)))
        connection.execute("COMMIT")


def open_writer(path: Path) -> sqlite3.Connection:
    """Open for writing, by any thread, but only by one at a time.

    A write-ahead log can be corrupted on a network file system: there a rollback journal takes
    its place, which is slower.

    Raises:
        StoreError: When it is not a run of this version, or cannot be written.
    """
    with translate_sqlite_errors(path):
        connection = _connect(path, "rw")
        try:
            _check_kind(connection, path)
            journal = "delete" if find_network_kind(path) else "wal"
            connection.execute(f"PRAGMA journal_mode={journal}")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
            # Fails at once where the file is read-only.
            with transaction(connection):
                if not has_evidence(connection):
                    connection.execute(_EVIDENCE)
                    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open for reading, also beside a writer or where no file can be written.

    Raises:
        StoreError: When it is not a run of this version.
    """
    with translate_sqlite_errors(path):
        try:
            return _open_reader(path, "ro")
        except sqlite3.OperationalError:
            journal, log = (path.with_name(path.name + end) for end in ("-journal", "-wal"))
            if journal.exists():
                _roll_back(path)
                return _open_reader(path, "ro")
            if log.exists() and log.stat().st_size:
                raise
            # Without a journal or a log the file alone is the database; this is how a read-only
            # copy is opened, where the index of a log cannot be made.
            return _open_reader(path, "ro&immutable=1")


def has_evidence(connection: sqlite3.Connection) -> bool:
    """Whether the run has a place for evidence; those made before it did not."""
    return _read_version(connection) > WITHOUT_EVIDENCE


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


def read_header(connection: sqlite3.Connection, path: Path) -> bytes:
    """JSON of the header.

    Raises:
        StoreError: When it is not there or does not match its SHA-256.
    """
    with translate_sqlite_errors(path):
        row = connection.execute("SELECT payload, sha256 FROM header").fetchone()
    if row is None or not isinstance(row[0], bytes) or sha256(row[0]) != row[1]:
        raise StoreError(f"{path}: the header is damaged, so nothing in this run can be trusted")
    payload: bytes = row[0]
    return payload


def read_digests(
    connection: sqlite3.Connection, start: int = 0, end: int | None = None
) -> Iterator[Digests]:
    """Rows [start, end) without their populations, oldest first.

    Raises:
        sqlite3.DatabaseError: At the row from which on the file cannot be read.
        ValueError: At a row that is not one of ours.
    """
    query = f"SELECT {_DIGESTS} FROM generation WHERE number >= ? AND number < ? ORDER BY number"
    for row in connection.execute(query, (start, _MAX_NUMBER if end is None else end)):
        if not all(isinstance(value, kind) for value, kind in zip(row, _KINDS, strict=True)):
            raise ValueError(f"row {row[0]!r} holds values of the wrong kind")
        digests = Digests(*row)
        sizes = (digests.individuals, digests.genes, digests.objectives, digests.front)
        if digests.kept not in KEPT or min(sizes) < 0:
            raise ValueError(f"row {digests.number} holds values out of range")
        yield digests


def read_columns(connection: sqlite3.Connection, number: int) -> Columns:
    """Population of a row as bytes.

    Raises:
        ValueError: When it cannot be read, or is not there.
    """
    query = f"SELECT {_COLUMNS} FROM generation WHERE number = ?"
    try:
        row = connection.execute(query, (number,)).fetchone()
    except sqlite3.Error as error:
        raise ValueError(f"its population cannot be read ({error})") from None
    if row is None or not all(isinstance(value, bytes) for value in row):
        raise ValueError("its population is missing")
    return Columns(*row)


def write_row(connection: sqlite3.Connection, digests: Digests, columns: Columns) -> None:
    """Insert a generation."""
    values = (*digests, *columns)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO generation ({_DIGESTS}, {_COLUMNS}) VALUES ({marks})", values)


def shrink_row(connection: sqlite3.Connection, digests: Digests, columns: Columns) -> None:
    """Replace a population by what is kept of it."""
    connection.execute(
        "UPDATE generation SET kept = ?, genomes = ?, objectives = ?, violations = ?, failures = ?,"
        " lineage = ?, state = ? WHERE number = ?",
        (digests.kept, *columns, digests.number),
    )


def delete_newer_generations(connection: sqlite3.Connection, number: int) -> None:
    """Remove generations after `number`."""
    connection.execute("DELETE FROM generation WHERE number > ?", (number,))


def write_result(connection: sqlite3.Connection, payload: bytes, link: bytes) -> None:
    """Write the result, which follows from a row by `link`."""
    connection.execute("INSERT INTO result VALUES (0, ?, ?, ?)", (payload, sha256(payload), link))


def read_result(connection: sqlite3.Connection) -> tuple[bytes, bytes] | None:
    """JSON of the result and its link to the last generation; None before the end of a run.

    Raises:
        ValueError: When it does not match its SHA-256.
    """
    row = connection.execute("SELECT payload, sha256, chain FROM result").fetchone()
    if row is None:
        return None
    payload, digest, link = row
    is_ours = isinstance(payload, bytes) and isinstance(link, bytes)
    if not is_ours or sha256(payload) != digest:
        raise ValueError("the result does not match its SHA-256")
    return payload, link


def write_resumption(connection: sqlite3.Connection, payload: bytes) -> None:
    """Note that a run was taken up again."""
    connection.execute("INSERT INTO resumption (payload) VALUES (?)", (payload,))


def read_resumptions(connection: sqlite3.Connection) -> Sequence[object]:
    """JSON of each time that a run was taken up again, oldest first."""
    rows = connection.execute("SELECT payload FROM resumption ORDER BY id").fetchall()
    return tuple(payload for (payload,) in rows)


def count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    """Rows of all tables but header and generations, by table; none of them is read."""
    queries = {"result": "SELECT COUNT(*) FROM result"}
    # Ids are given in order, from 1 on.
    newest = "SELECT COALESCE(MAX(id), 0) FROM"
    for table in ("resumption", *(["evidence"] if has_evidence(connection) else [])):
        queries[table] = f"{newest} {table}"
    return {table: connection.execute(query).fetchone()[0] for table, query in queries.items()}


def check_integrity(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Problems that SQLite itself finds in the file."""
    try:
        lines = connection.execute("PRAGMA integrity_check(5)").fetchall()
    except sqlite3.DatabaseError as error:
        return (str(error),)
    return tuple(str(line) for (line,) in lines if line != "ok")


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


def _roll_back(path: Path) -> None:
    """Undo a transaction whose owner died in it, which only who may write can do."""
    with closing(_connect(path, "rw")) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _open_reader(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        # Lets SQLite read what is left of a file that was cut; a reader cannot write schemas.
        connection.execute("PRAGMA writable_schema=ON")
        _check_kind(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    version = _read_version(connection)
    if mark != APPLICATION_ID:
        raise StoreError(f"{path} is not the database of a run, or its first page is damaged")
    if version < WITHOUT_EVIDENCE:
        raise StoreError(f"{path} was made by an older version of this program: use that one")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was made by a newer version of this program (schema {version}, this one reads "
            f"up to {SCHEMA_VERSION}): update the program"
        )
    # A view or a trigger would show, or write, something else than what was recorded.
    foreign = _read_schema(connection) ^ _build_schema(version)
    if foreign:
        names = ", ".join(sorted({f"{kind} '{name}'" for kind, name, _ in foreign}))
        raise StoreError(
            f"{path} does not hold the tables of a run alone ({names} differs): it was changed by "
            "another program or is damaged, use a copy that was not"
        )


def _read_schema(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Kind, name and definition of everything that a database declares."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset((str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows)


def _read_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@cache
def _build_schema(version: int) -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES + (_EVIDENCE if version > WITHOUT_EVIDENCE else ""))
        return _read_schema(connection)


def _can_open() -> bool:
    """Whether this process may open one more file; SQLite does not tell."""
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
