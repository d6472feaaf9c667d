"""The run store: the whole record of a search, on disk, able to go on after any interruption.

A run is a directory with one SQLite database. Its rows form a chain of digests from the header on,
so that the content read is the content recorded, in its order.
"""

import fcntl
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal

from data.files import drafting, sync_folder
from data.shell import write_command
from optimizer.config.values import Keep
from optimizer.errors import StoreError
from optimizer.search.generation import Generation
from optimizer.store.files import DATABASE, SIDES, OwnerLock, is_owned
from optimizer.store.listing import (
    begin_draft,
    find_next_number,
    remove_leftovers,
    run_path,
    sweep_drafts,
)
from optimizer.store.log import LINES, NOTED, Reader, create_log
from optimizer.store.log_file import KEEPS, build_write_error, check_integrity
from optimizer.store.payload import encode
from optimizer.store.searches import note_question
from optimizer.store.writer import Note, Writer

LOG = logging.getLogger(__name__)

ONCE = {"is_once": True}
"""Marks a line of the log that a command need not repeat when it opens a run again."""

Status = Literal["running", "finished", "interrupted"]


SHARED_FROM, SHARED_BYTES = 2**30 + 2, 510
"""Bytes of a SQLite file that each of its readers locks."""


class RunStore(Reader):
    """One run, open for reading or owned for writing; made by `create` and `open`.

    Whatever writes raises StoreError when recording has failed. The lock is of its owner, None to
    read only; `swept` counts removed directories of runs never begun.
    """

    def __init__(self, path: Path, lock: OwnerLock | None, *, swept: int = 0) -> None:
        was_shared = lock is not None and _separate_files(path)
        super().__init__(path)
        self._lock = lock
        self._writer: Writer | None = None
        self._unsaid: list[str] = []
        self.warnings: tuple[str, ...] = ()
        """Losses, a line each, for the owner to report; a reader has them logged.

        Filled by `open` and by `last_generation`."""
        if was_shared:
            self._warn((f"{DATABASE} was shared with another folder by a hard link: copied",))
        if swept:
            self._warn((f"removed what {swept} interrupted starts of runs had left",))
        if lock is not None:
            self._take_up(lock)
        self._warn(self.find_losses())

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        run_id: str,
        header: Mapping[str, object],
        *,
        keep: Keep = "all",
        announce: Callable[[bytes], None] | None = None,
    ) -> "RunStore":
        """Begin a run and own it.

        Args:
            runs_dir: Where runs live; made when absent.
            run_id: As `validate_run_id` allows; must not exist.
            header: All that decides the run, and that should be known of it; without NaN.
            keep: Extent of generations before the newest two, which always stay whole:
                ``"all"``, ``"front"`` or ``"last"`` (their summary only).
            announce: Called with the recorded header before any other process can see the run.

        Raises:
            StoreError: When the run exists, the place cannot hold it, or the header is not JSON.
        """
        if keep not in KEEPS:
            raise StoreError(f"keep='{keep}' is unknown: use one of {', '.join(KEEPS)}")
        form = {"run_id": run_id, "keep": keep, "number": find_next_number(runs_dir)}
        payload = encode({"store": form, "run": header}, what="the header")
        target = run_path(runs_dir, run_id)
        if target.exists():
            raise StoreError(f"run '{run_id}' exists already in {runs_dir}: resume it")
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
            swept = sweep_drafts(runs_dir)
            if announce is not None:
                announce(payload)
            lock = _create_folder(runs_dir, target, payload)
            try:
                note_question(runs_dir, header)
            except BaseException:
                lock.release()
                raise
        except (OSError, sqlite3.Error) as error:
            raise build_write_error(error, target, len(payload)) from None
        return cls._open_with_lock(target, lock, swept=swept)

    @classmethod
    def open(cls, path: Path, *, writable: bool = False) -> "RunStore":
        """Open a run; `writable` asks to own it and go on with it.

        Readers need no permission and may read while an owner writes. StoreError when it is not a
        run, is damaged beyond use, was made by a newer version, or, for writing, is owned by
        another process.
        """
        if not writable:
            return cls(path, None)
        Reader(path).close()
        return cls._open_with_lock(path, OwnerLock.acquire(path))

    @classmethod
    def _open_with_lock(cls, path: Path, lock: OwnerLock, *, swept: int = 0) -> "RunStore":
        try:
            return cls(path, lock, swept=swept)
        except BaseException:
            lock.release()
            raise

    @property
    def run_id(self) -> str:
        """Name of that directory; of a copy, the copy's own name."""
        return self.path.name

    @property
    def status(self) -> Status:
        """``finished`` with a result, else ``running`` with an owner, else ``interrupted``."""
        if self.result is not None:
            return "finished"
        return "running" if self._lock is not None or is_owned(self.path) else "interrupted"

    def last_generation(self) -> Generation | None:
        """The newest generation that is whole and undamaged, None when none was ever recorded.

        When newer ones were damaged or lost, `warnings` names them; the first commit removes them.
        StoreError when generations were recorded and none of them can be used.
        """
        if self._writer is not None:
            self._writer.recorder.flush()
        recovery = self.recover()
        self._warn(recovery.warnings)
        return recovery.generation

    def record(self, generation: Generation) -> None:
        """Hand the next generation over; it is copied as needed, and on disk within a second."""
        self._require_writer().record(generation)

    def flush(self) -> None:
        """Wait until everything that was handed over is on disk."""
        self._require_writer().recorder.flush()

    def finish(self, result: Mapping[str, object]) -> None:
        """Record the result of the run, and wait until it is on disk."""
        writer = self._require_writer()
        writer.recorder.submit(Note("result", encode(result, what="the result")))
        writer.recorder.flush()

    def add_evidence(self, name: str, payload: Mapping[str, object]) -> None:
        """Hand over a row of evidence on the result; on disk within a second.

        StoreError when recording has failed, as it does before there is a result.
        """
        note = Note("evidence", encode(payload, what=f"the evidence '{name}'"), name)
        self._require_writer().recorder.submit(note)

    def note_resumption(self, differences: Sequence[str], generations: int) -> None:
        """Record that the run is taken up again.

        `differences` has a line for each changed circumstance, `generations` is its number of
        generations now.
        """
        writer = self._require_writer()
        note = {"at": _now(), "after": writer.last, "generations": generations}
        payload = encode({**note, "differences": differences}, what="the resumption")
        writer.recorder.submit(Note("resumption", payload))

    def close(self) -> None:
        """Record the rest and release the run; a second call does nothing."""
        writer, self._writer = self._writer, None
        self._connection.close()
        try:
            if writer is not None:
                writer.close()
                with closing(Reader(self.path)) as reader:
                    writer.require_kept(reader)
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except StoreError as failure:
            # The error of the body matters more; it is mostly this same failure.
            if error is None:
                raise
            error.add_note(str(failure))

    def _take_up(self, lock: OwnerLock) -> None:
        try:
            remove_leftovers(self.path)
            recovery = self.recover()
            self._warn(recovery.warnings)
            self._require_sound()
            lost = [*recovery.chain.find_losses(lock.noted), *recovery.losses]
            noticed = recovery.chain.list_noticed_losses()
            self._unsaid = [line for line in dict.fromkeys(lost) if line not in noticed]
            self._writer = Writer(self, lock, recovery)
            if lock.noted is None:
                # A lost count is there again from now on.
                self.flush()
        except (OSError, sqlite3.Error) as error:
            self._connection.close()
            raise build_write_error(error, self.database, 0) from None
        except BaseException:
            self._connection.close()
            raise

    def _require_sound(self) -> None:
        """Refuse to write to a file that SQLite finds damaged; its sound rows stay readable."""
        with self.snapshot():
            problems = check_integrity(self._connection)
        if problems:
            problem = problems[0].splitlines()[-1]
            raise StoreError(
                f"{self.database} is damaged ({problem}): it is read as far as it is sound, and "
                "not written to; begin another run from its front: "
                f"{write_command('evolve', '--warm-start', self.path)}"
            )

    def _warn(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line not in self.warnings:
                self.warnings = (*self.warnings, line)
                if self._lock is None:
                    LOG.warning("%s (run '%s')", line, self.run_id, extra=ONCE)

    def _require_writer(self) -> Writer:
        if self._writer is None:
            raise StoreError(f"run '{self.run_id}' is not open for writing")
        if self._unsaid and self._lock is not None:
            # Before anything else is recorded, which would hide them.
            lost, self._unsaid = self._unsaid, []
            noted = self._lock.noted
            note = {"at": _now(), LINES: lost, NOTED: noted and noted.position}
            self._writer.recorder.submit(Note("loss", encode(note, what="the losses")))
        return self._writer


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _separate_files(path: Path) -> bool:
    """Give a run files of its own; whether any was shared."""
    try:
        return separate_links(path)
    except OSError as error:
        raise build_write_error(error, path / DATABASE, (path / DATABASE).stat().st_size) from None


def _create_folder(runs_dir: Path, target: Path, payload: bytes) -> OwnerLock:
    """Make a run's directory, complete and owned from the first instant that it has its name."""
    draft, lock = begin_draft(runs_dir, target.name)
    try:
        create_log(draft / DATABASE, payload)
        os.rename(draft, target)
        sync_folder(runs_dir)
    except BaseException:
        lock.release()
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return lock


def separate_links(directory: Path) -> bool:
    """Give a run files of its own where a copy by hard links shares them; whether it was so.

    Two owners of one file by two names would not meet: the lock is on a folder, and a log is
    found by the name of its database. Killed at any step, the rest is done by the next owner, who
    alone may do so, before anything opens the database. StoreError when the file is in use by its
    other name.
    """
    # The database last: its log goes with either file, the index of a log with none.
    paths = [directory / (DATABASE + side) for side in reversed(SIDES)]
    shared = [path for path in paths if path.exists() and path.stat().st_nlink > 1]
    if shared and is_in_use(directory / DATABASE):
        raise StoreError(
            f"run '{directory.name}' shares {DATABASE} with another folder by a hard link, and "
            "is in use there: wait for that run, or stop it first"
        )
    for path in shared:
        if not path.name.endswith("-shm"):
            with drafting(path) as draft, open(shutil.copyfile(path, draft), "rb+") as copy:
                os.fsync(copy.fileno())
        else:
            path.unlink()
    return bool(shared)


def is_in_use(path: Path) -> bool:
    """True if another process has a database with a write-ahead log open.

    Source: SQLite, "File Locking And Concurrency": readers and writers of such a one share a lock
    on these bytes for as long as they have it open.
    """
    with open(path, "rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED_FROM)
        except BlockingIOError:
            return True
    return False
