"""Reading of a run, also beside its owner."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from optimizer.config.values import Keep
from optimizer.errors import StoreError
from optimizer.search.generation import Generation, Population
from optimizer.store.files import DATABASE, Owner, read_owner, refuse_links
from optimizer.store.log import (
    Chain,
    Record,
    Recovery,
    follow,
    list_generation_problems,
    list_summaries,
    load_generation,
    read_body,
    read_header,
    recover,
)
from optimizer.store.log_file import KEEPS, check_integrity, open_reader, translate_sqlite_errors
from optimizer.store.payload import read_mapping, require_mapping
from optimizer.store.rows import GenerationSummary, RecordedGeneration

LEAST: Mapping[str, str] = {"all": "whole", "front": "front", "last": "summary"}
"""Extent that every generation of a run keeps at least, by the run's `keep`."""


class Reader:
    """The log of a run's directory, open for reading.

    StoreError when it is not a run that this version can read, or what is asked for cannot be read.
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
            self.payload = read_header(self._connection, self.database)
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
        """Generation from which the run can be taken up, from `log.recover`."""
        with self._reading():
            return recover(self._connection, self._follow(), self._noted)

    def find_losses(self) -> tuple[str, ...]:
        """Losses of records, a line each: those that an owner noticed stay first."""
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
        with self._reading():
            return tuple(list_summaries(self._connection, self._follow().generations[start:]))

    def generation(self, number: int) -> Generation:
        """A whole generation; StoreError when it was not recorded, not kept, or is damaged."""
        with self._reading(f"{self.path.name}, generation {number}"):
            return load_generation(self._connection, self._find_generation(number))

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
            lines.extend(list_generation_problems(self._connection, chain, LEAST[self.keep]))
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
            self._followed = version, follow(self._connection, before)
        self._is_followed = True
        return self._followed[1]

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
