"""A generation as a record: arrays as little-endian bytes, the rest as JSON, and their digests.

The record holds shapes, counts and the digests of the whole population and of its front, so that
a population that was thinned to its front, or dropped, can still be checked.
"""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from optimizer.errors import StoreError
from optimizer.search.generation import LINEAGE, Generation, Population, empty_population
from optimizer.store.payload import Payload, decode, encode

KEPT = ("whole", "front", "summary")
"""Extents of a generation's population that may be kept, the most first."""

TOO_LITTLE = {"whole": "its population was not kept whole", "front": "only its summary was kept"}
"""Errors of a population of which less is there, by the least extent."""

NUMBER_BYTES = 8
CODE_BYTES = 2

SIZES = "<2q"
"""Head of a state: individuals of the archive, numbers of the memory."""


Bytes = bytes | memoryview
"""A view of an array that cannot change needs no copy."""


class Columns(NamedTuple):
    """A population, or some of it, as bytes: float64 and int16, little-endian, row by row."""

    genomes: Bytes  # [P, G] float64
    objectives: Bytes  # [P, O] float64, NaN included
    violations: Bytes  # [P] float64
    failures: Bytes  # [P] int16
    lineage: Bytes  # [P, 4] int64
    state: Bytes = b""  # what else is needed to go on from a whole population; see `pack_state`

    @property
    def n_bytes(self) -> int:
        """Size of all columns in bytes."""
        return sum(map(len, self))

    def join(self) -> bytes:
        """All columns in one piece, as `RecordedGeneration.read_columns` parts them."""
        return b"".join(self)

    def digest(self) -> bytes:
        """SHA-256 over the columns; the shapes that part them are in the record."""
        return self.digests()[0]

    def digests(self) -> tuple[bytes, bytes]:
        """Digest of the columns, and the digest that they would have without a state."""
        *population, state = self
        digest = hashlib.sha256()
        for column in population:
            digest.update(column)
        stateless = digest.digest()
        digest.update(state)
        return digest.digest(), stateless


NOTHING = Columns(b"", b"", b"", b"", b"")
"""Columns of a generation of which only the summary is kept."""


def count_rejected(summaries: Iterable["GenerationSummary"]) -> dict[str, int]:
    """Count of failures among all that generations evaluated, by reason; sorted by name."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        counts.update(summary.rejected)
    return dict(sorted(counts.items()))


@dataclass(frozen=True)
class Snapshot:
    """A generation as it was when it was handed over, not yet hashed."""

    number: int
    shape: tuple[int, int, int]  # P, G, O
    columns: Columns
    summary: Mapping[str, object]  # the rest

    @property
    def n_bytes(self) -> int:
        """Size of the population and its state in bytes."""
        return self.columns.n_bytes


@dataclass(frozen=True)
class RecordedGeneration(Payload):
    """A generation as its record says it, without its population."""

    what: ClassVar[str] = "the generation"

    individuals: int  # P
    genes: int  # G
    objectives: int  # O
    front: int  # individuals on the front
    n_bytes: int  # size of the whole population with its state
    front_digest: str  # SHA-256 of the columns of the front, hexadecimal
    evaluated: int
    seconds: float
    repaired: int  # individuals repaired because of a broken constraint
    rejected: Mapping[str, int]  # name of a failure to how many of the evaluated had it
    hypervolume: float  # as in `Generation`

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """Read JSON; ValueError for any but that of a generation."""
        try:
            recorded = cls.read(decode(payload))
        except StoreError as error:
            raise ValueError(str(error)) from None
        sizes = (recorded.individuals, recorded.genes, recorded.objectives, recorded.front)
        if min(sizes) < 0 or recorded.n_bytes < measure_whole(*sizes[:3]):
            raise ValueError("its record holds values out of range")
        return recorded

    def find_kept(self, n_bytes: int) -> str:
        """Extent of a population of so many bytes, one of `KEPT`; ValueError at another size."""
        sizes = (self.n_bytes, measure_whole(self.front, self.genes, self.objectives), 0)
        for kept, size in zip(KEPT, sizes, strict=True):
            if n_bytes == size:
                return kept
        raise ValueError("its population does not have the recorded shape")

    def read_columns(self, whole: bytes, body: bytes, least: str = "summary") -> Columns:
        """Columns of a body, or of the part of it that was kept; ValueError names their fault.

        `whole` is the SHA-256 of the body as it was recorded, `least` the extent that it has to
        have.
        """
        kept = self.find_kept(len(body))
        if KEPT.index(kept) > KEPT.index(least):
            raise ValueError(TOO_LITTLE[least])
        if kept == "summary":
            return NOTHING
        expected = whole if kept == "whole" else bytes.fromhex(self.front_digest)
        if hashlib.sha256(body).digest() != expected:
            raise ValueError("its population does not match its SHA-256")
        individuals = self.individuals if kept == "whole" else self.front
        return _split(body, individuals, self.genes, self.objectives)

    def restore(self, number: int, whole: bytes, body: bytes) -> Generation:
        """The whole generation; ValueError names why it cannot be had."""
        columns = self.read_columns(whole, body, "whole")
        archive, memory = unpack_state(columns.state, self.genes, self.objectives)
        return Generation(
            number=number,
            population=unpack(columns, self.genes, self.objectives),
            evaluated=self.evaluated,
            seconds=self.seconds,
            repaired=self.repaired,
            rejected=self.rejected,
            archive=archive,
            memory=memory,
            hypervolume=self.hypervolume,
        )

    def restore_front(self, whole: bytes, body: bytes) -> Population:
        """Individuals of the front, in order of survival; ValueError where they were not kept."""
        columns = self.read_columns(whole, body, "front")
        return front_population(unpack(columns, self.genes, self.objectives))

    def thin(self, whole: bytes, body: bytes, least: str) -> bytes:
        """Less of a body: no more than `least`, one of `KEPT`; ValueError for a damaged one."""
        if KEPT.index(self.find_kept(len(body))) >= KEPT.index(least):
            return body
        if least == "summary":
            self.read_columns(whole, body)
            return b""
        return pack(self.restore_front(whole, body)).join()

    def summarise(self, number: int, n_bytes: int) -> "GenerationSummary":
        """Summary of a generation with so many kept bytes."""
        kept = self.find_kept(n_bytes)
        return GenerationSummary(**vars(self), number=number, kept=kept)


@dataclass(frozen=True)
class GenerationSummary(RecordedGeneration):
    """Record of a generation, and how much of its population is still there."""

    number: int  # 0 for the initial population
    kept: str  # one of `KEPT`


class Packed(NamedTuple):
    """A generation, hashed."""

    payload: bytes  # JSON of a `RecordedGeneration`
    whole: bytes  # SHA-256 of all columns
    columns: Columns
    front: Columns  # those of the front alone

    def join(self, kept: str) -> bytes:
        """Body with so much kept, one of `KEPT`."""
        return {"whole": self.columns, "front": self.front, "summary": NOTHING}[kept].join()


def take_snapshot(generation: Generation) -> Snapshot:
    """A generation as bytes; writable arrays are copied, so that it never changes.

    StoreError when shapes disagree, or a number of the summary is not finite.
    """
    population = generation.population
    genomes, objectives = np.asarray(population.genomes), np.asarray(population.objectives)
    if genomes.ndim != 2 or objectives.ndim != 2:
        raise StoreError(f"generation {generation.number}: genomes and objectives must be tables")
    shape = (len(genomes), genomes.shape[1], objectives.shape[1])
    columns = pack(population)._replace(state=pack_state(generation))
    if not _fits(columns, *shape):
        raise StoreError(f"generation {generation.number}: its columns differ in length")
    names = ("evaluated", "seconds", "repaired", "rejected", "hypervolume")
    summary = {name: getattr(generation, name) for name in names}
    encode(summary, what=f"summary of generation {generation.number}")
    return Snapshot(generation.number, shape, columns, summary)


def pack(population: Population) -> Columns:
    """Columns of a population, as bytes."""
    return Columns(
        genomes=_bytes(population.genomes, "<f8"),
        objectives=_bytes(population.objectives, "<f8"),
        violations=_bytes(population.violations, "<f8"),
        failures=_bytes(population.failures, "<i2"),
        lineage=_bytes(population.lineage, "<i8"),
    )


def unpack(columns: Columns, genes: int, objectives: int) -> Population:
    """The population that `pack` packed; its arrays are read-only."""
    violations = _floats(columns.violations)
    return Population(
        genomes=_floats(columns.genomes).reshape(len(violations), genes),
        objectives=_floats(columns.objectives).reshape(len(violations), objectives),
        violations=violations,
        failures=np.frombuffer(columns.failures, "<i2").astype(np.int16, copy=False),
        lineage=np.frombuffer(columns.lineage, "<i8")
        .astype(np.int64, copy=False)
        .reshape(-1, len(LINEAGE)),
    )


def pack_state(generation: Generation) -> bytes:
    """The archive and the memory of a generation in one piece; empty when it has neither."""
    archive, memory = generation.archive, _bytes(generation.memory, "<f8")
    if not len(archive) and not memory:
        return b""
    sizes = struct.pack(SIZES, len(archive), len(generation.memory))
    return b"".join([sizes, *pack(archive), memory])


def unpack_state(
    state: Bytes, genes: int, objectives: int
) -> tuple[Population, npt.NDArray[np.float64]]:
    """The archive and the memory that `pack_state` packed."""
    if not state:
        return empty_population(genes, objectives), np.empty(0)
    individuals, _ = struct.unpack_from(SIZES, state)
    columns = _split(state[struct.calcsize(SIZES) :], individuals, genes, objectives)
    return unpack(columns, genes, objectives), _floats(columns.state)


def find_front(population: Population) -> npt.NDArray[np.int64]:
    """Indices of the feasible individuals that none dominates, in the population's order."""
    is_ranked = (population.violations == 0) & np.isfinite(population.objectives).all(axis=1)
    ranked: npt.NDArray[np.int64] = np.flatnonzero(is_ranked)
    # A mere reader of records needs no front, and need not wait for the compiler.
    from optimizer.search.selection import first_front

    if not ranked.size or not population.objectives.shape[1]:
        return ranked
    return np.asarray(ranked[first_front(population.objectives[ranked])], dtype=np.int64)


def front_population(population: Population) -> Population:
    """The members of `find_front`."""
    return population.take(find_front(population))


def pack_snapshot(taken: Snapshot) -> Packed:
    """The record of a generation, its population, and that of its front."""
    individuals, genes, objectives = taken.shape
    population = unpack(taken.columns, genes, objectives)
    members = find_front(population)
    whole, front_digest = taken.columns.digests()
    if len(members) == len(population):
        # Soon all are on the front: those bytes are there, and hashed, already.
        front = taken.columns._replace(state=b"")
    else:
        front = pack(population.take(members))
        front_digest = front.digest()
    value = {
        **taken.summary,
        "individuals": individuals,
        "genes": genes,
        "objectives": objectives,
        "front": len(members),
        "n_bytes": taken.columns.n_bytes,
        "front_digest": front_digest.hex(),
    }
    return Packed(encode(value, what="a generation"), whole, taken.columns, front)


def measure_whole(individuals: int, genes: int, objectives: int) -> int:
    """Size in bytes of the columns of a population."""
    return individuals * sum(_widths(genes, objectives))


def _widths(genes: int, objectives: int) -> tuple[int, ...]:
    """Bytes that an individual takes in each column but the state."""
    lineage = len(LINEAGE) * NUMBER_BYTES
    return genes * NUMBER_BYTES, objectives * NUMBER_BYTES, NUMBER_BYTES, CODE_BYTES, lineage


def _split(joined: Bytes, individuals: int, genes: int, objectives: int) -> Columns:
    """Columns of a population in one piece; the rest of it is the state."""
    widths = [individuals * width for width in _widths(genes, objectives)]
    ends = [*accumulate(widths, initial=0), len(joined)]
    # Each in memory of its own, where its numbers are aligned.
    return Columns(*(joined[start:end] for start, end in pairwise(ends)))


def _fits(columns: Columns, individuals: int, genes: int, objectives: int) -> bool:
    *population, _ = columns
    expected = [individuals * width for width in _widths(genes, objectives)]
    return [len(column) for column in population] == expected


def _bytes(array: npt.ArrayLike, dtype: str) -> Bytes:
    plain = np.ascontiguousarray(array, dtype=dtype)
    return plain.tobytes() if plain.flags.writeable else plain.reshape(-1).view(np.uint8).data


def _floats(column: Bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(column, "<f8").astype(np.float64, copy=False)
