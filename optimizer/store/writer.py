"""Writer of a run, which its owner alone has: takes generations, commits groups, drops old ones."""

import logging
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from data.shell import write_command
from optimizer.config.values import Keep
from optimizer.errors import DisturbedError, StoreError
from optimizer.formatting import format_count
from optimizer.search.generation import Generation
from optimizer.store.chain import (
    Recovery,
    append_evidence,
    load_columns,
    replace_result,
    set_evidence_aside,
)
from optimizer.store.database import (
    count_rows,
    delete_newer_generations,
    make_plain,
    measure_log,
    open_writer,
    read_digests,
    shrink_row,
    transaction,
    write_resumption,
    write_row,
)
from optimizer.store.lock import OwnerLock
from optimizer.store.reader import Reader
from optimizer.store.recorder import Note, Record, Recorder
from optimizer.store.rows import (
    KEPT,
    NOTHING,
    Digests,
    Snapshot,
    front_population,
    link,
    pack,
    take_snapshot,
    unpack,
)
from optimizer.store.space import LOG_BYTES, WHOLE_GENERATIONS, build_write_error

LOG = logging.getLogger(__name__)

SEVERAL_LOGS = 4
"""A log of so many times `LOG_BYTES` and the group written last is spoken of."""


class Writer:
    """Takes generations one after the other and has them recorded.

    Args:
        reader: Of the same run, with the settings of its record.
        recovery: What the run holds already.

    Attributes:
        last: Number of the newest generation that was taken, -1 before the first.
        recorder: The thread that records.
    """

    def __init__(self, reader: Reader, lock: OwnerLock, recovery: Recovery) -> None:
        self.last = recovery.number
        self._width = None
        if recovery.generation is not None:
            self._width = take_snapshot(recovery.generation).shape[1:]
        self._committer = Committer(reader, lock, recovery)
        self.recorder = Recorder(self._committer.commit)

    def record(self, generation: Generation) -> None:
        """Take the next generation.

        Raises:
            StoreError: When it is not the next one, is of another shape, or recording has failed.
        """
        if generation.number != self.last + 1:
            raise StoreError(
                f"generation {generation.number} cannot follow generation {self.last}: "
                f"the next to record is {self.last + 1}"
            )
        taken = take_snapshot(generation)
        if self._width not in (None, taken.shape[1:]):
            raise StoreError(
                f"generation {generation.number} has {taken.shape[1:]} genes and objectives, "
                f"those before it {self._width}"
            )
        self.recorder.submit(taken)
        self.last, self._width = generation.number, taken.shape[1:]

    def close(self) -> None:
        """Record what is left."""
        self.recorder.stop()
        self.recorder.check()
        self._committer.close()

    def require_kept(self, reader: Reader) -> None:
        """Compare what was acknowledged with what `reader`, opened anew, has of it.

        Raises:
            DisturbedError: When that is less, because another program wrote to the run's files.
        """
        recovery, rows = reader.recover(), reader.count_rows()
        if (recovery.chain, rows) == (self._committer.chain, self._committer.rows):
            return
        lines = [*recovery.warnings, *reader.find_present_losses()] or [
            "rows differ from those recorded"
        ]
        raise DisturbedError(
            f"{reader.database} does not hold what was recorded ({lines[0]}): another program "
            "changed it while it was written; see "
            f"{write_command('runs', 'verify', reader.path)}"
        )


class Committer:
    """The only writer of a run's database; after an error it is closed and never tried again."""

    def __init__(self, reader: Reader, lock: OwnerLock, recovery: Recovery) -> None:
        self._path, self._keep = reader.database, reader.keep
        self._connection = open_writer(self._path)
        self._lock = lock
        self._presence = Presence(self._path, lock)
        self._thinning = Thinning(self._connection, keep=self._keep)
        self.chain = recovery.chain
        self.rows: Mapping[str, int] = count_rows(self._connection)
        self._last = self._newest = recovery.number
        self._is_clean = False
        self._said_bytes = 0

    def commit(self, records: Sequence[Record]) -> None:
        """Write all records, or none.

        Raises:
            StoreError: When the disk does not take them; this committer is then of no more use.
        """
        try:
            self._presence.check()
            self._note_removal(records)
            with transaction(self._connection):
                numbers = [record.number for record in records if isinstance(record, Snapshot)]
                self._newest = max(numbers, default=self._newest)
                for record in records:
                    self._write(record)
                if self._keep != "all":
                    self._thinning.thin(self._last)
            self._presence.check()
            self.rows = count_rows(self._connection)
            self._lock.count_rows(self.rows)
            self._lock.note(self._last, is_final=self._is_clean)
            self._watch_log(sum(record.n_bytes for record in records))
        except (sqlite3.Error, OSError) as error:
            # A file whose write or sync failed once is not trusted again with this descriptor.
            self._connection.close()
            needed = sum(record.n_bytes for record in records)
            raise build_write_error(error, self._path, needed) from None
        except DisturbedError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Leave one plain file behind; all commits stay safe in the log when that fails."""
        try:
            self._presence.check()
            make_plain(self._connection)
            self._presence.check()
        except sqlite3.Error as error:
            raise build_write_error(error, self._path, measure_log(self._path)) from None
        finally:
            self._connection.close()

    def _note_removal(self, records: Sequence[Record]) -> None:
        """Note what is left where records take the place of others, lest a kill seem a loss."""
        is_end = any(isinstance(record, Note) and record.kind == "result" for record in records)
        if is_end or (
            not self._is_clean and any(isinstance(record, Snapshot) for record in records)
        ):
            self._lock.count_rows({})
            self._lock.note(self._last)

    def _watch_log(self, group: int) -> None:
        """Warn when the log grows, as it does while one old state of the run is read.

        A log that was folded into the file is cut to `LOG_BYTES`; what is beyond was not.
        """
        size = measure_log(self._path)
        if size > max(self._said_bytes, SEVERAL_LOGS * (LOG_BYTES + group)):
            self._said_bytes = 2 * size
            LOG.warning(
                f"{self._path}-wal has grown to {size / 1e6:,.0f} MB: another program has held "
                f"{self._path.name} open since it was smaller; end it, or the log grows on"
            )

    def _write(self, record: Record) -> None:
        if isinstance(record, Note):
            self._write_note(record)
            return
        if not self._is_clean:
            # What was damaged, and a result that no longer is the end, give way to what follows.
            set_evidence_aside(self._connection)
            delete_newer_generations(self._connection, self._last)
            self._is_clean = True
        digests, front = link(record, self.chain)
        if self._keep == "all" or digests.number > self._newest - WHOLE_GENERATIONS:
            kept, columns = "whole", record.columns
        else:
            kept, columns = ("front", front) if self._keep == "front" else ("summary", NOTHING)
        write_row(self._connection, digests._replace(kept=kept), columns)
        self.chain, self._last = digests.chain, digests.number

    def _write_note(self, note: Note) -> None:
        if note.kind == "result":
            _say_what_stays(*replace_result(self._connection, note.payload, self.chain))
        elif note.kind == "evidence":
            append_evidence(self._connection, note.name, note.payload)
        else:
            write_resumption(self._connection, note.payload)


def _say_what_stays(kept: int, removed: int) -> None:
    """Tell what became of evidence on an earlier result of the run."""
    if kept:
        LOG.info(f"the same front as before: {format_count(kept, 'row')} of evidence on it stay")
    if removed:
        LOG.warning(
            f"{format_count(removed, 'row')} of evidence on the run's earlier result are removed: "
            "another search than the present one found it, which is to be judged anew"
        )


class Thinning:
    """Thinning of older generations, in the transaction of the caller.

    Args:
        connection: The writer's.
        keep: What stays of them, ``"front"`` or ``"last"``.
    """

    def __init__(self, connection: sqlite3.Connection, *, keep: Keep) -> None:
        self._connection = connection
        self._kept = "front" if keep == "front" else "summary"
        self._begin = 0
        """Generations before this number are thinned already."""

    def thin(self, newest: int) -> None:
        """Leave no more than is kept of generations before the newest two."""
        end = newest + 1 - WHOLE_GENERATIONS
        for digests in list(read_digests(self._connection, self._begin, end)):
            if KEPT.index(digests.kept) < KEPT.index(self._kept):
                self._replace(digests)
        self._begin = max(self._begin, end)

    def _replace(self, digests: Digests) -> None:
        try:
            columns = load_columns(self._connection, digests)
        except ValueError:
            # A damaged population stays as it is, for `verify` to report.
            return
        left = NOTHING
        if self._kept == "front":
            left = pack(front_population(unpack(columns, digests.genes, digests.objectives)))
        shrink_row(self._connection, digests._replace(kept=self._kept), left)


class Presence:
    """State of a run's database that its owner saw last.

    Args:
        database: Its path.
        lock: Of the owner, which holds the run's folder open.
    """

    def __init__(self, database: Path, lock: OwnerLock) -> None:
        self._database, self._lock = database, lock
        self._seen = os.stat(database)

    def check(self) -> None:
        """Require the file that was seen before.

        A database grows or stays as it is: rows give way to others, and pages are not given back.

        Raises:
            DisturbedError: When it was moved, removed, replaced or cut, with what to do.
        """
        try:
            present = os.stat(self._database)
        except OSError:
            raise DisturbedError(self._describe_absence()) from None
        if not os.path.samestat(self._seen, present):
            raise DisturbedError(
                f"{self._database} was replaced by another file while the run was written: what "
                f"was recorded is not in it; {self._advice(self._database.parent)}"
            )
        if present.st_size < self._seen.st_size:
            raise DisturbedError(
                f"{self._database} was cut from {self._seen.st_size:,} to {present.st_size:,} "
                "bytes by another program while the run was written: what was recorded is partly "
                f"lost; {self._advice(self._database.parent)}"
            )
        self._seen = present

    def _describe_absence(self) -> str:
        run, now = self._database.parent, self._lock.find_folder()
        if now is None or not (now / self._database.name).exists():
            return (
                f"{self._database} was removed while the run was written: what was recorded is "
                "lost, start a new run"
            )
        return (
            f"run '{run.name}' was moved to {now} while it was written: what was recorded is "
            f"there, go on with: {write_command('evolve', '--resume', now)}"
        )

    @staticmethod
    def _advice(run: Path) -> str:
        return f"what is left says: {write_command('runs', 'verify', run)}"
