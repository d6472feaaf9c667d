"""The run store in fair weather: record, read, finish, resume, keep less."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.search.generation import Population
from optimizer.store import RunStore, estimate_bytes, reader, require_space
from optimizer.store.listing import DATABASE
from optimizer.store.rows import front_population
from optimizer.store.space import LOG_BYTES
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
    """Every bit of every generation comes back, NaN included, and the header with it."""
    fill(store, 5)
    for number in range(5):
        assert_same_generation(make_generation(number), store.generation(number))
    assert_sound(store, 4)
    assert store.header == HEADER
    assert (store.run_id, store.status) == (RUN, "running")


def test_strange_floats_keep_their_bits(store):
    """Minus zero, infinities, the smallest number and NaN with a payload come back as they were."""
    values = np.array([-0.0, np.inf, -np.inf, 5e-324, np.nan, 1e308])
    values = np.append(values, np.array([0x7FF8000000000123], np.uint64).view(np.float64))
    population = Population(
        values[:, None], values[:, None], np.ones(7), np.arange(7, dtype=np.int16) - 3
    )
    store.record(replace(make_generation(0), population=population))
    store.flush()
    assert_same_population(population, store.last_generation().population)


@pytest.mark.parametrize("individuals", [0, 1, 7])
def test_any_population_size_is_recorded(store, individuals):
    """No individual, one, and an odd number of them, with a front or without."""
    for number in range(2):
        store.record(make_generation(number, individuals=individuals))
    store.flush()
    expected = make_generation(1, individuals=individuals)
    assert_same_generation(expected, store.last_generation())
    assert_same_population(front_population(expected.population), store.front(1))


def test_arrays_may_change_once_recorded(store):
    """What is recorded is what the arrays held at the call, not what they hold at the commit."""
    generation = make_generation(0)
    store.record(generation)
    generation.population.genomes[:] = -1
    assert_same_generation(make_generation(0), store.last_generation())


def test_summaries_tell_every_generation(store):
    """Each generation has its counts, the size of its front, and a mark that it is whole."""
    fill(store, 3)
    for number, summary in enumerate(store.generations()):
        front = front_population(make_generation(number).population)
        assert (summary.number, summary.individuals, summary.front) == (number, 6, len(front))
        assert summary.rejected == make_generation(number).rejected
        assert summary.seconds == make_generation(number).seconds
        assert summary.kept == "whole"


@pytest.mark.parametrize("number", [1, 7])
def test_generations_are_recorded_in_order(store, number):
    """A gap is refused, and nothing of them is recorded."""
    with pytest.raises(StoreError, match=f"generation {number} cannot follow generation -1"):
        store.record(make_generation(number))
    fill(store, 1)
    assert_sound(store, 0)


def test_shapes_may_not_change_within_a_run(store):
    """Another number of genes or objectives than before is refused."""
    fill(store, 1)
    with pytest.raises(StoreError, match=r"\(3, 2\) genes and objectives"):
        store.record(make_generation(1, genes=3))


def test_columns_of_different_length_are_refused(store):
    """A population whose columns disagree is refused by name."""
    population = replace(make_generation(0).population, violations=np.zeros(5))
    with pytest.raises(StoreError, match="generation 0: its columns differ in length"):
        store.record(replace(make_generation(0), population=population))


def test_summary_with_nan_is_refused_at_the_call(store):
    """JSON has no NaN, so a generation that took NaN seconds is refused with the field's name."""
    with pytest.raises(StoreError, match=r"summary of generation 0 .* seconds is not a finite"):
        store.record(replace(make_generation(0), seconds=float("nan")))


def test_finished_run_has_a_result(store, tmp_path):
    """The result is read back, follows from the last generation, and makes the run finished."""
    fill(store, 2)
    assert store.result is None
    store.finish({"front": [{"genes": np.float64(0.1)}], "hash": "ab"})
    assert store.status == "finished"
    store.close()
    with RunStore.open(tmp_path / RUN) as read:
        assert read.result == {"front": [{"genes": 0.1}], "hash": "ab"}
        assert read.status == "finished"
        assert read.verify() == []


def test_result_with_nan_is_refused_naming_where(store):
    """The place of the number that JSON does not have is in the message."""
    with pytest.raises(StoreError, match=r"front\[1\].sharpe is not a finite number; use null"):
        store.finish({"front": [{"sharpe": 1.0}, {"sharpe": float("inf")}]})
    with pytest.raises(StoreError, match="set is not a kind of value"):
        store.finish({"front": {1, 2}})


def test_closed_run_is_one_plain_file_that_can_be_copied(store, tmp_path):
    """No log stays behind; a copy under another name is read and gone on with."""
    fill(store, 3)
    store.close()
    assert sorted(p.name for p in (tmp_path / RUN).iterdir()) == ["owner.lock", DATABASE]
    shutil.copytree(tmp_path / RUN, tmp_path / "copy")
    with RunStore.open(tmp_path / "copy", writable=True) as copy:
        assert copy.run_id == "copy"
        assert_sound(copy, 2)
        fill(copy, 1, start=3)
        assert_sound(copy, 3)


def test_interrupted_run_resumes(store, tmp_path):
    """The next owner continues the chain from the last generation."""
    fill(store, 3)
    store.close()
    with RunStore.open(tmp_path / RUN, writable=True) as resumed:
        assert resumed.last_generation().number == 2
        fill(resumed, 2, start=3)
    with RunStore.open(tmp_path / RUN) as read:
        assert read.status == "interrupted"
        assert_sound(read, 4)


def test_finished_run_that_goes_on_is_no_longer_finished(store, tmp_path):
    """More generations make the old result untrue, so it goes with the first of them."""
    fill(store, 1)
    store.finish({"front": []})
    store.close()
    with RunStore.open(tmp_path / RUN, writable=True) as resumed:
        assert resumed.status == "finished"
        fill(resumed, 1, start=1)
        assert resumed.result is None
        assert resumed.status == "running"
        assert resumed.verify() == []


def test_resumption_is_noted_with_what_had_changed(store):
    """Differences are recorded with how many generations it is asked for now."""
    store.note_resumption(("versions.numpy: recorded '2.0', now '2.1'",), 70)
    store.flush()
    (note,) = store.resumptions
    assert note["after"] == -1
    assert store.planned == note["generations"] == 70
    assert note["differences"] == ["versions.numpy: recorded '2.0', now '2.1'"]


def test_reader_sees_what_is_committed_while_an_owner_writes(store, tmp_path):
    """A second store reads beside the owner, and cannot write."""
    fill(store, 2)
    with RunStore.open(tmp_path / RUN) as read:
        assert_sound(read, 1)
        assert read.status == "running"
        fill(store, 2, start=2)
        assert_sound(read, 3)
        with pytest.raises(StoreError, match="not open for writing"):
            read.record(make_generation(4))


def test_reading_every_generation_follows_the_chain_once(store, tmp_path, monkeypatch):
    """A reader checks the chain again only after a commit, so reading all of a run is linear."""
    fill(store, 5)
    followed = []
    original = reader.follow_chain
    monkeypatch.setattr(reader, "follow_chain", lambda *a: followed.append(1) or original(*a))
    with RunStore.open(tmp_path / RUN) as read:
        for number in range(5):
            assert_same_generation(make_generation(number), read.generation(number))
        assert len(followed) == 1
        fill(store, 1, start=5)
        assert_same_generation(make_generation(5), read.generation(5))
        assert len(followed) == 2


def test_run_with_that_id_must_not_exist(store, tmp_path):
    """Creating a run twice is refused, and leaves no draft behind."""
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(tmp_path, RUN, HEADER)
    assert [p.name for p in tmp_path.iterdir()] == [RUN]


def test_closed_store_refuses_work_and_closes_again(store):
    """After close, record raises that the run is not open, and close does nothing."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match="not open for writing"):
        store.record(make_generation(0))


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_both_journals_record_and_resume(tmp_path, journal):
    """The slower journal holds the same, and a reader may look in between."""
    with RunStore.create(tmp_path, RUN, HEADER, journal=journal) as store:
        fill(store, 2)
        with closing(sqlite3.connect(tmp_path / RUN / DATABASE)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == (journal,)
        with RunStore.open(tmp_path / RUN) as read:
            assert_sound(read, 1)
    with RunStore.open(tmp_path / RUN, writable=True) as store:
        fill(store, 1, start=2)
        assert_sound(store, 2)


@pytest.mark.parametrize("option", [{"keep": "some"}, {"journal": "off"}])
def test_unknown_options_are_refused(tmp_path, option):
    """The message names the value and what is known."""
    with pytest.raises(StoreError, match="is unknown: use one of"):
        RunStore.create(tmp_path, RUN, HEADER, **option)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", [1, 2, 5, 12], ids=lambda size: f"groups of {size}")
@pytest.mark.parametrize("keep", ["front", "last"])
def test_older_generations_keep_less_and_still_verify(tmp_path, keep, group):
    """The newest two stay whole, however commits are grouped; the rest keep what was asked."""
    with RunStore.create(tmp_path, RUN, HEADER, keep=keep) as store:
        for start in range(0, 12, group):
            fill(store, min(group, 12 - start), start)
        expected = {"front": "front", "last": "summary"}[keep]
        kept = [summary.kept for summary in store.generations()]
        assert kept == [expected] * 10 + ["whole"] * 2
        assert_sound(store, 11)
        with pytest.raises(StoreError, match="generation 3: its whole population was not kept"):
            store.generation(3)
        if keep == "front":
            assert_same_population(front_population(make_generation(3).population), store.front(3))
        else:
            with pytest.raises(StoreError, match="generation 3: only its summary was kept"):
                store.front(3)
    with RunStore.open(tmp_path / RUN, writable=True) as store:
        fill(store, 3, start=12)
        assert [s.kept for s in store.generations()] == [expected] * 13 + ["whole"] * 2
        assert_sound(store, 14)


@pytest.mark.parametrize("number", [-1, 3])
def test_generation_that_was_not_recorded_is_refused(store, number):
    """A number that is not there is an error that counts those there are."""
    fill(store, 3)
    with pytest.raises(StoreError, match=f"generation {number}: only 3 generations are recorded"):
        store.generation(number)


@pytest.mark.parametrize("keep", ["all", "last"])
@pytest.mark.parametrize("individuals", [1, 37, 512])
def test_estimate_is_a_bound_that_is_not_far_off(tmp_path, individuals, keep):
    """A run takes no more than was estimated, and no less than half of it, the log apart."""
    with RunStore.create(tmp_path, RUN, HEADER, keep=keep) as store:
        for number in range(41):
            store.record(make_generation(number, individuals=individuals))
    taken = sum(file.stat().st_size for file in (tmp_path / RUN).iterdir())
    estimate = estimate_bytes(individuals, 2, 2, 40, keep=keep)
    assert taken <= estimate
    assert estimate - LOG_BYTES <= 2 * taken + 2**18


def test_too_little_space_is_refused_with_both_numbers(tmp_path):
    """What does not fit is refused before it starts, where the directory need not exist yet."""
    require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(StoreError, match="needs up to 1,000,000,000,000,000,000 bytes and"):
        require_space(tmp_path / "not" / "yet", 10**18)


def test_failure_of_the_body_is_not_hidden_by_closing(tmp_path):
    """What was recorded before an exception is on disk, and the exception is the body's."""

    def body():
        with RunStore.create(tmp_path, RUN, HEADER) as store:
            store.record(make_generation(0))
            raise KeyError("body")

    with pytest.raises(KeyError, match="body"):
        body()
    with RunStore.open(tmp_path / RUN) as read:
        assert_sound(read, 0)
