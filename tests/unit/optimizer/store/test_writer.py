"""The writer of a run and its one owner: in groups, in order, and nothing is lost."""

import errno
import fcntl
import os
import shutil
import sqlite3
import threading
from contextlib import suppress
from time import perf_counter

import pytest

from data.files import name_draft
from optimizer.atomic_write import write_whole
from optimizer.errors import DisturbedError, StoreError
from optimizer.store import RunStore, delete_run, list_runs
from optimizer.store.files import (
    DATABASE,
    NAMES,
    NOTE_BYTES,
    OWNER,
    OwnerLock,
    is_owned,
    read_owner,
)
from optimizer.store.rows import front_population
from optimizer.store.writer import Committer, Note, Recorder
from tests.support.kill import child, child_fill, child_own, child_record, kill_process
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_same_population,
    assert_sound,
    fill,
    make_generation,
)

RUN = "run-1"


def list_kept(store):
    """Extents that are kept, by first letters: whole, front or summary."""
    return "".join(summary.kept[0] for summary in store.generations())


@pytest.mark.parametrize("group", [1, 12])
@pytest.mark.parametrize(
    ("keep", "letter"), [("all", "w"), ("front", "f"), ("last", "s")], ids=["all", "front", "last"]
)
def test_older_generations_keep_less_and_still_verify(tmp_path, keep, letter, group):
    """All, their fronts or their summaries, however commits are grouped; two stay whole."""
    with RunStore.create(tmp_path, RUN, HEADER, keep=keep) as store:
        for start in range(0, 12, group):
            fill(store, min(group, 12 - start), start)
        assert list_kept(store) == letter * 10 + "ww"
        assert_sound(store, 11)
        if keep == "front":
            front = front_population(make_generation(3).population)
            assert_same_population(front, store.front(3))
        refused = {"front": [store.generation], "last": [store.generation, store.front]}
        for read in refused.get(keep, []):
            with pytest.raises(StoreError, match=r"generation 3: .* kept"):
                read(3)
    with RunStore.open(tmp_path / RUN, writable=True) as store:
        fill(store, 3, start=12)
        assert list_kept(store) == letter * 13 + "ww"
        assert_sound(store, 14)


class Failing(Committer):
    """A committer whose disk fails from some generation on."""

    tries = 0

    def _append(self, items):
        super()._append(items)
        if len(self.chain.generations) > 3:
            type(self).tries += 1
            raise sqlite3.OperationalError("disk I/O error")


def test_a_failing_disk_is_said_at_every_call_and_never_tried_again(tmp_path, monkeypatch):
    """Record, flush, finish and close refuse; an exception of the body has it as a note."""
    monkeypatch.setattr("optimizer.store.writer.Committer", Failing)
    monkeypatch.setattr(Failing, "tries", 0)
    store = RunStore.create(tmp_path, RUN, HEADER)
    fill(store, 3)
    store.record(make_generation(3))
    calls = (store.flush, lambda: store.record(make_generation(4)), lambda: store.finish({}))
    for call in (*calls, store.close):
        with pytest.raises(StoreError, match="disk I/O error"):
            call()
    assert Failing.tries == 1
    with RunStore.open(tmp_path / RUN) as read:
        assert_sound(read, 2)
        assert read.status == "interrupted"

    def broken():
        with RunStore.create(tmp_path, "third", HEADER) as store:
            for number in range(5):
                store.record(make_generation(number))
            raise KeyError("body")

    with pytest.raises(KeyError) as caught:
        broken()
    assert "disk I/O error" in caught.value.__notes__[0]


COMMITTED = 150
"""Generations: more than one fold of the log into the file."""


@pytest.fixture
def store(tmp_path):
    """A run that is being written."""
    store = RunStore.create(tmp_path / "runs", "run", HEADER)
    fill(store, COMMITTED)
    yield store
    with suppress(StoreError):
        store.close()


def cut(store):
    """Leave the first page alone."""
    os.truncate(store.database, 4096)


def put_back(store):
    """Put an earlier state in the place of the file."""
    shutil.copy(store.database, store.path / "earlier")
    os.replace(store.path / "earlier", store.database)


def move(store):
    """Give the run another name."""
    store.path.rename(store.path.with_name("else where"))


HARMS = {
    "cut": (cut, "to 4,096 bytes"),
    "replaced": (put_back, "another file"),
    "database gone": (lambda store: store.database.unlink(), "start a new run"),
    "run gone": (lambda store: shutil.rmtree(store.path), "start a new run"),
    "moved": (move, "--resume '.*else where'"),
}


@pytest.mark.parametrize(("harm", "word"), HARMS.values(), ids=HARMS)
@pytest.mark.parametrize("is_last", [True, False], ids=["at the end", "in between"])
def test_harm_to_a_run_that_is_written_is_an_error(store, harm, word, is_last):
    """Nothing is acknowledged any more: neither the next generation nor the end of the run."""
    harm(store)
    if not is_last:
        store.record(make_generation(COMMITTED))
    with pytest.raises(DisturbedError, match=word):
        store.close() if is_last else store.flush()
    with suppress(DisturbedError):
        store.close()
    if harm is move:
        with RunStore.open(store.path.with_name("else where"), writable=True) as again:
            assert_same_generation(make_generation(COMMITTED - 1), again.last_generation())
            assert again.warnings == ()


def test_a_log_that_was_cut_is_no_success(store):
    """Generations are gone, whatever closing the file could make of it."""
    os.truncate(store.path / f"{DATABASE}-wal", 0)
    with pytest.raises(StoreError):
        store.close()


def test_a_defect_of_ours_is_not_taken_for_a_full_disk():
    """Any other exception of the thread is passed on as it is."""

    def broken(group):
        raise ZeroDivisionError("oops")

    recorder = Recorder(broken)
    recorder.submit(Note("result", b"{}"))
    with pytest.raises(RuntimeError, match="defect of ours") as caught:
        recorder.flush()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    recorder.stop()


def test_a_slow_disk_holds_the_search_back_only_when_the_queue_is_full():
    """Records wait in order, at most so many bytes of them, and none is lost."""
    may_go, groups = threading.Event(), []

    def slow(group):
        may_go.wait()
        groups.append(list(group))

    recorder = Recorder(slow, group_seconds=0.0, queue_bytes=100)
    notes = [Note("result", bytes([number]) * 30) for number in range(12)]
    producer = threading.Thread(target=lambda: [recorder.submit(note) for note in notes])
    producer.start()
    producer.join(0.1)
    assert producer.is_alive()
    may_go.set()
    producer.join()
    recorder.flush()
    recorder.submit(large := Note("result", b"x" * 1000))
    recorder.stop()
    assert [note for group in groups for note in group] == [*notes, large]
    assert max(len(group) for group in groups) <= 3


def test_groups_are_committed_without_being_asked(tmp_path):
    """Whatever was handed over is on disk within a second, without a flush."""
    with RunStore.create(tmp_path, "run", HEADER) as store, RunStore.open(store.path) as read:
        store.record(make_generation(0))
        waiting, started = threading.Event(), perf_counter()
        while read.last_generation() is None and perf_counter() - started < 10:
            waiting.wait(0.05)
        assert_sound(read, 0)


@pytest.mark.slow
def test_nothing_that_was_safe_is_lost_when_its_owner_is_killed(tmp_path, kills):
    """At any moment; who reads meanwhile sees sound states, and waits for nobody."""
    path, safe = tmp_path / "run", -1
    for kill in range(kills):
        keep, group = ("all", "front", "last")[kill % 3], (1, 3)[kill % 2]
        with child(child_record, path, group, keep) as process:
            assert process.stdout.readline()
            for _ in range(3):
                with RunStore.open(path) as store:
                    last = store.last_generation()
                    assert_same_generation(make_generation(last.number), last)
                    assert (store.warnings, store.status) == ((), "running")
            printed = kill_process(process, kill % 5, 0.02 * (kill % 7))
        safe = max(safe, int(printed or -1))
        with RunStore.open(path) as store:
            last = store.last_generation()
            assert (store.verify(), store.warnings, store.status) == ([], (), "interrupted")
        assert last.number >= safe
        assert_same_generation(make_generation(last.number), last)
    assert safe >= kills


@pytest.mark.slow
def test_a_full_disk_keeps_what_was_safe(tmp_path):
    """Wherever files cannot grow any more: one line with bytes, and nothing safe is lost."""
    limits = [0, 511, 28_000, *range(36_000, 420_000, 96_000)]
    with child(child_fill, tmp_path, *limits) as process:
        lines = [process.stdout.readline().rstrip("\n").split("|") for _ in limits]
    for limit, safe, reason in lines:
        run = tmp_path / f"limit-{limit}"
        assert ("bytes" in reason and "ulimit -f" in reason) or int(limit) < 512
        if not run.exists():
            assert int(safe) == -1
            continue
        with RunStore.open(run, writable=True) as store:
            last = store.last_generation()
            number = -1 if last is None else last.number
            assert number >= int(safe)
            assert store.warnings == ()
            store.record(make_generation(number + 1, individuals=100))
            store.flush()
            assert store.verify() == []
    assert max(int(safe) for _, safe, _ in lines) > 10
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


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


PRECIOUS = "what must stay as it is"


@pytest.fixture
def precious(tmp_path):
    """A file outside of every run."""
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture
def run(tmp_path):
    """A closed run of two generations."""
    with RunStore.create(tmp_path / "runs", "run", HEADER) as store:
        fill(store, 2)
    return store.path


@pytest.mark.parametrize("name", NAMES)
def test_no_link_is_followed(run, precious, name):
    """Whatever file of a run it takes the place of: by readers, owners and lists."""
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(precious)
    for writable in (False, True):
        with pytest.raises(StoreError, match=f"{name} is a link"):
            RunStore.open(run, writable=writable)
    (summary,) = list_runs(run.parent)
    assert (summary.status, "is a link" in summary.damaged) == ("damaged", True)
    assert precious.read_text() == PRECIOUS


def test_a_link_to_nothing_makes_no_file(run, tmp_path):
    """Neither to own a run nor to delete it."""
    (run / OWNER).unlink()
    (run / OWNER).symlink_to(tmp_path / "new")
    for call in (lambda: RunStore.open(run, writable=True), lambda: delete_run(run)):
        with pytest.raises(StoreError, match="is a link"):
            call()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", [OWNER, DATABASE, f"{DATABASE}-wal"])
@pytest.mark.timeout(20)
def test_a_pipe_does_not_block(run, name):
    """It is never read or written."""
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    owner = read_owner(run)
    assert (owner and owner.generation) == (None if name == OWNER else 1)
    with pytest.raises(StoreError, match="no plain file"):
        RunStore.open(run)


def test_a_draft_follows_no_link(tmp_path, precious, monkeypatch):
    """Who guesses its name gains nothing."""
    names = iter([b"x", b"y"])
    monkeypatch.setattr("data.files.os.urandom", lambda size: next(names))
    (tmp_path / name_draft("out.txt", b"x".hex())).symlink_to(precious)
    write_whole(tmp_path / "out.txt", "new")
    assert (precious.read_text(), (tmp_path / "out.txt").read_text()) == (PRECIOUS, "new")
