"""What was found out about a finished run, row after row: null searches, folds, judgements.

Rows are only ever added. Each is chained to the one before and the first to the run's result, so
that evidence is of this result and of no other, and an edited row is noticed.
"""

import sqlite3

from optimizer.runs.payload import sha256


def append_evidence(connection: sqlite3.Connection, name: str, payload: bytes) -> None:
    """Add a row of JSON, inside the caller's transaction.

    Raises:
        sqlite3.IntegrityError: When the run has no result that it could follow.
    """
    query = "SELECT chain FROM evidence ORDER BY id DESC LIMIT 1"
    row = connection.execute(query).fetchone()
    row = row or connection.execute("SELECT chain FROM result").fetchone()
    if row is None:
        raise sqlite3.IntegrityError("evidence without a result")
    link = _linked(row[0], name, payload)
    connection.execute(
        "INSERT INTO evidence (name, payload, chain) VALUES (?, ?, ?)", (name, payload, link)
    )


def read_evidence(connection: sqlite3.Connection, genesis: bytes) -> list[tuple[str, bytes]]:
    """Names and JSON of all rows, oldest first.

    Args:
        connection: Of a run.
        genesis: Link of the run's result, which the first row follows.

    Raises:
        ValueError: At the first row that does not follow.
    """
    found, tail = [], genesis
    rows = connection.execute("SELECT id, name, payload, chain FROM evidence ORDER BY id")
    for place, (number, name, payload, chain) in enumerate(rows, 1):
        is_ours = number == place and isinstance(name, str) and isinstance(payload, bytes)
        if not is_ours or chain != _linked(tail, name, payload):
            raise ValueError(f"row {place} of the evidence does not follow: it was changed")
        found.append((name, payload))
        tail = chain
    return found


def _linked(before: bytes, name: str, payload: bytes) -> bytes:
    return sha256(before, name.encode(), b"\0", payload)
