"""Writer of a run, which its owner alone has: a thread commits records in groups.

It works off the search's path, at least once a second, and thins old generations.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from data.shell import write_command
from optimizer.errors import DisturbedError, StoreError
from optimizer.formatting import format_count
from optimizer.search.generation import Generation
from optimizer.store.files import OwnerLock
from optimizer.store.log import (
    LEAST,
    Chain,
    Reader,
    Record,
    Recovery,
    append,
    digest_subject,
    drop_tail,
    find_subject,
    read_body,
    replace_body,
)
from optimizer.store.log_file import (
    LOG_BYTES,
    WHOLE_GENERATIONS,
    build_write_error,
    make_plain,
    measure_log,
    open_writer,
    transaction,
)
from optimizer.store.rows import RecordedGeneration, Snapshot, pack_snapshot, take_snapshot

GROUP_SECONDS = 0.5
"""A group is committed at the latest so long after its first record was handed over."""

QUEUE_BYTES = 16 * 2**20
"""Records beyond this wait at the caller's side until the disk has caught up; a group is half."""

LOG = logging.getLogger(__name__)

SEVERAL_LOGS = 4
"""A log of so many times `LOG_BYTES` and the group written last is named to a person."""


@dataclass(frozen=True)
class Note:
    """JSON to be recorded beside the generations; a row of evidence has a name."""

    kind: Literal["result", "resumption", "evidence", "loss"]
    payload: bytes
    name: str = ""

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return len(self.payload)


Item = Snapshot | Note
"""Things that are recorded."""


class Recorder:
    """A bounded queue, and a thread that empties it.

    Every call after recording has failed raises a StoreError. The thread alone calls `commit`,
    which writes a group, all or nothing; one item is always taken, however large.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Item]], None],
        *,
        group_seconds: float = GROUP_SECONDS,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self._commit = commit
        self._group_seconds = group_seconds
        self._queue_bytes = queue_bytes
        self._changed = threading.Condition()
        self._queue: list[Item] = []
        self._n_bytes = 0
        self._is_busy = False
        self._is_urgent = False
        self._is_closing = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="run-recorder", daemon=True)
        self._thread.start()

    def submit(self, record: Item) -> None:
        """Hand a record over; waits only while the queue is full."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure or self._has_room(record.n_bytes))
            self._raise_failure()
            self._queue.append(record)
            self._n_bytes += record.n_bytes
            if len(self._queue) == 1 or self._is_full():
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all that was handed over is on disk."""
        with self._changed:
            self._is_urgent = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._failure or not (self._queue or self._is_busy))
            self._is_urgent = False
            self._raise_failure()

    def stop(self) -> None:
        """Record the rest and end the thread; never raises for a failure of recording."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()

    def check(self) -> None:
        """Say so when recording has failed."""
        with self._changed:
            self._raise_failure()

    def _run(self) -> None:
        while group := self._next_group():
            try:
                self._commit(group)
            except Exception as error:
                self._fail(error)
                return
            # Before the next one is waited for: it may be half of the queue's bytes.
            del group
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()

    def _next_group(self) -> Sequence[Item]:
        """Records that are queued, once they are due; empty at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_closing)
            self._changed.wait_for(self._is_due, timeout=self._group_seconds)
            group, self._queue, self._n_bytes = self._queue, [], 0
            self._is_busy = bool(group)
            self._changed.notify_all()
            return group

    def _is_due(self) -> bool:
        return self._is_urgent or self._is_closing or self._is_full()

    def _is_full(self) -> bool:
        # Half of the bytes, so that the search fills one half while the other is written.
        return self._n_bytes * 2 >= self._queue_bytes

    def _has_room(self, n_bytes: int) -> bool:
        return not self._queue or self._n_bytes + n_bytes <= self._queue_bytes

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._failure = error
            self._queue.clear()
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if isinstance(self._failure, StoreError):
            raise type(self._failure)(str(self._failure)) from None
        if self._failure is not None:
            raise RuntimeError("recording stopped by a defect of ours") from self._failure


class Writer:
    """Takes generations one after the other and has them recorded.

    The recovery has the records that the run holds already, and the generation to go on from.

    Attributes:
        last: Number of the newest generation that was taken, -1 before the first.
        recorder: The thread that records.
    """

    def __init__(self, reader: Reader, lock: OwnerLock, recovery: Recovery) -> None:
        self.last = recovery.number
        self._width = None
        if recovery.generation is not None:
            self._width = take_snapshot(recovery.generation).shape[1:]
        self._committer = Committer(reader, lock, recovery.chain)
        self.recorder = Recorder(self._committer.commit)

    def record(self, generation: Generation) -> None:
        """Take the next generation.

        StoreError when it is not the next one, is of another shape, or recording has failed.
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
        """Record the rest."""
        self.recorder.stop()
        self.recorder.check()
        self._committer.close()

    def require_kept(self, reader: Reader) -> None:
        """Compare all acknowledged records with those of `reader`, opened anew.

        DisturbedError when that is less, because another program wrote to the run's files.
        """
        recovery = reader.recover()
        if (recovery.number, recovery.chain.tail) == (self.last, self._committer.chain.tail):
            return
        lines = [*recovery.warnings, *reader.find_present_losses()] or [
            "records differ from the written ones"
        ]
        raise DisturbedError(
            f"{reader.database} does not hold what was recorded ({lines[0]}): another program "
            "changed it while it was written; see "
            f"{write_command('runs', 'verify', reader.path)}"
        )


class Committer:
    """The only writer of a run's log; after an error it is closed and never tried again.

    The records of the chain follow from the header; other content of the file gives way.
    """

    def __init__(self, reader: Reader, lock: OwnerLock, chain: Chain) -> None:
        self.chain = chain.copy()
        self._path, self._least = reader.database, LEAST[reader.keep]
        self._connection = open_writer(self._path)
        self._lock = lock
        self._seen = os.stat(self._path)
        self._is_clean = not chain.broken
        self._thinned = 0
        self._said_bytes = 0

    def commit(self, items: Sequence[Item]) -> None:
        """Write all items, or none.

        StoreError when the disk does not take them, or one cannot follow; this committer is then of
        no more use.
        """
        n_bytes = sum(item.n_bytes for item in items)
        try:
            self._check_presence()
            with transaction(self._connection):
                if not self._is_clean:
                    drop_tail(self._connection, len(self.chain.records))
                self._append(items)
                if self._least != "whole":
                    self._thin()
            self._is_clean = True
            self._check_presence()
            chain = self.chain
            self._lock.note(len(chain.records), chain.tail, len(chain.generations) - 1)
            self._watch_log(n_bytes)
        except (sqlite3.Error, OSError) as error:
            # After one failed write or sync a file is not trusted again with this descriptor.
            self._connection.close()
            raise build_write_error(error, self._path, n_bytes) from None
        except StoreError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Leave one plain file behind; all commits stay safe in the log when that fails."""
        try:
            self._check_presence()
            make_plain(self._connection)
            self._check_presence()
        except sqlite3.Error as error:
            raise build_write_error(error, self._path, measure_log(self._path)) from None
        finally:
            self._connection.close()

    def _append(self, items: Sequence[Item]) -> None:
        """Link items to the chain and insert them."""
        newest = max((item.number for item in items if isinstance(item, Snapshot)), default=0)
        for item in items:
            if isinstance(item, Note):
                about, body = "", b""
                if item.kind == "result":
                    about = digest_subject(item.payload)
                elif item.kind == "evidence":
                    about = find_subject(self.chain)
                record = self.chain.link(item.kind, item.name, item.payload, about=about)
                if item.kind == "result":
                    _say_what_stays(self.chain, record)
            else:
                packed = pack_snapshot(item)
                record = self.chain.link(
                    "generation", str(item.number), packed.payload, whole=packed.whole
                )
                kept = "whole" if item.number > newest - WHOLE_GENERATIONS else self._least
                body = packed.join(kept)
                for replaced in self.chain.generations[item.number :]:
                    replace_body(self._connection, replaced, b"")
                self._thinned = min(self._thinned, item.number)
            append(self._connection, record, body)
            self.chain.add(record)

    def _thin(self) -> None:
        """Leave no more of older generations than the run keeps."""
        end = len(self.chain.generations) - WHOLE_GENERATIONS
        for record in self.chain.generations[self._thinned : max(end, 0)]:
            with suppress(ValueError):
                # A damaged population stays as it is, for `verify` to report.
                body = read_body(self._connection, record)
                thinned = RecordedGeneration.decode(record.payload).thin(
                    record.whole, body, self._least
                )
                if thinned != body:
                    replace_body(self._connection, record, thinned)
        self._thinned = max(self._thinned, end)

    def _watch_log(self, group: int) -> None:
        """Warn when the log grows, as it does while one old state of the run is read.

        A log that was folded into the file is cut to `LOG_BYTES`; the part beyond was not.
        """
        size = measure_log(self._path)
        if size > max(self._said_bytes, SEVERAL_LOGS * (LOG_BYTES + group)):
            self._said_bytes = 2 * size
            LOG.warning(
                f"{self._path}-wal has grown to {size / 1e6:,.0f} MB: another program has held "
                f"{self._path.name} open since it was smaller; end it, or the log grows on"
            )

    def _check_presence(self) -> None:
        """Require the file that was seen before.

        A database grows or stays as it is: rows give way to others, and pages are not given back.
        DisturbedError when it was moved, removed, replaced or cut, with a way on.
        """
        advice = f"what is left says: {write_command('runs', 'verify', self._path.parent)}"
        try:
            present = os.stat(self._path)
        except OSError:
            raise DisturbedError(self._describe_absence()) from None
        if not os.path.samestat(self._seen, present):
            raise DisturbedError(
                f"{self._path} was replaced by another file while the run was written: what "
                f"was recorded is not in it; {advice}"
            )
        if present.st_size < self._seen.st_size:
            raise DisturbedError(
                f"{self._path} was cut from {self._seen.st_size:,} to {present.st_size:,} "
                "bytes by another program while the run was written: what was recorded is partly "
                f"lost; {advice}"
            )
        self._seen = present

    def _describe_absence(self) -> str:
        run, now = self._path.parent, self._lock.find_folder()
        if now is None or not (now / self._path.name).exists():
            return (
                f"{self._path} was removed while the run was written: what was recorded is "
                "lost, start a new run"
            )
        return (
            f"run '{run.name}' was moved to {now} while it was written: what was recorded is "
            f"there, go on with: {write_command('evolve', '--resume', now)}"
        )


def _say_what_stays(chain: Chain, result: Record) -> None:
    """Tell what becomes of evidence on an earlier result of the run."""
    evidence = chain.list("evidence")
    stays = sum(record.about == result.about for record in evidence)
    if stays:
        LOG.info(f"the same front as before: {format_count(stays, 'row')} of evidence on it stay")
    elif evidence:
        earlier = sum(record.about == evidence[-1].about for record in evidence)
        LOG.warning(
            f"{format_count(earlier, 'row')} of evidence on the run's earlier result no longer "
            "count: another search than the present one found it, which is to be judged anew"
        )
