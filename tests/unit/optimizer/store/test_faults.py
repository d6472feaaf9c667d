"""Faults from outside: kill -9 at any moment, full and failing disks, neighbours, long runs."""

import errno
import gc
import os
import random
import re
import resource
import sqlite3
import threading
import weakref
from contextlib import closing
from time import perf_counter

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.listing import DATABASE
from optimizer.store.recorder import Note, Recorder
from optimizer.store.space import build_write_error
from optimizer.store.writer import Committer
from tests.support.commands import run, write_market
from tests.support.fresh import live_bytes, malloc_totals
from tests.support.kill import child, child_fill, child_record, kill_process
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_sound,
    make_generation,
)

RUN = "run-1"
KEEPS = ("all", "front", "last")


def kill_often(path, moments, seed):
    """Kill the owner of one run again and again; each next one must find all that was safe."""
    rng = random.Random(seed)
    safe = -1
    for _ in range(moments):
        with child(child_record, path, rng.choice([1, 1, 3]), rng.choice(KEEPS)) as process:
            printed = kill_process(process, rng.randrange(8), rng.random() * 0.12)
        safe = max(safe, int(printed or -1))
        if not path.exists():
            assert safe == -1
            continue
        with RunStore.open(path) as store:
            last = store.last_generation()
            assert store.verify() == []
            assert store.warnings == ()
            assert store.status == "interrupted"
        newest = -1 if last is None else last.number
        assert newest >= safe
        if last is not None:
            assert_same_generation(make_generation(newest), last)
    assert safe >= moments
    with RunStore.open(path) as store:
        for summary in store.generations():
            if summary.kept == "whole":
                assert_same_generation(
                    make_generation(summary.number), store.generation(summary.number)
                )


@pytest.mark.slow
def test_nothing_that_was_safe_is_lost_when_its_owner_is_killed(tmp_path, kills):
    """Owners of four runs, killed at random moments, lose nothing that flush had acknowledged."""
    for seed in range(4):
        kill_often(tmp_path / f"run-{seed}", moments=kills, seed=seed)


@pytest.mark.slow
def test_full_disk_keeps_what_was_safe(tmp_path):
    """Wherever files cannot grow any more: one line with bytes, and nothing safe is lost."""
    limits = [0, 100, 511, 4096, 20_000, 28_000, *range(36_000, 420_000, 16_000)]
    with child(child_fill, tmp_path, *limits) as process:
        lines = [process.stdout.readline().rstrip("\n").split("|") for _ in limits]
    reasons = 0
    for limit, safe, reason in lines:
        run = tmp_path / f"limit-{limit}"
        assert not reason or ("bytes" in reason and "ulimit -f" in reason) or int(limit) < 512
        reasons += bool(reason)
        if run.exists():
            assert_resumable(run, int(safe))
        else:
            assert int(safe) == -1
    assert reasons > 15
    assert max(int(safe) for _, safe, _ in lines) > 10
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def assert_resumable(run, safe):
    """All that was safe is there, sound, and the run can be gone on with."""
    with RunStore.open(run, writable=True) as store:
        last = store.last_generation()
        number = -1 if last is None else last.number
        assert number >= safe
        assert store.warnings == ()
        store.record(make_generation(number + 1, individuals=100))
        store.flush()
        assert store.verify() == []


class Failing(Committer):
    """A committer whose disk fails from some generation on."""

    fails_at = 3
    tries = 0

    def _write(self, record):
        if getattr(record, "number", -1) >= self.fails_at:
            type(self).tries += 1
            raise sqlite3.OperationalError("disk I/O error")
        super()._write(record)


def test_failing_disk_is_told_at_every_next_call_and_never_tried_again(tmp_path, monkeypatch):
    """Record, flush, finish and close all refuse; nothing is written after the first failure."""
    monkeypatch.setattr("optimizer.store.writer.Committer", Failing)
    monkeypatch.setattr(Failing, "tries", 0)
    store = RunStore.create(tmp_path, RUN, HEADER)
    for number in range(3):
        store.record(make_generation(number))
    store.flush()
    store.record(make_generation(3))
    match = r"could not be written \(OperationalError: disk I/O error\): space is not the reason"
    with pytest.raises(StoreError, match=match):
        store.flush()
    with pytest.raises(StoreError, match=match):
        store.record(make_generation(4))
    with pytest.raises(StoreError, match=match):
        store.finish({})
    with pytest.raises(StoreError, match=match):
        store.close()
    assert Failing.tries == 1
    with RunStore.open(tmp_path / RUN) as read:
        assert_sound(read, 2)
        assert read.status == "interrupted"


@pytest.mark.parametrize(
    ("error", "limit", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            None,
            r"needed 9 bytes, [\d,]+ are free",
        ),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), None, "your quota"),
        (OSError(errno.EFBIG, "File too large"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), None, "space is not the reason"),
        (OSError(errno.EIO, "Input/output error"), None, "space is not the reason"),
    ],
)
def test_a_write_that_failed_says_what_stood_in_the_way(tmp_path, monkeypatch, error, limit, words):
    """Free bytes are the reason only where they are too few."""
    most = resource.RLIM_INFINITY if limit is None else limit
    monkeypatch.setattr("resource.getrlimit", lambda kind: (most, most))
    message = str(build_write_error(error, tmp_path / DATABASE, 9))
    assert re.search(words, message), message
    assert ("are free there" in message) == (limit is None and "quota" not in words)


@pytest.mark.slow
def test_a_limit_of_file_size_is_named(tmp_path):
    """As a shell sets it; what was recorded before is kept."""
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000,) * 2)"
    program = ("-c", f"{limit}; from optimizer.__main__ import main; sys.exit(main(sys.argv[1:]))")
    many = (
        "--population",
        200,
        "--generations",
        200,
        "--no-report",
        "--no-judge",
        "--device",
        "cpu",
    )
    process = run("evolve", "--data", write_market(tmp_path / "bars.csv"), *many, cwd=tmp_path,
                program=program)  # fmt: skip
    last = process.err.splitlines()[-1]
    assert (process.code, "raise ulimit -f" in last, "are free" in last) == (4, True, False), last
    assert "--resume" in last


def test_a_log_that_a_reader_lets_grow_is_named(tmp_path, monkeypatch, caplog):
    """Once, and again only when it has doubled; without a reader there is no note."""
    monkeypatch.setattr("optimizer.store.writer.LOG_BYTES", 2**20)
    with RunStore.create(tmp_path, RUN, HEADER) as store:
        for number in range(60):
            store.record(make_generation(number, individuals=1500))
            store.flush()
    assert not caplog.records
    path = tmp_path / "second" / DATABASE
    with RunStore.create(tmp_path, "second", HEADER) as store:
        store.record(make_generation(0))
        store.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM generation").fetchone()
            for number in range(1, 120):
                store.record(make_generation(number, individuals=1500))
                store.flush()
    texts = [record.getMessage() for record in caplog.records]
    assert 1 <= len(texts) <= 8
    assert "another program has held run.sqlite open" in texts[0]


def test_failure_in_the_body_is_not_hidden_by_the_failing_disk(tmp_path, monkeypatch):
    """The body's own exception goes on, with the disk's failure as a note."""
    monkeypatch.setattr("optimizer.store.writer.Committer", Failing)

    def body():
        with RunStore.create(tmp_path, RUN, HEADER) as store:
            for number in range(5):
                store.record(make_generation(number))
            raise KeyError("body")

    with pytest.raises(KeyError) as caught:
        body()
    assert "disk I/O error" in caught.value.__notes__[0]


def test_defect_of_ours_is_not_taken_for_a_full_disk():
    """Any other exception of the thread is passed on as what it is."""

    def broken(group):
        raise ZeroDivisionError("oops")

    recorder = Recorder(broken)
    recorder.submit(Note("result", b"{}"))
    with pytest.raises(RuntimeError, match="defect of ours") as caught:
        recorder.flush()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    recorder.stop()


def test_slow_disk_holds_the_search_back_only_when_the_queue_is_full():
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
    recorder.stop()
    assert [note for group in groups for note in group] == notes
    assert max(len(group) for group in groups) <= 3


def test_record_larger_than_the_queue_is_taken():
    """One record is always let in, however large it is."""
    groups = []
    recorder = Recorder(groups.append, queue_bytes=10)
    recorder.submit(Note("result", b"x" * 1000))
    recorder.submit(Note("result", b"y" * 1000))
    recorder.stop()
    assert [note.payload[:1] for group in groups for note in group] == [b"x", b"y"]


def test_records_are_let_go_once_they_are_on_disk():
    """The thread that waits for the next group holds none, which may be megabytes."""
    recorder, note = Recorder(lambda group: None), Note("result", b"x")
    alive = weakref.ref(note)
    recorder.submit(note)
    del note
    recorder.flush()
    assert alive() is None
    recorder.stop()


def test_groups_are_committed_without_being_asked(tmp_path):
    """What was handed over is on disk within a second, without a flush."""
    with RunStore.create(tmp_path, RUN, HEADER) as store, RunStore.open(tmp_path / RUN) as read:
        store.record(make_generation(0))
        waiting, started = threading.Event(), perf_counter()
        while read.last_generation() is None and perf_counter() - started < 10:
            waiting.wait(0.02)
        assert_sound(read, 0)


@pytest.mark.slow
def test_two_runs_in_one_place_do_not_meet(tmp_path):
    """Two processes record two runs at once, a third reads both: none waits for a lock."""
    paths = [tmp_path / "a", tmp_path / "b"]
    with (
        child(child_record, paths[0], 1, "all", 300) as one,
        child(child_record, paths[1], 1, "front", 300) as two,
    ):
        for process in (one, two):
            assert process.stdout.readline() == "0\n"
        while one.poll() is None or two.poll() is None:
            for path in paths:
                with RunStore.open(path) as store:
                    last = store.last_generation()
                    assert_same_generation(make_generation(last.number), last)
                    assert store.warnings == ()
        ends = [process.stdout.read().split("\n")[-2] for process in (one, two)]
    assert ends == ["done", "done"]
    for path in paths:
        with RunStore.open(path) as store:
            assert_sound(store, 299)
            assert store.status == "finished"


@pytest.mark.slow
@pytest.mark.skipif(malloc_totals is None, reason="memory is counted by glibc")
def test_memory_and_handles_are_flat_over_6000_generations(tmp_path):
    """Once SQLite's cache of pages is full nothing grows, in memory or in open files."""
    levels = []
    with RunStore.create(tmp_path, RUN, HEADER, keep="front") as store:
        generation = make_generation(0, individuals=64)
        for number in range(6000):
            store.record(renumber(generation, number))
            if number % 3000 == 2999:
                store.flush()  # what waits for the disk is bounded by the queue, not flat
                gc.collect()  # what earlier tests left
                levels.append((live_bytes(), len(os.listdir("/proc/self/fd"))))
        assert store.verify() == []
    (memory, handles), (memory_after, handles_after) = levels
    assert handles_after == handles
    assert memory_after - memory < 2**16


def test_recording_costs_the_search_next_to_nothing(tmp_path):
    """At P = 512, G = 10, O = 3 the call costs far below 0.3 ms; most of it is copying."""
    generation = make_generation(0, individuals=512, genes=10, objectives=3)
    seconds = []
    with RunStore.create(tmp_path, RUN, HEADER) as store:
        for number in range(200):
            started = perf_counter()
            store.record(renumber(generation, number))
            seconds.append(perf_counter() - started)
    assert float(np.median(seconds)) < 0.3e-3


def renumber(generation, number):
    """The same generation under another number."""
    fields = dict(vars(generation))
    return type(generation)(**fields | {"number": number})


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOTDIR], ids=str)
def test_a_place_that_takes_nothing_is_no_matter_of_room(tmp_path, number):
    """Bytes that are free would mislead: another folder is what helps."""
    message = str(build_write_error(OSError(number, os.strerror(number)), tmp_path / "runs", 10))
    assert message == (
        f"{tmp_path / 'runs'} cannot be written ({os.strerror(number)}): "
        "let --runs name a folder that can"
    )


def test_a_file_that_was_cut_short_is_said_to_be(tmp_path):
    """A header of SQLite without tables is damage, and no riddle about a table."""
    with RunStore.create(tmp_path, "cut", {}) as store:
        path = store.path / DATABASE
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(StoreError, match="damaged"):
        RunStore.open(path.parent)
