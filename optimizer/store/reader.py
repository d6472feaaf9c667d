"""Reader of a run: while it is written, after it ended, or of what damage has left."""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from optimizer.config.values import Keep
from optimizer.errors import StoreError
from optimizer.search.generation import Generation, Population
from optimizer.store.chain import (
    LOST,
    Chain,
    Recovery,
    decode_note,
    find_losses,
    follow_chain,
    list_resumption_problems,
    load_columns,
    load_generation,
    read_evidence,
    recover,
)
from optimizer.store.database import (
    check_integrity,
    count_rows,
    has_evidence,
    open_reader,
    read_header,
    read_result,
    read_resumptions,
    translate_sqlite_errors,
)
from optimizer.store.files import DATABASE, refuse_links
from optimizer.store.lock import read_owner
from optimizer.store.payload import read_mapping, require_mapping, sha256
from optimizer.store.rows import Digests, GenerationSummary, front_population, unpack
from optimizer.store.space import KEEPS

FORMER_NAMES = (
    ("engine", 3, {"sharpe": "sharpe_trade", "sharpe_annual": "sharpe"}),
    ("search", 4, {"calmar": "calmar_simple"}),
)
"""Versions that changed names of metrics, and the present names of former ones."""

FIELDS = frozenset(
    [
        "by_window",
        "constraints",
        "failure_names",
        "infeasible",
        "metrics",
        "objectives",
        "rejected",
        "undefined",
    ]
)
"""Fields of headers, results and summaries that hold names of metrics, or texts with such in them.

Others keep what they say: a gene, a folder or a symbol may bear the same name."""

NOT_FOLLOWING = "the result does not follow from the last generation"


class Reader:
    """The database of a run's directory, open for reading; metrics bear their present names.

    Raises:
        StoreError: When it is not a run that this version can read, or its header is damaged.
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
        try:
            self.payload = read_header(self._connection, self.database)
            self.format, header = _split_header(self.payload, self.database)
            self._renames = list_renames(header)
            self.header = self._rename_metrics(header)
        except BaseException:
            self._connection.close()
            raise

    @property
    def planned(self) -> int | None:
        """Number of generations that the run was last asked for; None where it is not recorded.

        A run may be resumed for more than it was begun for; the header stays as it was.
        """
        plans = [self.header, *self.resumptions]
        plans_said = [
            plan["generations"] for plan in plans if isinstance(plan.get("generations"), int)
        ]
        newest = plans_said[-1] if plans_said else None
        return newest if isinstance(newest, int) else None

    @property
    def keep(self) -> Keep:
        """Extent that stays of generations before the newest two."""
        return next(known for known in KEEPS if known == self.format["keep"])

    @property
    def number(self) -> int:
        """Rank of the run among those of its directory, in the order of creation; 0 if unknown."""
        number = self.format.get("number")
        return number if isinstance(number, int) else 0

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def recover(self) -> Recovery:
        """Generation from which the run can be taken up, from `chain.recover`."""
        # Before the rows are looked at: the owner may commit more meanwhile, never less.
        noted = read_owner(self.path)
        with self._snapshot():
            return recover(self._connection, sha256(self.payload), noted)

    def find_losses(self) -> tuple[str, ...]:
        """Losses of all that was recorded, a line each: those that an owner noticed stay first."""
        return tuple(dict.fromkeys((*self.list_noticed_losses(), *self.find_present_losses())))

    def find_present_losses(self) -> tuple[str, ...]:
        """Losses of what the last owner noted to be on disk, whoever noticed them before."""
        noted = read_owner(self.path)
        with self._snapshot(), _name_damaged(self.database):
            return find_losses(self._connection, self._follow_chain(), noted)

    def list_noticed_losses(self) -> list[str]:
        """Losses that the record itself says, a line each."""
        noted = [note[LOST] for note in self.resumptions if LOST in note]
        lines = [line for lost in noted for line in (lost if isinstance(lost, list) else [lost])]
        return [" ".join(str(line).split()) for line in lines]

    def count_rows(self) -> dict[str, int]:
        """Rows of result, evidence and resumptions, by table."""
        with self._snapshot():
            return count_rows(self._connection)

    def generations(self) -> tuple[GenerationSummary, ...]:
        """Summaries of all generations that can be trusted, oldest first.

        Raises:
            StoreError: When one cannot be read.
        """
        with self._snapshot(), _name_damaged(self.database):
            return tuple(self._decode_summary(digests) for digests in self._follow_chain().rows)

    def follow(self, known: Chain | None = None) -> Chain:
        """Rows of all generations; of a `known` chain that still holds, those after it are read."""
        with self._snapshot():
            return self._follow_chain(known)

    def generation(self, number: int) -> Generation:
        """A whole generation.

        Raises:
            StoreError: When it was not recorded, not kept, or is damaged.
        """
        with self._snapshot(), _name_damaged(f"{self.path.name}, generation {number}"):
            return load_generation(self._connection, self._follow_chain().row(number))

    def front(self, number: int) -> Population:
        """Feasible individuals of a generation that none dominates, in order of survival.

        Raises:
            StoreError: When it was not recorded, not kept, or is damaged.
        """
        with self._snapshot(), _name_damaged(f"{self.path.name}, generation {number}"):
            digests = self._follow_chain().row(number)
            if digests.kept == "summary":
                raise ValueError("only its summary was kept")
            columns = load_columns(self._connection, digests)
            population = unpack(columns, digests.genes, digests.objectives)
            return front_population(population)

    @property
    def result(self) -> Mapping[str, object] | None:
        """Result of the run, None before its end.

        Raises:
            StoreError: When it is damaged, or does not follow from the recorded generations.
        """
        with self._snapshot(), _name_damaged(self.database):
            recorded = read_result(self._connection)
            if recorded is None:
                return None
            chain = self._follow_chain()
            if not _is_following(recorded, chain):
                raise ValueError(f"{NOT_FOLLOWING}: {chain.broken or 'it was changed afterwards'}")
            return self._rename_metrics(read_mapping(recorded[0]))

    @property
    def evidence(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """Names and rows of what was found out about the result, oldest first.

        Raises:
            StoreError: When it is damaged, or does not follow from the result.
        """
        with self._snapshot(), _name_damaged(self.database):
            return tuple((name, read_mapping(row)) for name, row in self._read_evidence())

    @property
    def resumptions(self) -> tuple[Mapping[str, object], ...]:
        """When the run was taken up again, and what had changed or was lost, as far as is readable.

        Nothing hangs on such a note, so one that is damaged is left out; `verify` names it.
        """
        with self._snapshot():
            notes = map(decode_note, read_resumptions(self._connection))
            return tuple(note for note in notes if note is not None)

    def verify(self) -> list[str]:
        """Everything that is or was wrong, one line each, found by reading everything."""
        return list(dict.fromkeys((*self.list_noticed_losses(), *self.find_damage())))

    def find_damage(self) -> list[str]:
        """Everything that is wrong now, one line each, found by reading everything."""
        noted = read_owner(self.path)
        with self._snapshot():
            lines = [f"database: {line}" for line in check_integrity(self._connection)]
            chain = self._follow_chain()
            lines.extend(find_losses(self._connection, chain, noted))
            lines.extend(self._list_row_problems(chain))
            lines.extend(self._list_result_problems(chain))
            lines.extend(list_resumption_problems(read_resumptions(self._connection)))
        return lines

    def _rename_metrics(self, recorded: Mapping[str, object]) -> Mapping[str, object]:
        return rename_metrics(recorded, self._renames) if self._renames else recorded

    def _decode_summary(self, digests: Digests) -> GenerationSummary:
        try:
            summary = digests.decode_summary()
        except ValueError as error:
            raise ValueError(f"generation {digests.number}: {error}") from None
        named = self._rename_metrics({"rejected": summary.rejected})["rejected"]
        return replace(summary, rejected=named) if isinstance(named, Mapping) else summary

    def _list_row_problems(self, chain: Chain) -> Iterator[str]:
        for digests in chain.rows:
            try:
                load_columns(self._connection, digests)
                digests.decode_summary()
            except ValueError as error:
                yield f"generation {digests.number}: {error}"

    def _list_result_problems(self, chain: Chain) -> Iterator[str]:
        try:
            recorded = read_result(self._connection)
            if recorded is not None:
                read_mapping(recorded[0])
                if not _is_following(recorded, chain):
                    yield NOT_FOLLOWING
            self._read_evidence()
        except (sqlite3.Error, ValueError) as error:
            yield f"result: {error}"

    def _read_evidence(self) -> list[tuple[str, bytes]]:
        recorded = read_result(self._connection)
        if recorded is None or not has_evidence(self._connection):
            return []
        return read_evidence(self._connection, recorded[1])

    def _follow_chain(self, known: Chain | None = None) -> Chain:
        """The chain, followed anew only after a commit since the last time."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if self._followed is None or self._followed[0] != version:
            self._followed = version, follow_chain(self._connection, sha256(self.payload), known)
        return self._followed[1]

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """See one state of the run throughout, whatever its owner does meanwhile."""
        with translate_sqlite_errors(self.database):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def list_renames(header: Mapping[str, object]) -> dict[str, str]:
    """Present names of metrics by those that the versions in a run's header had for them."""
    versions = header.get("versions")
    known = versions if isinstance(versions, Mapping) else {}
    renames: dict[str, str] = {}
    for part, first, names in FORMER_NAMES:
        version = known.get(part)
        if isinstance(version, int) and version < first:
            renames |= names
    return renames


def rename_metrics(recorded: Mapping[str, object], renames: Mapping[str, str]) -> dict[str, object]:
    """Record of an older run, as plain JSON, with the present names of metrics."""
    former = re.compile(rf"\b({'|'.join(renames)})\b")

    def rename(value: object) -> object:
        """Value with present names in every key and text."""
        if isinstance(value, str):
            return former.sub(lambda name: renames[name[1]], value)
        if isinstance(value, Mapping):
            return {rename(key): rename(inner) for key, inner in value.items()}
        return [rename(inner) for inner in value] if isinstance(value, list) else value

    def search(value: object) -> object:
        """Value with present names in those fields alone that hold names of metrics."""
        if isinstance(value, Mapping):
            return {
                key: (rename if key in FIELDS else search)(inner_value)
                for key, inner_value in value.items()
            }
        return [search(inner) for inner in value] if isinstance(value, list) else value

    return {
        key: (rename if key in FIELDS else search)(inner_value)
        for key, inner_value in recorded.items()
    }


@contextmanager
def _name_damaged(what: object) -> Iterator[None]:
    """Say of what it is that cannot be read."""
    try:
        yield
    except ValueError as error:
        raise StoreError(f"{what}: {error}") from None


def _is_following(recorded: tuple[bytes, bytes], chain: Chain) -> bool:
    """Whether a result with its link is that of the rows of a chain."""
    payload, link = recorded
    return link == sha256(chain.tail, payload)


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
