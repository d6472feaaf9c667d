"""The thread that records: off the search's path, in groups, at least once a second."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from optimizer.errors import StoreError
from optimizer.store.rows import Snapshot

GROUP_SECONDS = 0.5
"""A group is committed at the latest so long after its first record was handed over."""

QUEUE_BYTES = 16 * 2**20
"""Records beyond this wait at the caller's side until the disk has caught up; a group is half."""


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


Record = Snapshot | Note


class Recorder:
    """A bounded queue, and a thread that empties it.

    Every call after recording has failed raises a StoreError.

    Args:
        commit: Writes a group, all or nothing; called by the thread alone.
        group_seconds: As `GROUP_SECONDS`.
        queue_bytes: As `QUEUE_BYTES`; one record is always taken, however large.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Record]], None],
        *,
        group_seconds: float = GROUP_SECONDS,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self._commit = commit
        self._group_seconds = group_seconds
        self._queue_bytes = queue_bytes
        self._changed = threading.Condition()
        self._queue: list[Record] = []
        self._n_bytes = 0
        self._is_busy = False
        self._is_urgent = False
        self._is_closing = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="run-recorder", daemon=True)
        self._thread.start()

    def submit(self, record: Record) -> None:
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

    def _next_group(self) -> Sequence[Record]:
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
