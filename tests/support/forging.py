"""Runs that were changed, with every digest computed anew."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from optimizer.store.files import DATABASE
from optimizer.store.payload import encode
from tests.support.hostile import changing


def forge(run, kind, change, *, name="%", number=None):
    """Change records of a closed run, and make all digests anew.

    Args:
        run: Its folder.
        kind: Of the records.
        change: Is given the JSON of a record, and changes it.
        name: Of rows of evidence, as SQL's LIKE takes it.
        number: Of the only generation to change.
    """
    name = name if number is None else str(number)
    with changing(run / DATABASE) as connection:
        query = "SELECT id, payload FROM record WHERE kind = ? AND name LIKE ?"
        for place, payload in connection.execute(query, (kind, name)).fetchall():
            record = json.loads(payload)
            change(record)
            update = "UPDATE record SET payload = ? WHERE id = ?"
            connection.execute(update, (encode(record, what=kind), place))


def drop(run, kind, name="%"):
    """Leave out records of a kind, as if they had never been."""
    with changing(run / DATABASE) as connection:
        connection.execute("DELETE FROM record WHERE kind = ? AND name LIKE ?", (kind, name))


def change(run, statement, *values):
    """Change the database of a run behind the back of its store, and no digest with it."""
    with closing(sqlite3.connect(Path(run) / DATABASE)) as connection, connection:
        connection.execute(statement, values)


def interrupt(run):
    """Take away a run's result, as if it had been stopped before its certificate."""
    drop(run, "result")


def flip(run, number, place=0):
    """Change one bit of a byte of a generation's population."""
    with closing(sqlite3.connect(Path(run) / DATABASE)) as connection:
        query = "SELECT id, body FROM record WHERE kind = 'generation' AND name = ? ORDER BY id"
        record, body = connection.execute(query, (str(number),)).fetchall()[-1]
    flipped = bytearray(body)
    flipped[place] ^= 1
    change(run, "UPDATE record SET body = ? WHERE id = ?", bytes(flipped), record)
