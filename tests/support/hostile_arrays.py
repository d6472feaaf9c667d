"""Numbers of generations that were changed, with their digests computed anew."""

import random
import struct

from optimizer.store.payload import decode, encode
from optimizer.store.rows import Columns, RecordedGeneration, front_population, pack, unpack
from tests.support.hostile import changing

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
