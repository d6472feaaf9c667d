"""One run, one owner: the kernel decides, files only tell."""

import errno
import fcntl
import os
import shutil
from contextlib import contextmanager
from time import perf_counter

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.lock import NOTE_BYTES, OWNER, OwnerLock, is_owned, read_owner
from tests.support.kill import child, child_own, kill_process
from tests.support.recording import HEADER, make_generation, quick_directory

RUN = "run-1"


@pytest.fixture
def run(tmp_path):
    """A run with one generation, closed."""
    with RunStore.create(tmp_path, RUN, HEADER) as store:
        store.record(make_generation(0))
    return tmp_path / RUN


@contextmanager
def unprivileged_user():
    """Act as a user without rights, where the tests have all of them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public_dir():
    """A directory that users without rights can reach."""
    with quick_directory() as place:
        place.chmod(0o755)
        yield place


def test_second_owner_is_refused_at_once_and_told_who_the_first_is(tmp_path):
    """Within a second, the message has pid, host and start of the owner."""
    lock = OwnerLock.acquire(tmp_path)
    started = perf_counter()
    with pytest.raises(StoreError, match=f"owned by process {os.getpid()} on .* since 2"):
        OwnerLock.acquire(tmp_path)
    assert perf_counter() - started < 1.0
    lock.release()


def test_lock_of_another_process_is_refused_and_free_when_it_is_killed(run):
    """While a child owns the run it is taken, whatever happens to its file; killed, it is free."""
    with child(child_own, run) as process:
        assert process.stdout.readline() == "owned\n"
        assert is_owned(run)
        (run / OWNER).unlink()
        with pytest.raises(StoreError, match="owned by another process"):
            OwnerLock.acquire(run)
        kill_process(process, 0, 0.0)
        OwnerLock.acquire(run).release()
    assert not is_owned(run)


def test_lock_follows_a_renamed_directory(tmp_path):
    """A run that is prepared under another name is owned from its first instant."""
    (tmp_path / "draft").mkdir()
    lock = OwnerLock.acquire(tmp_path / "draft")
    (tmp_path / "draft").rename(tmp_path / "run")
    assert is_owned(tmp_path / "run")
    lock.release()
    assert not is_owned(tmp_path / "run")


def test_release_twice_closes_no_stranger(tmp_path):
    """A second release leaves descriptors alone that were opened since."""
    lock = OwnerLock.acquire(tmp_path)
    lock.release()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    lock.release()
    os.close(descriptor)


def test_a_looker_does_not_keep_an_owner_out(tmp_path):
    """A process that tests the lock for a moment is waited for."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    original, tries = fcntl.flock, []

    def let_go_at_the_third(number, kind):
        tries.append(kind)
        if len(tries) == 3:
            os.close(descriptor)
        return original(number, kind)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcntl.flock", let_go_at_the_third)
        OwnerLock.acquire(tmp_path).release()
    assert len(tries) == 3


def test_note_is_one_write_of_a_fixed_size_and_outlives_its_owner(tmp_path):
    """The newest committed generation is read by the next owner, who keeps it until its own."""
    lock = OwnerLock.acquire(tmp_path)
    lock.note(41)
    assert (tmp_path / OWNER).stat().st_size == NOTE_BYTES
    lock.release()
    again = OwnerLock.acquire(tmp_path)
    assert read_owner(tmp_path).committed == 41
    again.release()


def test_a_note_that_is_removed_while_a_run_is_written_comes_again(tmp_path):
    """With the next one; where the folder itself is gone nothing is written in its place."""
    run = tmp_path / "run"
    run.mkdir()
    lock = OwnerLock.acquire(run)
    if lock.find_folder() is None:
        lock.release()
        pytest.skip("this system does not say where a folder is")
    (run / OWNER).unlink()
    lock.note(41)
    assert read_owner(run).committed == 41
    shutil.rmtree(run)
    run.mkdir()
    lock.note(42)
    lock.release()
    assert list(run.iterdir()) == []


NONSENSE = [
    b"",
    b"\0" * 512,
    b"{",
    b"[1]",
    b'{"pid": 1}',
    b"\xff\xfe",
    b'"x"',
    b'{"pid": "x", "host": 1, "started_at": 2, "committed": 3}',
    b'{"pid": 1, "host": "h", "started_at": "s", "committed": "3"}',
]


@pytest.mark.parametrize("content", NONSENSE)
def test_nonsense_in_the_note_is_nobody(tmp_path, content):
    """A damaged note is ignored, and does not stop the next owner."""
    (tmp_path / OWNER).write_bytes(content)
    assert read_owner(tmp_path) is None
    OwnerLock.acquire(tmp_path).release()


def test_directory_that_cannot_be_locked_falls_back_to_the_file(tmp_path, monkeypatch):
    """Where the kernel locks only files open for writing, owner.lock itself is locked."""
    original = fcntl.flock

    def no_directories(descriptor, kind):
        if not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_RDWR:
            raise OSError(errno.EBADF, "bad file descriptor")
        original(descriptor, kind)

    monkeypatch.setattr("fcntl.flock", no_directories)
    lock = OwnerLock.acquire(tmp_path)
    assert is_owned(tmp_path)
    with pytest.raises(StoreError, match="owned by process"):
        OwnerLock.acquire(tmp_path)
    lock.release()
    assert not is_owned(tmp_path)


def test_read_only_directory_is_a_clear_error_for_an_owner_and_fine_for_a_reader(public_dir):
    """Writing is refused with the remedy; reading and looking work."""
    with RunStore.create(public_dir, RUN, HEADER) as store:
        store.record(make_generation(0))
    run = public_dir / RUN
    run.chmod(0o555)
    for file in run.iterdir():
        file.chmod(0o444)
    with unprivileged_user():
        with pytest.raises(StoreError, match=r"cannot be written .*copy the run"):
            RunStore.open(run, writable=True)
        with RunStore.open(run) as store:
            assert store.last_generation().number == 0
        assert [summary.status for summary in list_runs(public_dir)] == ["interrupted"]
        with pytest.raises(StoreError, match=r"cannot be written .*let --runs name"):
            RunStore.create(public_dir, "run-2", HEADER)
    run.chmod(0o755)
