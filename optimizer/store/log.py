"""The log of a run: one file of records in the order of their arrival, linked by one chain.

The header is record 0. Generations, results, evidence, resumptions and noticed losses follow it
and are never changed. The digest of each covers its content and the digest of the record before,
so the newest digest stands for everything: nothing can miss, change or move behind it unseen. Only
the body of a generation, its population, may be thinned later; the digests of the whole body and
of its front stay in the record.

- A result counts until a generation follows it.
- A generation takes the place of those of its number and above.
- Evidence names its subject, and counts for every result of that subject.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from optimizer.config.values import Keep
from optimizer.errors import StoreError
from optimizer.formatting import format_count
from optimizer.search.generation import Generation, Population
from optimizer.store.files import DATABASE, NO_GENERATION, Owner, read_owner, refuse_links
from optimizer.store.log_file import (
    KEEPS,
    check_integrity,
    creating,
    open_reader,
    translate_sqlite_errors,
)
from optimizer.store.payload import decode, encode, read_mapping, require_mapping, sha256
from optimizer.store.rows import GenerationSummary, RecordedGeneration

KINDS = ("header", "generation", "result", "evidence", "resumption", "loss")

_FIELDS = "id, kind, name, about, payload, whole, chain"
_KINDS_OF_FIELDS = (int, str, str, str, bytes, bytes, bytes)

SUBJECT = ("front_hash", "data_hash", "generation", "evaluated", "stopped_by")
"""Fields of a result on which evidence depends; how and when it was found is left out."""

LINES, NOTED = "lines", "noted"
"""In a noticed loss: what was lost, a line each, and the owner's note at that time."""

GONE = (
    "are gone: the write-ahead log was deleted, cut or not copied, or an older state of the file "
    "was put back"
)

UNCOUNTED = (
    "owner.lock is gone or damaged, which counts all records, so that some may miss at the end: "
    "copy the run again, whole"
)

LEAST: Mapping[str, str] = {"all": "whole", "front": "front", "last": "summary"}
"""Extent that every generation of a run keeps at least, by the run's `keep`."""


class Record(NamedTuple):
    """A record without its body."""

    id: int  # its place, from 0 on
    kind: str  # one of `KINDS`
    name: str  # number of a generation, question of evidence; else empty
    about: str  # subject of a result, and of evidence on it; else empty
    payload: bytes  # JSON
    whole: bytes  # SHA-256 of the body as it was appended; empty without a body
    chain: bytes

    def link(self, before: bytes) -> bytes:
        """Chain digest of this record behind another one's."""
        # Sizes before parts, so that no two records are the same bytes.
        sizes = (self.id, len(self.name), len(self.about), len(self.payload))
        head = f"{sizes}{self.kind}{self.name}{self.about}".encode()
        return sha256(before, head, self.payload, self.whole)

    @property
    def value(self) -> Mapping[str, object]:
        """JSON of the record; ValueError for anything but an object."""
        return read_mapping(self.payload)

    def __str__(self) -> str:
        if self.kind == "generation":
            return f"generation {self.name}"
        return f"evidence '{self.name}'" if self.kind == "evidence" else f"the {self.kind}"


@dataclass
class Chain:
    """The records that follow, one from the other, from the header on."""

    records: list[Record] = field(default_factory=list)
    generations: list[Record] = field(default_factory=list)  # valid ones, by number
    result: Record | None = None  # the valid one; None before the end of a run
    broken: str = ""  # why there is no further record; empty where there simply is none

    @property
    def tail(self) -> bytes:
        """Digest that the next record follows."""
        return self.records[-1].chain if self.records else b""

    def link(
        self, kind: str, name: str, payload: bytes, *, about: str = "", whole: bytes = b""
    ) -> Record:
        """The record that would follow."""
        record = Record(len(self.records), kind, name, about, payload, whole, b"")
        return record._replace(chain=record.link(self.tail))

    def add(self, record: Record) -> None:
        """Take the next record; ValueError for any other."""
        if record.id != len(self.records):
            raise ValueError(f"record {len(self.records)} is missing")
        if record.chain != record.link(self.tail):
            raise ValueError(f"{record} does not match the chain of digests")
        if record.kind == "generation":
            if not record.name.isdecimal() or int(record.name) > len(self.generations):
                raise ValueError(f"{record} follows generation {len(self.generations) - 1}")
            del self.generations[int(record.name) :]
            self.generations.append(record)
        if record.kind in ("generation", "result"):
            self.result = record if record.kind == "result" else None
        self.records.append(record)

    def copy(self) -> "Chain":
        """The same records, to be followed by others."""
        return Chain([*self.records], [*self.generations], self.result)

    def list(self, kind: str) -> Sequence[Record]:
        """Records of a kind, oldest first."""
        return [record for record in self.records if record.kind == kind]

    def list_evidence(self) -> Sequence[Record]:
        """Evidence on the result that counts, oldest first."""
        subject = None if self.result is None else self.result.about
        return [record for record in self.list("evidence") if record.about == subject]

    def list_noticed_losses(self) -> Sequence[str]:
        """Losses that an owner noticed, a line each."""
        found = [record.value.get(LINES) for record in self.list("loss")]
        lines = [line for lost in found for line in (lost if isinstance(lost, list) else [lost])]
        return [" ".join(str(line).split()) for line in lines]

    def find_losses(self, noted: Owner | None) -> tuple[str, ...]:
        """Losses of records that the last owner noted to be on disk, a line each.

        `noted` was read before the chain: the owner may have appended more since, never less.
        """
        if self.broken:
            return (self.broken,)
        if noted is None:
            return (UNCOUNTED,) if self.generations else ()
        if any(record.value.get(NOTED) == noted.position for record in self.list("loss")):
            return ()
        count, present = noted.records, len(self.records)
        if count > present:
            known = len(self.generations)
            what = f"the last {count - present} of {format_count(count, 'record')}"
            if noted.generation >= known:
                what = f"generations {known} to {noted.generation} were recorded but"
            return (f"{what} {GONE}",)
        if count and self.records[count - 1].chain.hex() != noted.chain:
            return (f"{format_count(count, 'record')} end otherwise than was noted: they {GONE}",)
        return ()


@dataclass(frozen=True)
class Recovery:
    """Generation from which a run can be taken up."""

    chain: Chain
    generation: Generation | None  # the newest whole one; None where none was recorded
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


def digest_subject(payload: bytes) -> str:
    """Subject of evidence on a result, 16 hexadecimal digits."""
    result = decode(payload)
    if isinstance(result, dict) and result.keys() >= set(SUBJECT):
        payload = encode([result[name] for name in SUBJECT], what="the subject of evidence")
    return sha256(payload).hex()[:16]


def find_subject(chain: Chain) -> str:
    """Subject of evidence that is recorded now; StoreError without a result to be about."""
    if chain.result is None:
        raise StoreError("evidence without a result cannot be recorded: a result comes first")
    return chain.result.about


def create_log(path: Path, header: bytes) -> None:
    """Make the file of a run, which must not exist, with a header of JSON."""
    with creating(path) as connection:
        append(connection, Chain().link("header", "", header), b"")


def read_body(connection: sqlite3.Connection, record: Record) -> bytes:
    """Present body of a record; ValueError if it cannot be read."""
    try:
        row = connection.execute("SELECT body FROM record WHERE id = ?", (record.id,)).fetchone()
    except sqlite3.Error as error:
        raise ValueError(f"its population cannot be read ({error})") from None
    if row is None or not isinstance(row[0], bytes):
        raise ValueError("its population is missing")
    body: bytes = row[0]
    return body


def append(connection: sqlite3.Connection, record: Record, body: bytes) -> None:
    """Insert a record with its body, inside the caller's transaction."""
    values = (*record, body)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO record VALUES ({marks})", values)


def replace_body(connection: sqlite3.Connection, record: Record, body: bytes) -> None:
    """Leave less of a population, inside the caller's transaction."""
    connection.execute("UPDATE record SET body = ? WHERE id = ?", (body, record.id))


def drop_tail(connection: sqlite3.Connection, place: int) -> None:
    """Remove records that do not follow, inside the caller's transaction."""
    connection.execute("DELETE FROM record WHERE id >= ?", (place,))


def _read_record(row: Sequence[Any]) -> Record:
    if not all(map(isinstance, row, _KINDS_OF_FIELDS)) or row[1] not in KINDS:
        raise ValueError(f"record {row[0]!r} cannot be read (it holds what no run holds)")
    return Record(*row)


class Reader:
    """The log of a run's directory, open for reading.

    StoreError when it is not a run that this version can read, or is damaged there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        """Directory of the run."""
        self.database = path / DATABASE
        if not self.path.is_dir() or not os.path.lexists(self.database):
            raise StoreError(f"{self.path} is not a run: there is no file {DATABASE} in it")
        refuse_links(self.path)
        self._connection = open_reader(self.database)
        self._followed: tuple[int, Chain] | None = None
        self._noted: Owner | None = None
        self._is_followed = False
        try:
            self.payload = self._read_header()
            self._form, self.header = _split_header(self.payload, self.database)
        except BaseException:
            self._connection.close()
            raise

    @property
    def keep(self) -> Keep:
        """Extent that stays of generations before the newest two."""
        return next(known for known in KEEPS if known == self._form["keep"])

    @property
    def number(self) -> int:
        """Rank of the run among those of its directory, in the order of creation; 0 if unknown."""
        number = self._form.get("number")
        return number if isinstance(number, int) else 0

    @property
    def planned(self) -> int | None:
        """Number of generations of the newest plan; None without a record of it.

        A run may be resumed for more than its first plan; the header stays.
        """
        plans = [self.header, *self.resumptions]
        numbers = [plan.get("generations") for plan in plans]
        return next((n for n in reversed(numbers) if isinstance(n, int)), None)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def follow(self, known: Chain | None = None) -> Chain:
        """All records; of a `known` chain that still holds, only those after it are read."""
        with self.snapshot():
            return self._follow(known)

    def recover(self) -> Recovery:
        """The newest generation to go on from.

        StoreError when generations were recorded and none of them can be used.
        """
        with self._reading():
            chain, noted, losses = self._follow(), self._noted, list[str]()
            is_further = noted is not None and noted.generation >= len(chain.generations)
            if is_further or chain.result is None:
                losses += (line for line in chain.find_losses(noted) if line != UNCOUNTED)
            for record in reversed(chain.generations):
                try:
                    return Recovery(chain, self._load(record), tuple(losses))
                except ValueError as error:
                    losses.append(f"{record}: {error}")
            is_begun = noted is None or noted.generation > NO_GENERATION
            if losses and (is_begun or chain.generations):
                raise StoreError(
                    "no recorded generation can be used: "
                    + "; ".join(losses[:3])
                    + ": start a new run"
                )
            return Recovery(chain, None, tuple(losses))

    def find_losses(self) -> tuple[str, ...]:
        """Losses of records, a line each, first those noticed by an owner."""
        return tuple(dict.fromkeys((*self.list_noticed_losses(), *self.find_present_losses())))

    def find_present_losses(self) -> tuple[str, ...]:
        """Losses of records noted to be on disk, which no owner noticed before."""
        with self._reading():
            return self._follow().find_losses(self._noted)

    def list_noticed_losses(self) -> Sequence[str]:
        """Losses that the record itself says, a line each."""
        with self._reading():
            return self._follow().list_noticed_losses()

    def generations(self, start: int = 0) -> tuple[GenerationSummary, ...]:
        """Summaries of all generations from a number on that can be trusted, oldest first."""
        query = "SELECT id, LENGTH(body) FROM record WHERE kind = 'generation'"
        summaries = []
        with self._reading():
            sizes = dict(self._connection.execute(query))
            for record in self._follow().generations[start:]:
                try:
                    recorded = RecordedGeneration.decode(record.payload)
                    size = sizes[record.id] or 0
                    summaries.append(recorded.summarise(int(record.name), size))
                except ValueError as error:
                    raise ValueError(f"{record}: {error}") from None
        return tuple(summaries)

    def generation(self, number: int) -> Generation:
        """A whole generation; StoreError when it was not recorded, not kept, or is damaged."""
        with self._reading(f"{self.path.name}, generation {number}"):
            return self._load(self._find_generation(number))

    def front(self, number: int) -> Population:
        """Feasible individuals of a generation that none dominates, in order of survival.

        StoreError when it was not recorded, not kept, or is damaged.
        """
        with self._reading(f"{self.path.name}, generation {number}"):
            record = self._find_generation(number)
            recorded = RecordedGeneration.decode(record.payload)
            return recorded.restore_front(record.whole, read_body(self._connection, record))

    @property
    def result(self) -> Mapping[str, object] | None:
        """Result of the run, None before its end.

        StoreError when it cannot be read, or the record is damaged before any result.
        """
        with self._reading():
            chain = self._follow()
            if chain.result is None and chain.broken:
                raise ValueError(chain.broken)
            return None if chain.result is None else chain.result.value

    @property
    def evidence(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """Names and rows of evidence on the result, oldest first."""
        with self._reading():
            return tuple((record.name, record.value) for record in self._follow().list_evidence())

    def find_evidence(self, name: str) -> Mapping[str, object]:
        """The newest row of evidence on the result under a name; empty without one."""
        with self._reading():
            rows = self._follow().list_evidence()
            newest = next((row for row in reversed(rows) if row.name == name), None)
            return {} if newest is None else newest.value

    @property
    def resumptions(self) -> tuple[Mapping[str, object], ...]:
        """Times at which the run was taken up again, with all changes, oldest first."""
        with self._reading():
            return tuple(record.value for record in self._follow().list("resumption"))

    def verify(self) -> list[str]:
        """Everything that is or was wrong, one line each, found by reading everything."""
        return list(dict.fromkeys((*self.list_noticed_losses(), *self.find_damage())))

    def find_damage(self) -> list[str]:
        """Everything that is wrong now, one line each, found by reading everything."""
        with self.snapshot():
            lines = [f"database: {line}" for line in check_integrity(self._connection)]
            chain = self._follow()
            lines.extend(chain.find_losses(self._noted))
            for record in chain.generations:
                is_newest = record is chain.generations[-1]
                least = "whole" if is_newest else LEAST[self.keep]
                try:
                    body = read_body(self._connection, record)
                    RecordedGeneration.decode(record.payload).read_columns(
                        record.whole, body, least
                    )
                except ValueError as error:
                    lines.append(f"{record}: {error}")
            for record in chain.records:
                try:
                    record.value  # noqa: B018
                except ValueError as error:
                    lines.append(f"{record}: {error}")
        return lines

    def _find_generation(self, number: int) -> Record:
        chain = self._follow()
        count = len(chain.generations)
        if not 0 <= number < count:
            raise ValueError(chain.broken or f"only {count} generations are recorded")
        return chain.generations[number]

    def _follow(self, known: Chain | None = None) -> Chain:
        """The chain, followed on only after a commit since the last time."""
        if self._is_followed and self._followed is not None:
            return self._followed[1]
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if self._followed is None or self._followed[0] != version:
            before = self._followed[1] if self._followed else known
            self._followed = version, self._extend_chain(before or Chain())
        self._is_followed = True
        return self._followed[1]

    def _extend_chain(self, known: Chain) -> Chain:
        """The chain without any population: all records, or those behind an unchanged chain."""
        query = f"SELECT {_FIELDS} FROM record WHERE id >= ? ORDER BY id"
        chain = Chain()
        if known.records:
            last = "SELECT chain FROM record WHERE id = ?"
            row = self._connection.execute(last, (len(known.records) - 1,)).fetchone()
            chain = known.copy() if row is not None and row[0] == known.tail else chain
        try:
            for row in self._connection.execute(query, (len(chain.records),)):
                chain.add(_read_record(row))
        except sqlite3.Error as error:
            chain.broken = f"record {len(chain.records)} cannot be read ({error})"
        except ValueError as error:
            chain.broken = str(error)
        return chain

    def _load(self, record: Record) -> Generation:
        """A whole generation; ValueError names why it cannot be had."""
        recorded = RecordedGeneration.decode(record.payload)
        return recorded.restore(int(record.name), record.whole, read_body(self._connection, record))

    def _read_header(self) -> bytes:
        """JSON of the header; StoreError when it is not there or does not match its digest."""
        with translate_sqlite_errors(self.database):
            query = f"SELECT {_FIELDS} FROM record WHERE id = 0"
            row = self._connection.execute(query).fetchone()
        with suppress(TypeError, ValueError):
            chain = Chain()
            chain.add(_read_record(row))
            if chain.list("header"):
                return chain.records[0].payload
        raise StoreError(
            f"{self.database}: the header is damaged, so nothing in this run can be trusted"
        )

    @contextmanager
    def _reading(self, what: object = "") -> Iterator[None]:
        """See one state of the run, and say what of it cannot be read."""
        with self.snapshot():
            try:
                yield
            except ValueError as error:
                raise StoreError(f"{what or self.database}: {error}") from None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See one state of the run throughout, whatever its owner does meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        # Before the records are looked at: the owner may append more meanwhile, never less.
        self._noted, self._is_followed = read_owner(self.path), False
        with translate_sqlite_errors(self.database):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def _split_header(payload: bytes, path: Path) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Parts of the header: that of the store, and that of the caller of `create`."""
    try:
        sections = read_mapping(payload)
        store = require_mapping(sections["store"])
        if store["keep"] not in KEEPS:
            raise ValueError(f"it keeps {store['keep']!r}")
        return store, require_mapping(sections["run"])
    except (ValueError, KeyError) as error:
        raise StoreError(f"{path}: the header is not that of a run ({error})") from None
