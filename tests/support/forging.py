"""Runs that somebody changed who can compute every digest anew."""

import json
import sqlite3
from contextlib import closing, contextmanager

from optimizer.store.database import read_digests
from optimizer.store.files import DATABASE
from optimizer.store.payload import encode, sha256


def forge(run, table, change, *, name="%", number=None):
    """Change rows of a closed run, and make all digests anew.

    Args:
        run: Its folder.
        table: ``header``, ``result``, ``evidence`` or ``generation``, whose summary is changed.
        change: Is given the JSON of a row, and changes it.
        name: Of rows of evidence, as SQL's LIKE takes it.
        number: Of the only generation to change.
    """
    column, key = ("summary", "number") if table == "generation" else ("payload", "id")
    query = f"SELECT {key}, {column} FROM {table}"
    with _open_resealing(run) as connection:
        if table == "evidence":
            rows = connection.execute(f"{query} WHERE name LIKE ?", (name,)).fetchall()
        else:
            rows = connection.execute(query).fetchall()
        for row_id, payload in rows:
            if number in (None, row_id):
                told = json.loads(payload)
                change(told)
                update = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
                connection.execute(update, (encode(told, what=table), row_id))


def drop_evidence(run, name):
    """Leave out rows of evidence of that name, as SQL's LIKE takes it."""
    with _open_resealing(run) as connection:
        connection.execute("DELETE FROM evidence WHERE name LIKE ?", (name,))


@contextmanager
def _open_resealing(run):
    """Change the database of a run, and make all digests anew."""
    with closing(sqlite3.connect(run / DATABASE, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        _reseal(connection)
        connection.execute("COMMIT")


def _reseal(connection):
    """Make all digests anew, and number rows of evidence without a gap."""
    (header,) = connection.execute("SELECT payload FROM header").fetchone()
    tail = sha256(header)
    connection.execute("UPDATE header SET sha256 = ?", (tail,))
    for digests in list(read_digests(connection)):
        tail = digests.compute_chain_digest(tail)
        update = "UPDATE generation SET chain = ? WHERE number = ?"
        connection.execute(update, (tail, digests.number))
    for (payload,) in connection.execute("SELECT payload FROM result").fetchall():
        tail = sha256(tail, payload)
        connection.execute("UPDATE result SET sha256 = ?, chain = ?", (sha256(payload), tail))
    rows = connection.execute("SELECT name, payload FROM evidence ORDER BY id").fetchall()
    connection.execute("DELETE FROM evidence")
    for number, (name, payload) in enumerate(rows, 1):
        tail = sha256(tail, name.encode(), b"\0", payload)
        connection.execute(
            "INSERT INTO evidence VALUES (?, ?, ?, ?)", (number, name, payload, tail)
        )
