"""A generation as a row: arrays as little-endian bytes, a summary as JSON, and their digests.

The digest of a row covers its number, its shapes, its summary, its whole population and its front,
and the digest of the row before. So a row whose population was dropped to save space still links
its neighbours, and what was kept of it can still be checked.
"""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from optimizer.errors import StoreError
from optimizer.search.generation import LINEAGE, Generation, Population, empty_population
from optimizer.store.payload import Payload, decode, encode, sha256

KEPT = ("whole", "front", "summary")
"""Extents of a generation's population that a row may hold, the most first."""

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

    def digest(self) -> bytes:
        """SHA-256 over the columns; the shapes that part them are in the row's digest."""
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
"""Columns of a row of which only the summary is kept."""


def count_rejected(summaries: Iterable["GenerationSummary"]) -> dict[str, int]:
    """Count of failures among all that generations evaluated, by reason; sorted by name."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        counts.update(summary.rejected)
    return dict(sorted(counts.items()))


@dataclass(frozen=True)
class GenerationSummary(Payload):
    """Summary of a generation, which every row keeps."""

    what: ClassVar[str] = "the summary"

    number: int  # 0 for the initial population
    individuals: int
    front: int  # how many of them are feasible and dominated by none
    evaluated: int
    seconds: float
    repaired: int  # individuals whose genes broke a constraint and were repaired
    rejected: Mapping[str, int]  # name of a failure to how many of the evaluated had it
    kept: str  # how much of the population is still recorded, one of `KEPT`
    hypervolume: float  # as in `Generation`


@dataclass(frozen=True)
class Snapshot:
    """A generation as it was when it was handed over, not yet hashed."""

    number: int
    shape: tuple[int, int, int]  # P, G, O
    columns: Columns
    summary: bytes  # JSON of the rest

    @property
    def n_bytes(self) -> int:
        """Size of the population and its state in bytes."""
        return measure_whole(*self.shape) + len(self.columns.state)


class Digests(NamedTuple):
    """The part of a row that links it to its neighbours; small, and never dropped.

    `individuals`, `genes` and `objectives` are P, G and O.
    """

    number: int
    individuals: int
    genes: int
    objectives: int
    front: int  # individuals on the front
    kept: str  # one of `KEPT`; the only field that may change later, so the only one not hashed
    summary: bytes
    whole_sha: bytes  # digest of the whole population's columns
    front_sha: bytes  # digest of the front's columns
    chain: bytes  # digest of all of these and of the row before

    def compute_chain_digest(self, previous: bytes) -> bytes:
        """The digest that this row must have when `previous` is the digest of the one before."""
        numbers = (self.number, self.individuals, self.genes, self.objectives, self.front)
        return sha256(
            previous, struct.pack("<5q", *numbers), self.whole_sha, self.front_sha, self.summary
        )

    def decode_summary(self) -> GenerationSummary:
        """The summary in words that a program can use.

        Raises:
            ValueError: When the recorded JSON is not that of a generation.
        """
        summary = decode(self.summary)
        row = {name: getattr(self, name) for name in ("number", "individuals", "front", "kept")}
        try:
            return GenerationSummary.read(
                {**summary, **row} if isinstance(summary, dict) else summary
            )
        except StoreError as error:
            raise ValueError(str(error)) from None


def take_snapshot(generation: Generation) -> Snapshot:
    """A generation as bytes; arrays that can be written are copied, so that it stays what it is.

    Raises:
        StoreError: When shapes disagree, or a number of the summary is not finite.
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
    what = f"summary of generation {generation.number}"
    return Snapshot(generation.number, shape, columns, encode(summary, what=what))


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
    ends = [struct.calcsize(SIZES)]
    for width in _widths(genes, objectives):
        ends.append(ends[-1] + individuals * width)
    columns = Columns(*(state[start:end] for start, end in pairwise(ends)))
    return unpack(columns, genes, objectives), _floats(state[ends[-1] :])


def find_front(population: Population) -> npt.NDArray[np.int64]:
    """Indices of the feasible individuals that none dominates, in the population's order."""
    is_ranked = (population.violations == 0) & np.isfinite(population.objectives).all(axis=1)
    ranked: npt.NDArray[np.int64] = np.flatnonzero(is_ranked)
    # Who only looks at what is recorded asks for no front, and need not wait for the compiler.
    from optimizer.search.ranking import first_front

    if not ranked.size or not population.objectives.shape[1]:
        return ranked
    return np.asarray(ranked[first_front(population.objectives[ranked])], dtype=np.int64)


def front_population(population: Population) -> Population:
    """The members of `find_front`."""
    return population.take(find_front(population))


def link(taken: Snapshot, previous: bytes) -> tuple[Digests, Columns]:
    """Digests of a generation that follows the row whose digest is `previous`, and its front."""
    _, genes, objectives = taken.shape
    population = unpack(taken.columns, genes, objectives)
    members = find_front(population)
    whole_sha, front_sha = taken.columns.digests()
    if len(members) == len(population):
        # Before long all are on the front: those bytes are there, and hashed, already.
        packed = taken.columns._replace(state=b"")
    else:
        packed = pack(population.take(members))
        front_sha = packed.digest()
    unlinked = Digests(
        number=taken.number,
        individuals=taken.shape[0],
        genes=genes,
        objectives=objectives,
        front=len(members),
        kept="whole",
        summary=taken.summary,
        whole_sha=whole_sha,
        front_sha=front_sha,
        chain=b"",
    )
    return unlinked._replace(chain=unlinked.compute_chain_digest(previous)), packed


def require_sound(digests: Digests, columns: Columns) -> None:
    """Refuse columns that are not those of a row that is linked; ValueError names why."""
    individuals, expected = {
        "whole": (digests.individuals, digests.whole_sha),
        "front": (digests.front, digests.front_sha),
        "summary": (0, None),
    }[digests.kept]
    if not _fits(columns, individuals, digests.genes, digests.objectives):
        raise ValueError("its population does not have the recorded shape")
    if expected is not None and columns.digest() != expected:
        raise ValueError("its population does not match its SHA-256")


def measure_whole(individuals: int, genes: int, objectives: int) -> int:
    """Size in bytes of the columns of a population."""
    return individuals * sum(_widths(genes, objectives))


def _widths(genes: int, objectives: int) -> tuple[int, ...]:
    """Bytes that an individual takes in each column but the state."""
    lineage = len(LINEAGE) * NUMBER_BYTES
    return genes * NUMBER_BYTES, objectives * NUMBER_BYTES, NUMBER_BYTES, CODE_BYTES, lineage


def _fits(columns: Columns, individuals: int, genes: int, objectives: int) -> bool:
    *population, _ = columns
    expected = [individuals * width for width in _widths(genes, objectives)]
    return [len(column) for column in population] == expected


def _bytes(array: npt.ArrayLike, dtype: str) -> Bytes:
    plain = np.ascontiguousarray(array, dtype=dtype)
    return plain.tobytes() if plain.flags.writeable else plain.reshape(-1).view(np.uint8).data


def _floats(column: Bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(column, "<f8").astype(np.float64, copy=False)
