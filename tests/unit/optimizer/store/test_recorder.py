"""The thread that records: in groups, in order, and never in the search's way."""

import threading
from time import perf_counter

import pytest

from optimizer.store import RunStore
from optimizer.store.writer import Note, Recorder
from tests.support.kill import child, child_fill, child_record, kill_process
from tests.support.recording import HEADER, assert_same_generation, assert_sound, make_generation


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
