"""One run, one owner: the kernel decides, files only tell."""

import errno
import fcntl
import os

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.files import NOTE_BYTES, OWNER, OwnerLock, is_owned, read_owner
from tests.support.kill import child, child_own, kill_process
from tests.support.recording import HEADER, fill


def test_a_second_owner_is_refused_until_the_first_lets_go(tmp_path):
    """It is named by process; the lock follows a renamed folder, and a release closes no other."""
    (tmp_path / "draft").mkdir()
    lock = OwnerLock.acquire(tmp_path / "draft")
    (tmp_path / "draft").rename(tmp_path / "run")
    assert is_owned(tmp_path / "run")
    with pytest.raises(StoreError, match=f"owned by process {os.getpid()} on .* since 2"):
        OwnerLock.acquire(tmp_path / "run")
    lock.release()
    assert not is_owned(tmp_path / "run")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    lock.release()
    os.close(descriptor)
    OwnerLock.acquire(tmp_path / "run").release()


@pytest.mark.slow
def test_a_lock_of_another_process_is_free_when_it_is_killed(tmp_path):
    """Until then it holds, whatever happens to its file, and by a link to the folder too."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        fill(store, 1)
    run = store.path
    (tmp_path / "link").symlink_to(run)
    with child(child_own, run) as process:
        assert process.stdout.readline() == "owned\n"
        assert is_owned(run)
        with pytest.raises(StoreError, match="owned by process"):
            RunStore.open(tmp_path / "link", writable=True)
        (run / OWNER).unlink()
        with pytest.raises(StoreError, match="owned by another process"):
            OwnerLock.acquire(run)
        kill_process(process, 0, 0.0)
        OwnerLock.acquire(run).release()
    assert not is_owned(run)


def test_the_note_is_one_write_of_a_fixed_size_and_outlives_its_owner(tmp_path):
    """The next owner keeps it until its own."""
    lock = OwnerLock.acquire(tmp_path)
    assert lock.noted is None
    lock.note(43, b"\1" * 32, 41)
    assert (tmp_path / OWNER).stat().st_size == NOTE_BYTES
    lock.release()
    again = OwnerLock.acquire(tmp_path)
    for noted in (again.noted, read_owner(tmp_path)):
        assert (noted.records, noted.chain, noted.generation) == (43, "01" * 32, 41)
    again.note(12, b"\2" * 32, 10)
    again.release()
    assert read_owner(tmp_path).position == [12, "02" * 32]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"[1]", b'{"pid": 1, "host": "h", "started_at": "s", "records": "x"}'],
)
def test_nonsense_in_the_note_is_nobody(tmp_path, content):
    """A damaged note is ignored, and does not stop the next owner."""
    (tmp_path / OWNER).write_bytes(content)
    assert read_owner(tmp_path) is None
    OwnerLock.acquire(tmp_path).release()


def test_a_folder_that_cannot_be_locked_falls_back_to_the_file(tmp_path, monkeypatch):
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
