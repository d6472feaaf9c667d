"""Numbers of generations that were changed, with their digests computed anew."""

import random
import struct

from optimizer.store.rows import Columns, pack, unpack
from tests.support.hostile import changing

ARRAYS = Columns._fields
"""Columns of a row that hold arrays."""

WIDE = [float("nan"), float("inf"), float("-inf"), -1.0, 0.0, -0.0, 0.5, 1e308, 5e-324, 1e18, 200.0]

COUNTS = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 7, 99, 2**31, 2**62, 2**63 - 1]


def harm_arrays(database, seed):
    """Change numbers of one or more generations, all digests made anew; the same for a seed."""
    dice = random.Random(seed)
    with changing(database) as connection:
        query = f"SELECT number, genes, objective_count, kept, {', '.join(ARRAYS)} FROM generation"
        rows = connection.execute(query).fetchall()
        for number, genes, objectives, kept, *arrays in dice.sample(
            rows, dice.choice((1, len(rows)))
        ):
            columns = Columns(*arrays)
            for _ in range(dice.choice((1, 1, 3))):
                name = dice.choice(ARRAYS)
                changed = _harm(name, bytes(getattr(columns, name)), dice)
                columns = columns._replace(**{name: changed})
            assignments = ", ".join(f"{name} = ?" for name in (*ARRAYS, "whole_sha", "front_sha"))
            digests = _digests(columns, genes, objectives)
            digest = digests if kept == "whole" else (digests[0], columns.digest())
            connection.execute(
                f"UPDATE generation SET {assignments} WHERE number = ?", (*columns, *digest, number)
            )


def _digests(columns, genes, objectives):
    """Of the whole population, and about those of its front, which nothing asks for beside it."""
    population = unpack(columns, genes, objectives)
    return columns.digest(), pack(population).digest()


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
