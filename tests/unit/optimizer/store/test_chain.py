"""Damage within a run: fall back to sound rows and say so, or refuse in one line."""

import sqlite3
from contextlib import closing

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.listing import DATABASE
from optimizer.store.lock import read_owner
from tests.support.forging import change
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    fill,
    make_generation,
)

RUN = "run-1"


def record_run(path, count=10, **options):
    """Record a run and close it."""
    with RunStore.create(path.parent, path.name, HEADER, **options) as store:
        fill(store, count)
    return path


@pytest.fixture
def run(tmp_path):
    """A closed run with generations 0 to 9."""
    return record_run(tmp_path / RUN)


def use(run, writable=False):
    """Open a run and read its newest generation."""
    with RunStore.open(run, writable=writable) as store:
        return store.last_generation()


def assert_falls_back(run, newest, match):
    """Readers and owners go on from `newest` and say why, also when the run is whole again."""
    with RunStore.open(run) as store:
        assert_same_generation(make_generation(newest), store.last_generation())
        assert any(match in line for line in store.warnings), store.warnings
        assert f"going on from generation {newest}, the newest that is sound" in store.warnings
        assert store.verify() != []
    assert match in list_runs(run.parent)[0].damaged
    with RunStore.open(run, writable=True) as store:
        assert_same_generation(make_generation(newest), store.last_generation())
        for number in range(newest + 1, 12):
            store.record(make_generation(number))
        assert store.last_generation().number == 11
    with RunStore.open(run) as store:
        assert_same_generation(make_generation(11), store.last_generation())
        assert [summary.number for summary in store.generations()] == list(range(12))
        assert store.verify() == list(store.warnings)
        assert match in store.warnings[0]


COLUMNS = ("genomes", "objectives", "violations", "failures", "lineage", "state")


def flip(run, column, number):
    """Change the lowest bit of a column's last byte."""
    with closing(sqlite3.connect(run / DATABASE)) as connection:
        query = f"SELECT {column} FROM generation WHERE number = ?"
        (blob,) = connection.execute(query, (number,)).fetchone()
    value = blob[:-1] + bytes([blob[-1] ^ 1])
    change(run, f"UPDATE generation SET {column} = ? WHERE number = ?", value, number)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_flipped_bit_of_any_column_is_found(run, column):
    """The newest generation is left then; an older one is named, and stops no run."""
    flip(run, column, 3)
    with RunStore.open(run, writable=True) as store:
        assert_same_generation(make_generation(9), store.last_generation())
        assert store.warnings == ()
        (line,) = store.verify()
        assert line.startswith("generation 3:")
        with pytest.raises(StoreError, match="generation 3:"):
            store.generation(3)
    flip(run, column, 9)
    with RunStore.open(run) as store:
        assert store.last_generation().number == 8
        assert "generation 9" in store.warnings[0]


@pytest.mark.parametrize(
    ("column", "value"),
    [("genomes", b""), ("objectives", b"\0" * 8), ("failures", "text")],
)
def test_a_population_that_is_not_there_is_skipped(run, column, value):
    """An empty, cut or foreign column is found by its shape or kind."""
    change(run, f"UPDATE generation SET {column} = ? WHERE number = 9", value)
    assert_falls_back(run, 8, "generation 9: its population ")


@pytest.mark.parametrize(
    ("number", "assignment", "word"),
    [
        (9, "chain = zeroblob(32)", "does not match the chain"),
        (4, "whole_sha = zeroblob(32)", "does not match the chain"),
        (9, "summary = CAST('{\"evaluated\":0}' AS BLOB)", "does not match the chain"),
        (4, "front = 0", "does not match the chain"),
        (9, "kept = 'half'", "cannot be read"),
        (4, "individuals = -1", "cannot be read"),
    ],
)
def test_a_row_that_breaks_the_chain_ends_it(run, number, assignment, word):
    """Whatever of a row is changed, it and all after it are no longer trusted."""
    change(run, f"UPDATE generation SET {assignment} WHERE number = ?", number)
    assert_falls_back(run, number - 1, f"generation {number} {word}")


@pytest.mark.parametrize(
    ("condition", "newest", "match"),
    [
        ("= 6", 5, "generation 6 is missing"),
        ("= 9", 8, "generations 9 to 9 were recorded but"),
    ],
)
def test_rows_that_are_gone_are_missed(run, condition, newest, match):
    """The owner's note remembers how far the run had come."""
    change(run, f"DELETE FROM generation WHERE number {condition}")
    assert_falls_back(run, newest, match)


@pytest.mark.parametrize("keep", ["front", "last"])
def test_a_run_without_a_sound_generation_is_an_error(tmp_path, keep):
    """With less kept, one damaged costs one; with both whole ones it never begins from zero."""
    run = record_run(tmp_path / RUN, keep=keep)
    change(run, "UPDATE generation SET genomes = x'00' WHERE number = 9")
    assert_falls_back(run, 8, "generation 9: its population")
    for statement, word in (
        ("UPDATE generation SET genomes = x'00' WHERE number >= 10", "can be used.* new run"),
        ("DELETE FROM generation", "generations 0 to 11 were recorded but are gone"),
    ):
        change(run, statement)
        for writable in (False, True):
            with pytest.raises(StoreError, match=word):
                use(run, writable)


@pytest.mark.parametrize("statement", ["UPDATE header SET payload = x'7b7d'", "DELETE FROM header"])
def test_a_damaged_header_is_an_error(run, statement):
    """Without it the rows have no meaning."""
    change(run, statement)
    for writable in (False, True):
        with pytest.raises(StoreError, match="the header is damaged"):
            use(run, writable)


ROWS = [("null/1", {"strength": 1.5}), ("null/2", {"strength": None}), ("judgement", {"a": "x"})]

FOUND = {
    "front_hash": "f",
    "data_hash": "d",
    "generation": 1,
    "evaluated": 24,
    "stopped_by": "generations",
}
"""Of a result, what evidence on it is about."""


@pytest.fixture
def judged(tmp_path):
    """A finished run that was taken up twice, with three rows of evidence."""
    with RunStore.create(tmp_path, "judged", HEADER) as store:
        fill(store, 1)
    for planned in (5, 1):
        with RunStore.open(store.path, writable=True) as store:
            store.note_resumption([], planned)
    with RunStore.open(store.path, writable=True) as store:
        fill(store, 1, start=1)
        store.finish({**FOUND, "seconds": 1.0})
        for name, row in ROWS:
            store.add_evidence(name, row)
    return store.path


def test_evidence_is_read_back_in_order_counted_and_added_to(judged):
    """The owner notes all that it has written."""
    rows = {"result": 1, "resumption": 2, "evidence": 3}
    assert (read_owner(judged).committed, dict(read_owner(judged).rows)) == (1, rows)
    with RunStore.open(judged, writable=True) as store:
        assert read_owner(judged).rows == rows
        assert list(store.evidence) == ROWS
        store.add_evidence("judgement", {"a": "y"})
        store.flush()
        assert read_owner(judged).rows["evidence"] == 4
    with RunStore.open(judged) as store:
        assert store.evidence[-1] == ("judgement", {"a": "y"})
        assert (store.verify(), store.status) == ([], "finished")


@pytest.mark.parametrize(
    ("statement", "refused", "line"),
    [
        ("UPDATE result SET payload = x'7b7d'", "result", "result: "),
        ("UPDATE result SET chain = x'00'", "result", "the result does not follow"),
        ("UPDATE result SET chain = NULL", "evidence", "result: "),
        ("UPDATE evidence SET payload = CAST('{\"a\":9}' AS BLOB) WHERE id = 1", "evidence",
         "row 1 of the evidence"),
        ("UPDATE evidence SET name = 'null/7' WHERE id = 2", "evidence", "row 2 of the evidence"),
        ("DELETE FROM evidence WHERE id = 2", "evidence", "row 2 of the evidence"),
        ("UPDATE resumption SET payload = CAST(replace(CAST(payload AS TEXT), "
         "'\"generations\":', '\"generations\":9') AS BLOB) WHERE id = 1", "",
         "resumption 1 does not match"),
        ("DELETE FROM resumption WHERE id = 1", "", "resumption 1 does not match"),
    ],
)  # fmt: skip
def test_what_stands_beside_generations_is_linked_too(judged, statement, refused, line):
    """Result, evidence and notes: verify names what was changed; what hangs on it is refused."""
    change(judged, statement)
    with RunStore.open(judged) as store:
        assert store.last_generation().number == 1
        assert any(line in found for found in store.verify()), store.verify()
        for part in ("result", "evidence"):
            if part == refused:
                with pytest.raises(StoreError):
                    getattr(store, part)
    assert bool(list_runs(judged.parent)[0].damaged) == ("result" in line or "evidence" in line)


@pytest.mark.parametrize("value", [b'{"generations":', b"[]", None])
def test_a_note_that_cannot_be_read_stops_no_run(judged, value):
    """That a run was taken up again decides nothing: all else is read, and verify names it."""
    change(judged, "INSERT INTO resumption (payload) VALUES (?)", value)
    with RunStore.open(judged, writable=True) as store:
        assert (store.planned, store.verify()) == (1, ["resumption 3 cannot be read"])
        assert_same_generation(make_generation(1), store.last_generation())


def test_evidence_needs_a_result_and_goes_with_it(judged, tmp_path):
    """What follows another result is other evidence; taking it away is no loss."""
    with RunStore.open(judged, writable=True) as store:
        fill(store, 1, start=2)
        assert (store.evidence, store.find_losses()) == ((), ())
        assert read_owner(judged).rows["evidence"] == 3
        store.finish({"front": [1]})
        assert read_owner(judged).rows["evidence"] == 0
        assert (store.evidence, store.verify(), store.warnings) == ((), [], ())
    store = RunStore.create(tmp_path, "begun", HEADER)
    store.add_evidence("null/1", {})
    for call in (store.flush, store.close):
        with pytest.raises(StoreError, match="without a result"):
            call()


def harm_last(path):
    """Damage the last generation, which takes the result with it when it is made again."""
    change(path, "UPDATE generation SET genomes = x'' WHERE number = 1")


def finish_again(path, result):
    """Make the last generation again, and end the run with a result."""
    with RunStore.open(path, writable=True) as store:
        fill(store, 1, start=1)
        assert (store.result, store.evidence) == (None, ())
        if result:
            store.finish(result)


def harm_waiting(path):
    """Kill the owner before its result, and change the evidence that waits for it."""
    finish_again(path, None)
    change(path, "UPDATE evidence SET payload = CAST('{}' AS BLOB) WHERE id = 1")


@pytest.mark.parametrize(
    ("between", "changes", "stays"),
    [
        (None, {"seconds": 2.0}, True),
        (lambda path: finish_again(path, None), {}, True),
        *((None, {field: "another"}, False) for field in FOUND),
        (harm_waiting, {}, False),
    ],
    ids=["again", "killed", *FOUND, "damaged meanwhile"],
)
def test_evidence_stays_where_the_same_front_is_found_again(
    judged, caplog, between, changes, stays
):
    """However long that took; on another search it is removed, and that is said."""
    caplog.set_level("INFO")
    harm_last(judged)
    if between:
        between(judged)
        harm_last(judged)
    finish_again(judged, {**FOUND, **changes})
    assert f"3 rows of evidence on {'it stay' if stays else 'the run'}" in caplog.text
    with RunStore.open(judged) as store:
        assert list(store.evidence) == (ROWS if stays else [])
        assert [line for line in store.verify() if "generation 1" not in line] == []


def test_a_run_from_before_evidence_is_read_and_resumed(judged):
    """It gets a table for evidence when it is written; notes have no digest."""
    change(judged, "DROP TABLE evidence")
    change(judged, "UPDATE resumption SET payload = CAST('{\"generations\":1}' AS BLOB)")
    change(judged, "PRAGMA user_version = 2")
    with RunStore.open(judged) as store:
        assert (store.evidence, store.verify()) == ((), [])
    with RunStore.open(judged, writable=True) as store:
        store.add_evidence("null/1", {"strength": 1.0})
    with RunStore.open(judged) as store:
        assert store.evidence == (("null/1", {"strength": 1.0}),)
