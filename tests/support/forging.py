"""Runs that were changed, with every digest computed anew."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from optimizer.store.files import DATABASE, OWNER
from optimizer.store.payload import encode
from tests.support.hostile import TABLES, changing


def forge(run, table, change, *, name="%", number=None):
    """Change rows of a closed run, and make all digests anew.

    Args:
        run: Its folder.
        table: ``header``, ``result``, ``evidence`` or ``generation``, whose summary is changed.
        change: Is given the JSON of a row, and changes it.
        name: Of rows of evidence, as SQL's LIKE takes it.
        number: Of the only generation to change.
    """
    key, column = TABLES[table]
    query = f"SELECT {key}, {column} FROM {table}"
    with changing(run / DATABASE) as connection:
        if table == "evidence":
            rows = connection.execute(f"{query} WHERE name LIKE ?", (name,)).fetchall()
        else:
            rows = connection.execute(query).fetchall()
        for row_id, payload in rows:
            if number in (None, row_id):
                record = json.loads(payload)
                change(record)
                update = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
                connection.execute(update, (encode(record, what=table), row_id))


def change(run, statement, *values):
    """Change the database of a run behind the back of its store, and no digest with it."""
    with closing(sqlite3.connect(Path(run) / DATABASE)) as connection, connection:
        connection.execute(statement, values)


def interrupt(run):
    """Take away a run's result, as if it had been stopped before its certificate."""
    change(run, "DELETE FROM result")
    owner = Path(run) / OWNER
    noted = json.loads(owner.read_text())
    noted["rows"]["result"] = 0
    owner.write_text(json.dumps(noted))


def flip(run, number):
    """Change one bit of a generation."""
    with closing(sqlite3.connect(Path(run) / DATABASE)) as connection:
        query = "SELECT genomes FROM generation WHERE number=?"
        ((genomes,),) = connection.execute(query, (number,)).fetchall()
    flipped = bytes([genomes[0] ^ 1]) + genomes[1:]
    change(run, "UPDATE generation SET genomes=? WHERE number=?", flipped, number)
