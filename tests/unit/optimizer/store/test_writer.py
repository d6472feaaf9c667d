"""The writer of a run: older generations keep less, and a kill or a disk loses nothing."""

import os
import shutil
import sqlite3
from contextlib import suppress

import pytest

from optimizer.errors import DisturbedError, StoreError
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from optimizer.store.rows import front_population
from optimizer.store.writer import Committer
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
