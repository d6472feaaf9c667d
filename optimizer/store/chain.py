"""Trust in a run: the chain of digests, and the newest generation to go on from.

Evidence on a finished run is a chain of its own: rows are only ever added, each follows the one
before and the first the run's result, so that it is of this result and of no other.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from optimizer.errors import StoreError
from optimizer.formatting import format_count
from optimizer.search.generation import Generation
from optimizer.store.database import (
    count_rows,
    read_columns,
    read_digests,
    read_result,
    write_result,
)
from optimizer.store.files import OWNER
from optimizer.store.lock import NO_GENERATION, Owner
from optimizer.store.payload import decode, encode, read_mapping, sha256
from optimizer.store.rows import Columns, Digests, require_sound, unpack, unpack_state

DIGEST = "digest"
"""In a note that the run was taken up again: the note's own, which follows that before."""

LOST = "lost"
"""In such a note: losses that its owner noticed, a line each, which stay whatever follows."""

SUBJECT = ("front_hash", "data_hash", "generation", "evaluated", "stopped_by")
"""Fields of a result on which evidence depends."""

GONE = (
    "are gone: the write-ahead log was deleted, cut or not copied, or an older state of the file "
    "was put back"
)

UNCOUNTED = (
    f"{OWNER} is gone or damaged, which counts all rows, so that some may miss at the end: copy "
    "the run again, whole"
)


@dataclass(frozen=True)
class Chain:
    """The rows that follow from the header, one from the other."""

    genesis: bytes
    rows: Sequence[Digests]  # from generation 0 on, as far as the digests link
    broken: str = ""  # why there is no further row, or an empty string when there simply is none

    @property
    def tail(self) -> bytes:
        """Digest that what comes next has to follow."""
        return self.rows[-1].chain if self.rows else self.genesis

    def row(self, number: int) -> Digests:
        """Row of a generation.

        Raises:
            ValueError: When it was not recorded, or does not follow from the header.
        """
        if not 0 <= number < len(self.rows):
            raise ValueError(self.broken or f"only {len(self.rows)} generations are recorded")
        return self.rows[number]


@dataclass(frozen=True)
class Recovery:
    """Generation from which a run can be taken up."""

    # The newest one that is whole and undamaged; None when none was recorded.
    generation: Generation | None
    chain: bytes  # digest that the next row has to follow
    losses: tuple[str, ...] = ()  # a line each; none of a sound run

    @property
    def number(self) -> int:
        """Number of that generation, `NO_GENERATION` without one."""
        return NO_GENERATION if self.generation is None else self.generation.number

    @property
    def warnings(self) -> tuple[str, ...]:
        """Losses, and where the run goes on after them."""
        further = f"going on from generation {self.number}, the newest that is sound"
        return (*self.losses, further) if self.losses else ()


def follow_chain(
    connection: sqlite3.Connection, genesis: bytes, known: Chain | None = None
) -> Chain:
    """Follow the digests from the header on, without reading any population.

    Of a `known` chain whose last row is as it was, only what comes after that row is read.
    """
    rows: list[Digests] = []
    tail = genesis
    try:
        if known is not None and _has_tail(connection, known):
            rows, tail = list(known.rows), known.tail
        for digests in read_digests(connection, len(rows)):
            if digests.number != len(rows):
                return Chain(genesis, rows, f"generation {len(rows)} is missing")
            if digests.chain != digests.compute_chain_digest(tail):
                return Chain(
                    genesis, rows, f"generation {len(rows)} does not match the chain of digests"
                )
            rows.append(digests)
            tail = digests.chain
    except (sqlite3.Error, ValueError) as error:
        return Chain(genesis, rows, f"generation {len(rows)} cannot be read ({error})")
    return Chain(genesis, rows)


def _has_tail(connection: sqlite3.Connection, known: Chain) -> bool:
    """Whether the last row of a chain is the one that is recorded there."""
    last = len(known.rows) - 1
    return [row.chain for row in read_digests(connection, max(last, 0), last + 1)] == [
        row.chain for row in known.rows[-1:]
    ]


def find_losses(
    connection: sqlite3.Connection, chain: Chain, noted: Owner | None
) -> tuple[str, ...]:
    """Losses of all that was recorded, a line each, without reading a population or a row.

    `noted` is what the owner noted to be on disk before this connection began to read.
    """
    if noted is None and chain.rows:
        return (UNCOUNTED, *find_lost_generations(chain, noted))
    return (*find_lost_generations(chain, noted), *_find_lost_rows(connection, chain, noted))


def find_lost_generations(chain: Chain, noted: Owner | None) -> tuple[str, ...]:
    """Losses of generations alone."""
    if chain.broken:
        return (chain.broken,)
    if noted is None or noted.committed < len(chain.rows):
        return ()
    return (f"generations {len(chain.rows)} to {noted.committed} were recorded but {GONE}",)


def _find_lost_rows(
    connection: sqlite3.Connection, chain: Chain, noted: Owner | None
) -> Iterator[str]:
    # What is of an earlier end of the run goes when a further generation comes.
    if noted is None or chain.broken or noted.committed != len(chain.rows) - 1:
        return
    present = count_rows(connection)
    for table, count in noted.rows.items():
        # A table that is not there is that of a version which could not have written it.
        missing = count - present.get(table, count)
        if missing > 0:
            yield (
                f"of {format_count(count, 'row')} of '{table}' that were recorded {missing} {GONE}"
            )


def recover(connection: sqlite3.Connection, genesis: bytes, noted: Owner | None = None) -> Recovery:
    """Find the newest generation to go on from.

    `noted` is what the owner noted to be on disk; the connection is inside a transaction, so that
    nothing changes meanwhile.

    Raises:
        StoreError: When generations were recorded and none of them can be used.
    """
    chain = follow_chain(connection, genesis)
    losses = [*find_lost_generations(chain, noted)]
    for digests in reversed(chain.rows):
        try:
            generation = load_generation(connection, digests)
        except ValueError as error:
            losses.append(f"generation {digests.number}: {error}")
            continue
        return Recovery(generation, digests.chain, tuple(losses))
    if losses:
        raise StoreError(
            "no recorded generation can be used: " + "; ".join(losses[:3]) + ": start a new run"
        )
    return Recovery(None, genesis)


def load_columns(connection: sqlite3.Connection, digests: Digests) -> Columns:
    """Columns of a row; ValueError names what is wrong with them."""
    columns = read_columns(connection, digests.number)
    require_sound(digests, columns)
    return columns


def load_generation(connection: sqlite3.Connection, digests: Digests) -> Generation:
    """A whole generation; ValueError names why it cannot be had."""
    if digests.kept != "whole":
        raise ValueError("its whole population was not kept")
    columns = load_columns(connection, digests)
    summary = digests.decode_summary()
    archive, memory = unpack_state(columns.state, digests.genes, digests.objectives)
    return Generation(
        number=digests.number,
        population=unpack(columns, digests.genes, digests.objectives),
        evaluated=summary.evaluated,
        seconds=summary.seconds,
        repaired=summary.repaired,
        rejected=summary.rejected,
        archive=archive,
        memory=memory,
        hypervolume=summary.hypervolume,
    )


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
    link = _digest_evidence(row[0], name, payload)
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
    evidence, tail = [], genesis
    rows = connection.execute("SELECT id, name, payload, chain FROM evidence ORDER BY id")
    for position, (number, name, payload, chain) in enumerate(rows, 1):
        is_ours = number == position and isinstance(name, str) and isinstance(payload, bytes)
        if not is_ours or chain != _digest_evidence(tail, name, payload):
            raise ValueError(f"row {position} of the evidence does not follow: it was changed")
        evidence.append((name, payload))
        tail = chain
    return evidence


def link_evidence(
    connection: sqlite3.Connection, evidence: Sequence[tuple[str, bytes]], genesis: bytes
) -> None:
    """Let rows of evidence take the place of all that there are, as following from `genesis`."""
    connection.execute("DELETE FROM evidence")
    for name, payload in evidence:
        genesis = _digest_evidence(genesis, name, payload)
        connection.execute(
            "INSERT INTO evidence (name, payload, chain) VALUES (?, ?, ?)", (name, payload, genesis)
        )


def set_evidence_aside(connection: sqlite3.Connection) -> None:
    """Remove the result, inside the caller's transaction; evidence on it waits for the next one.

    Until then it follows from what it is about, and is not read.
    """
    with suppress(ValueError):
        recorded = read_result(connection)
        if recorded is None:
            return
        evidence = read_evidence(connection, recorded[1])
        link_evidence(connection, evidence, _digest_subject(recorded[0]))
    connection.execute("DELETE FROM result")


def replace_result(connection: sqlite3.Connection, payload: bytes, tail: bytes) -> tuple[int, int]:
    """Write the result that follows from the row whose digest is `tail`.

    Evidence that is about the same front, found by as many trials, stays.

    Returns:
        Rows of evidence that stay, and that are removed.
    """
    set_evidence_aside(connection)
    result_link = sha256(tail, payload)
    (before,) = connection.execute("SELECT COUNT(*) FROM evidence").fetchone()
    try:
        evidence = read_evidence(connection, _digest_subject(payload))
    except ValueError:
        evidence = []
    write_result(connection, payload, result_link)
    link_evidence(connection, evidence, result_link)
    return len(evidence), before - len(evidence)


def _digest_subject(payload: bytes) -> bytes:
    """Digest of what evidence on a result is about; how and when it was found is left out."""
    result = decode(payload)
    if isinstance(result, dict) and result.keys() >= set(SUBJECT):
        payload = encode([result[name] for name in SUBJECT], what="the subject of evidence")
    return sha256(b"subject", payload)


def _digest_evidence(before: bytes, name: str, payload: bytes) -> bytes:
    return sha256(before, name.encode(), b"\0", payload)


def compute_resumption_digest(note: Mapping[str, object], before: str) -> str:
    """SHA-256, hexadecimal, of a note that a run was taken up again, and of that of the one before.

    Notes of former versions have none.
    """
    content = {name: value for name, value in note.items() if name != DIGEST}
    return sha256(before.encode(), encode(content, what="the resumption")).hex()


def list_resumption_problems(payloads: Iterable[object]) -> Iterator[str]:
    """Notes that cannot be read or do not follow from the one before, a line each."""
    before = ""
    for number, payload in enumerate(payloads, start=1):
        note = decode_note(payload)
        if note is None:
            yield f"resumption {number} cannot be read"
            continue
        if DIGEST in note and note[DIGEST] != compute_resumption_digest(note, before):
            yield f"resumption {number} does not match its SHA-256"
        before = str(note.get(DIGEST, ""))


def decode_note(payload: object) -> Mapping[str, object] | None:
    """A note that the run was taken up again; None where it cannot be read."""
    try:
        return read_mapping(payload) if isinstance(payload, bytes) else None
    except ValueError:
        return None
