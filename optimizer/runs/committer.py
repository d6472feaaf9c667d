"""Writes groups of generations, each group one transaction, and drops what need not be kept."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from optimizer.runs.chain import Recovery
from optimizer.runs.database import (
    make_plain,
    no_room,
    remove_after,
    transaction,
    write_result,
    write_resumption,
    write_row,
)
from optimizer.runs.lock import OwnerLock
from optimizer.runs.rows import NOTHING, Snapshot, link
from optimizer.runs.space import WHOLE_GENERATIONS, Keep
from optimizer.runs.thinning import Thinning


@dataclass(frozen=True)
class Note:
    """JSON to be recorded beside the generations.

    Args:
        kind: ``"result"`` or ``"resumption"``.
        payload: The JSON.
    """

    kind: Literal["result", "resumption"]
    payload: bytes

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return len(self.payload)


Record = Snapshot | Note


class Committer:
    """The only writer of a run's database; after an error it is closed and never tried again."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        lock: OwnerLock,
        *,
        keep: Keep,
        budget: int | None,
        recovery: Recovery,
    ) -> None:
        self._connection = connection
        self._path = path
        self._lock = lock
        self._keep = keep
        self._thinning = Thinning(connection, keep=keep, budget=budget)
        self._chain = recovery.chain
        self._last = self._newest = recovery.number
        self._is_clean = False

    def commit(self, records: Sequence[Record]) -> None:
        """Write all records, or none.

        Raises:
            StoreError: When the disk does not take them; this committer is then of no more use.
        """
        try:
            with transaction(self._connection):
                numbers = [record.number for record in records if isinstance(record, Snapshot)]
                self._newest = max(numbers, default=self._newest)
                for record in records:
                    self._write(record)
                self._thinning.thin(self._last)
            self._lock.note(self._last)
        except (sqlite3.Error, OSError) as error:
            # A file whose write or sync failed once is not trusted again with this descriptor.
            self._connection.close()
            needed = sum(record.n_bytes for record in records)
            raise no_room(error, self._path, needed) from None

    def close(self) -> None:
        """Leave one plain file behind.

        Raises:
            StoreError: When the last of it cannot be written; all commits stay safe in the log.
        """
        try:
            make_plain(self._connection)
        except sqlite3.Error as error:
            log = self._path.with_name(self._path.name + "-wal")
            raise no_room(error, self._path, log.stat().st_size if log.exists() else 0) from None
        finally:
            self._connection.close()

    def _write(self, record: Record) -> None:
        if isinstance(record, Note):
            self._write_note(record)
            return
        if not self._is_clean:
            # What was damaged, and a result that no longer is the end, give way to what follows.
            remove_after(self._connection, self._last)
            self._thinning.removed()
            self._is_clean = True
        digests, front = link(record, self._chain)
        if self._keep == "all" or digests.number > self._newest - WHOLE_GENERATIONS:
            kept, columns = "whole", record.columns
        else:
            kept, columns = ("front", front) if self._keep == "front" else ("summary", NOTHING)
        write_row(self._connection, replace(digests, kept=kept), columns)
        self._thinning.added(columns)
        self._chain, self._last = digests.chain, digests.number

    def _write_note(self, note: Note) -> None:
        if note.kind == "result":
            write_result(self._connection, note.payload, self._chain)
        else:
            write_resumption(self._connection, note.payload)
