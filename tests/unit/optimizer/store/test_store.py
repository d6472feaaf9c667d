"""The run store in fair weather: record, read, finish, resume, keep less."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.search.generation import Population
from optimizer.store import RunStore
from optimizer.store.listing import DATABASE
from optimizer.store.rows import front_population
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_same_population,
    assert_sound,
    fill,
    make_generation,
)

RUN = "run-1"


@pytest.fixture
def store(tmp_path):
    """A run that this process owns, without generations."""
    with RunStore.create(tmp_path, RUN, HEADER) as opened:
        yield opened


def test_what_is_read_is_what_was_recorded(store):
    """Every bit of each generation, NaN included, its counts, and the header."""
    fill(store, 5)
    for number, summary in enumerate(store.generations()):
        expected = make_generation(number)
        assert_same_generation(expected, store.generation(number))
        front = len(front_population(expected.population))
        assert (summary.number, summary.individuals, summary.front) == (number, 6, front)
        assert (summary.rejected, summary.seconds) == (expected.rejected, expected.seconds)
        assert summary.kept == "whole"
    assert_sound(store, 4)
    assert (store.header, store.run_id, store.status) == (HEADER, RUN, "running")
    for number in (-1, 5):
        with pytest.raises(StoreError, match="only 5 generations"):
            store.generation(number)


def test_strange_floats_keep_their_bits(store):
    """Minus zero, infinities, the smallest number and NaN with a payload."""
    values = np.array([-0.0, np.inf, -np.inf, 5e-324, np.nan, 1e308])
    values = np.append(values, np.array([0x7FF8000000000123], np.uint64).view(np.float64))
    codes = np.arange(7, dtype=np.int16) - 3
    population = Population(values[:, None], values[:, None], np.ones(7), codes)
    store.record(replace(make_generation(0), population=population))
    store.flush()
    assert_same_population(population, store.last_generation().population)


def _change_columns(generation):
    return replace(generation, population=replace(generation.population, violations=np.zeros(5)))


@pytest.mark.parametrize(
    ("generation", "word"),
    [
        (make_generation(2), "the next to record is 1"),
        (make_generation(1, genes=3), r"\(3, 2\) genes and objectives"),
        (_change_columns(make_generation(1)), "differ in length"),
        (replace(make_generation(1), seconds=float("nan")), "seconds is not a finite"),
    ],
    ids=["gap", "shape", "columns", "NaN"],
)
def test_no_other_generation_follows(store, generation, word):
    """It is refused at the call, and the run goes on with the right one."""
    fill(store, 1)
    with pytest.raises(StoreError, match=word):
        store.record(generation)
    fill(store, 1, start=1)
    assert_sound(store, 1)


def test_a_run_is_finished_copied_and_gone_on_with(store, tmp_path):
    """A closed run is one plain file; more generations make its result untrue."""
    fill(store, 2)
    for wrong in ({"front": [{"sharpe": float("inf")}]}, {"front": {1, 2}}):
        with pytest.raises(StoreError, match=r"front\[0\].sharpe|set"):
            store.finish(wrong)
    assert (store.result, store.status) == (None, "running")
    store.finish({"front": [{"genes": np.float64(0.1)}], "hash": "ab"})
    store.close()
    store.close()
    with pytest.raises(StoreError, match="not open for writing"):
        store.record(make_generation(2))
    assert sorted(path.name for path in store.path.iterdir()) == ["owner.lock", DATABASE]
    shutil.copytree(store.path, tmp_path / "copy")
    with RunStore.open(tmp_path / "copy", writable=True) as copy:
        assert (copy.run_id, copy.status) == ("copy", "finished")
        fill(copy, 1, start=2)
        assert (copy.result, copy.status, copy.verify()) == (None, "running", [])
    with RunStore.open(tmp_path / "copy") as copy:
        assert copy.status == "interrupted"
        assert_sound(copy, 2)
    with RunStore.open(store.path) as read:
        assert read.result == {"front": [{"genes": 0.1}], "hash": "ab"}
        assert (read.status, read.verify()) == ("finished", [])


def test_a_reader_beside_the_owner_sees_what_is_committed(store, tmp_path):
    """It writes nothing."""
    fill(store, 3)
    with RunStore.open(tmp_path / RUN) as read:
        assert_same_generation(make_generation(2), read.generation(2))
        fill(store, 1, start=3)
        assert_same_generation(make_generation(3), read.generation(3))
        assert read.status == "running"
        with pytest.raises(StoreError, match="not open for writing"):
            read.record(make_generation(4))


@pytest.mark.parametrize(
    ("run_id", "options", "word"), [(RUN, {}, "exists"), ("b", {"keep": "some"}, "'some'")]
)
def test_a_run_that_cannot_begin_leaves_nothing(store, tmp_path, run_id, options, word):
    """Its name is taken, or an option has a word that nobody knows."""
    with pytest.raises(StoreError, match=word):
        RunStore.create(tmp_path, run_id, HEADER, **options)
    assert [path.name for path in tmp_path.iterdir()] == [RUN]
