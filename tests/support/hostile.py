"""Runs that were changed to harm their reader, and a watch over what reading them does."""

import contextlib
import io
import json
import os
import random
import resource
import signal
import sqlite3
import struct
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil

from optimizer.__main__ import main
from optimizer.store.files import DATABASE, OWNER
from optimizer.store.log import KINDS, Chain
from optimizer.store.payload import decode, encode
from optimizer.store.rows import Columns, RecordedGeneration, front_population, pack, unpack

CANARY = "executed-by-a-run"
"""File that something writes only where a text of a record was executed."""

COLUMNS = ("kind", "name", "about", "payload", "whole", "body")


def hostile_values(canary):
    """Values that no record has, or that some reader would stumble over or run."""
    code = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    return [
        None, True, -1, 0, 2**31, 2**63 - 1, -(2**63), 10**30, 1e308, -0.0, 0.5, "", "x" * 10_000,
        "\0", "\x1b[2J", "\ud800", "../../etc/passwd", "/dev/zero", "/proc/self/mem", "latest",
        "<script>alert(1)</script>", code, f"@{code}", f"{{{{ {code} }}}}", f"{canary}.py",
        f"csv:{canary}.fifo", "polygon:SPY", "ccxt:binance:BTC/USDT:1h:2024-01-01", "sample",
        [], {}, [None], [[]], {"": None}, ["a"] * 1000, {"__class__": "x"}, float("nan"),
        float("inf"), [1, "a", None], {"name": code, "kind": "int", "low": 5, "high": -5},
    ]  # fmt: skip


class Mutator:
    """Changes of a recorded run, the same for the same seed.

    Args:
        canary: Path that no reader may write.
        seed: Of the changes.
    """

    def __init__(self, canary, seed):
        self._random = random.Random(seed)
        self._values = hostile_values(canary)

    def change(self, database):
        """Change a closed database in one of the ways; its name."""
        kinds = (self._json, self._json, self._json, self._json, self._row, self._bytes)
        kind = self._random.choice(kinds)
        kind(database)
        return kind.__name__.strip("_")

    def _json(self, database):
        """One to three places of the JSON of one or more rows, digests made anew."""
        with changing(database) as connection:
            for _ in range(self._random.randint(1, 3)):
                query = "SELECT id, payload FROM record WHERE kind = ?"
                rows = connection.execute(query, (self._random.choice(KINDS),)).fetchall()
                if not rows:
                    continue
                place, payload = self._random.choice(rows)
                with contextlib.suppress(ValueError, TypeError):
                    changed = json.dumps(self._change(json.loads(payload))).encode()
                    update = "UPDATE record SET payload = ? WHERE id = ?"
                    connection.execute(update, (changed, place))

    def _row(self, database):
        """Columns of rows of another kind, rows that are gone or there twice, other tables."""
        with changing(database) as connection:
            column = self._random.choice(COLUMNS)
            value = self._random.choice(
                (None, -1, 0, 1, 2**62, "whole", "text", b"", b"\0" * 8, b"\xff" * 64, 1e300)
            )
            kind = f"kind = '{self._random.choice(KINDS)}'"
            statement = self._random.choice(
                (
                    f"UPDATE record SET {column} = :value WHERE id = :place",
                    f"UPDATE record SET {column} = :value WHERE {kind}",
                    f"UPDATE record SET {column} = :value",
                    "DELETE FROM record WHERE id = :place",
                    "UPDATE record SET id = id + 1000000000000 WHERE id > :place",
                    f"DELETE FROM record WHERE {kind}",
                    "INSERT INTO record SELECT id + 100, kind, name, about, payload, whole, chain,"
                    f" body FROM record WHERE {kind}",
                    "CREATE VIEW more AS SELECT 1",
                    "PRAGMA user_version = 3",
                    "ALTER TABLE record RENAME TO kept",
                )
            )
            place = self._random.randint(0, 12)
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(statement, {"value": value, "place": place})

    def _bytes(self, database):
        """Bytes that are flipped, cut, doubled or zero."""
        content = bytearray(database.read_bytes())
        for _ in range(self._random.choice((1, 8, 200))):
            content[self._random.randrange(len(content))] = self._random.randrange(256)
        if self._random.random() < 0.3:
            del content[self._random.randrange(len(content)) :]
        database.write_bytes(content)

    def _change(self, record):
        """The same JSON with another value, or without one."""
        value = self._random.choice(self._values)
        return record if self._replace(record, value) else value

    def _replace(self, record, value):
        """Whether a value somewhere in it was replaced or removed."""
        box = record
        while isinstance(box, dict | list) and box:
            keys = list(box) if isinstance(box, dict) else range(len(box))
            key = self._random.choice(keys)
            inner = box[key]
            if not isinstance(inner, dict | list) or not inner or self._random.random() < 0.15:
                if self._random.random() < 0.1:
                    del box[key]
                else:
                    box[key] = value
                return True
            box = inner
        return False


@contextlib.contextmanager
def changing(database):
    """Change a database, and make all digests anew that can be, as a run's sender can."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        # What is no record of ours keeps the digest that it has.
        with contextlib.suppress(sqlite3.Error, AttributeError, TypeError, ValueError):
            reseal(connection, database.with_name(OWNER))
        connection.execute("COMMIT")


def reseal(connection, note):
    """Number records anew, link them, and note their end."""
    chain = Chain()
    query = "SELECT id, kind, name, about, payload, whole FROM record ORDER BY id"
    for place, kind, name, about, payload, whole in connection.execute(query).fetchall():
        record = chain.link(kind, name, payload, about=about, whole=whole)
        update = "UPDATE record SET id = ?, chain = ? WHERE id = ?"
        connection.execute(update, (record.id, record.chain, place))
        chain.add(record)
    noted = json.loads(note.read_text()) | {
        "records": len(chain.records),
        "chain": chain.tail.hex(),
        "generation": len(chain.generations) - 1,
    }
    note.write_text(json.dumps(noted))


class Watch:
    """Hears what this process does while a hostile run is read.

    Args:
        folder: The only one in which files may be written.
    """

    WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    FORBIDDEN = ("socket.connect", "socket.bind", "os.system", "os.exec", "os.posix_spawn")
    REMOVES = ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree")

    def __init__(self, folder):
        self.folder = str(Path(folder).resolve())
        self.is_on = False
        self.faults = []
        sys.addaudithook(self._hear)

    def _hear(self, event, arguments):
        if not self.is_on:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes) and flags & self.WRITES:
                self._check(event, os.fsdecode(path))
        elif event in self.REMOVES:
            if arguments[1 if event == "os.rename" else -1] in (-1, None):
                self._check(event, os.fsdecode(arguments[0]))
        elif event in self.FORBIDDEN or event == "subprocess.Popen":
            self.faults.append(f"{event}: {arguments!r:.200}")
        elif event == "compile":
            source, name = arguments
            if CANARY in str(name) or (source is not None and CANARY in str(source)):
                self.faults.append(f"compile: {name}")
        elif event == "exec" and CANARY in arguments[0].co_filename:
            self.faults.append(f"exec: {arguments[0].co_filename}")

    def _check(self, event, path):
        if path == os.devnull or os.path.abspath(path).startswith(self.folder):
            return
        if "__pycache__" in path or "numba" in path:
            return
        self.faults.append(f"{event}: {path}")


@contextlib.contextmanager
def bounded_time(seconds):
    """Raise in the main thread after so many seconds."""

    def stop(*_):
        raise TimeoutError(f"longer than {seconds} s")

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(*arguments):
    """Run one command in this process: its exit code, and what it printed on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


LONGEST_S = 5.0
"""How much of a processor's time a command may take on a changed run."""

HANGS_S = 120.0
"""After which a command hangs, on a machine that does much else."""

MOST_BYTES = 2_000_000_000
"""How much more memory all of this may take."""

CODES = (0, 2, 3, 4, 5)
"""Exit codes of commands that do what they say; 1 is a defect of ours."""

READERS = (
    ("runs", "list"), ("runs", "list", "--json"), ("runs", "show", "RUN"),
    ("runs", "show", "latest", "--json"), ("runs", "show", "RUN", "--member", "0"),
    ("runs", "show", "RUN", "--importance"), ("runs", "source", "RUN"),
    ("runs", "export", "RUN", "OUT.csv"), ("runs", "export", "RUN", "OUT.parquet"),
    ("runs", "export", "RUN", "OUT.journal"),
    ("runs", "export", "--what", "individuals", "RUN", "OUT.json"),
    ("runs", "export", "--what", "generations", "RUN", "OUT.csv"),
    ("runs", "export", "--as", "backtesting.py", "--member", "0", "RUN", "OUT.py"),
    ("runs", "compare", "RUN", "sound"), ("runs", "verify", "RUN"),
    ("report", "RUN"), ("judge", "RUN", "--null", "0", "--quiet"),
    ("backtest", "RUN", "--member", "0"),
)  # fmt: skip
"""Commands on a run from elsewhere."""


@contextlib.contextmanager
def limited_memory(more=MOST_BYTES):
    """Refuse memory that is asked for beyond so many bytes more than now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def read_hostile(watch, commands=READERS, longest_s=LONGEST_S, codes=CODES):
    """Read a changed run by many commands; what none of them may do, a line each.

    Args:
        watch: Over this process.
        commands: To run, where ``runs`` holds the runs ``changed`` and ``sound``.
        longest_s: What each may take.
        codes: With which each may end.
    """
    faults = []
    for command in commands:
        words = [{"RUN": "changed"}.get(word, word) for word in command]
        words = [word.replace("OUT", "written") for word in words]
        with contextlib.suppress(FileNotFoundError):
            Path(words[-1]).unlink()
        watch.faults.clear()
        watch.is_on = True
        try:
            began = time.process_time()
            with bounded_time(HANGS_S):
                code, out, err = call(*words)
            took = time.process_time() - began
        except TimeoutError as error:
            faults.append(f"{' '.join(command)}: {error}")
            continue
        finally:
            watch.is_on = False
        faults += [f"{' '.join(command)}: {fault}" for fault in watch.faults]
        if took > longest_s:
            faults.append(f"{' '.join(command)}: takes {took:.1f} s")
        if code not in codes or "Traceback" in err or "defect of" in err:
            faults.append(f"{' '.join(command)}: {code} {err[-300:]}")
        if command[:2] == ("runs", "list") and (code or "sound" not in out):
            faults.append(f"{' '.join(command)}: does not list the sound run: {code} {err[-200:]}")
    return faults


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


ARRAYS = Columns._fields
"""Columns of a row that hold arrays."""

WIDE = [float("nan"), float("inf"), float("-inf"), -1.0, 0.0, -0.0, 0.5, 1e308, 5e-324, 1e18, 200.0]

COUNTS = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 7, 99, 2**31, 2**62, 2**63 - 1]


def harm_arrays(database, seed):
    """Change numbers of one or more generations, all digests made anew; the same for a seed."""
    dice = random.Random(seed)
    with changing(database) as connection:
        query = "SELECT id FROM record WHERE kind = 'generation' AND LENGTH(body) > 0"
        places = [place for (place,) in connection.execute(query).fetchall()]
        for place in dice.sample(places, dice.choice((1, len(places)))):
            rewrite_population(connection, place, lambda columns: _harm_some(columns, dice))


def rewrite_population(connection, place, change):
    """Change the columns of a recorded population, with its digests but not its size."""
    query = "SELECT payload, whole, body FROM record WHERE id = ?"
    payload, whole, body = connection.execute(query, (place,)).fetchone()
    recorded = RecordedGeneration.decode(payload)
    is_whole = recorded.find_kept(len(body)) == "whole"
    columns = change(recorded.read_columns(whole, body))
    population = unpack(columns, recorded.genes, recorded.objectives)
    front = front_population(population) if is_whole else population
    digest = pack(front).digest().hex()
    value = {**decode(payload), "front_digest": digest, "front": len(front)}
    connection.execute(
        "UPDATE record SET payload = ?, whole = ?, body = ? WHERE id = ?",
        (
            encode(value, what="a generation"),
            columns.digest() if is_whole else whole,
            columns.join(),
            place,
        ),
    )


def _harm_some(columns, dice):
    for _ in range(dice.choice((1, 1, 3))):
        name = dice.choice(ARRAYS)
        columns = columns._replace(**{name: _harm(name, getattr(columns, name), dice)})
    return columns


def _harm(name, content, dice):
    """Another number in one place, in some or in all; the size stays."""
    kind, values = {"failures": ("<h", COUNTS), "lineage": ("<q", COUNTS)}.get(name, ("<d", WIDE))
    width = struct.calcsize(kind)
    indices = list(range(len(content) // width))
    if not indices:
        return content
    if name == "state" and dice.random() < 0.4:
        # How many there are stands at its head.
        kind, values, indices = "<q", COUNTS, [0, 1]
    changed = bytearray(content)
    share = dice.choice((0.0, 0.1, 1.0))
    value = dice.choice(values)
    for index in dice.sample(indices, max(1, round(share * len(indices)))):
        number = max(min(value, 2**15 - 1), -(2**15)) if kind == "<h" else value
        struct.pack_into(kind, changed, index * width, number)
    return bytes(changed)
