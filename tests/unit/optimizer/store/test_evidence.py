"""Evidence on a result: added row by row, chained, and gone with the result that it is of."""

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from tests.support.forging import change
from tests.support.recording import HEADER, fill, make_generation

ROWS = [
    ("null/1", {"strength": 1.5}),
    ("null/2", {"strength": None}),
    ("judgement", {"grade": "x"}),
]


@pytest.fixture
def path(tmp_path):
    """A finished run of one generation, with three rows of evidence."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        for name, row in ROWS:
            store.add_evidence(name, row)
    return tmp_path / "run"


def test_rows_are_read_back_in_order_and_more_can_follow(path):
    """When the run is opened, and after it was closed."""
    with RunStore.open(path, writable=True) as store:
        assert list(store.evidence) == ROWS
        store.add_evidence("judgement", {"grade": "y"})
        store.flush()
        assert store.evidence[-1] == ("judgement", {"grade": "y"})
    with RunStore.open(path) as store:
        assert len(store.evidence) == 4
        assert store.verify() == []
        assert store.status == "finished"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE evidence SET payload = CAST('{\"strength\":9}' AS BLOB) WHERE id = 1",
        "UPDATE evidence SET name = 'null/7' WHERE id = 2",
        "DELETE FROM evidence WHERE id = 2",
        "UPDATE evidence SET id = 9 WHERE id = 3",
    ],
)
def test_a_row_that_was_changed_is_noticed(path, statement):
    """By readers, and by verify."""
    change(path, statement)
    with RunStore.open(path) as store:
        with pytest.raises(StoreError, match=r"row . of the evidence does not follow"):
            _ = store.evidence
        assert any("evidence" in line for line in store.verify())


@pytest.mark.parametrize("link", ["NULL", "7", "'text'"])
def test_a_result_whose_link_is_of_another_kind_is_noticed(path, link):
    """Damage of the link that evidence follows is noted, too."""
    change(path, f"UPDATE result SET chain = {link}")
    with RunStore.open(path) as store:
        assert store.verify() == ["result: the result does not match its SHA-256"]
        with pytest.raises(StoreError, match="the result does not match"):
            _ = store.evidence


def test_evidence_goes_with_its_result(path):
    """What follows another result is other evidence."""
    with RunStore.open(path, writable=True) as store:
        store.record(make_generation(1))
        store.flush()
        assert store.evidence == ()
        store.finish({"front": [1]})
        assert store.evidence == ()


def test_there_is_none_before_a_result(tmp_path):
    """It would have no meaning."""
    store = RunStore.create(tmp_path, "run", HEADER)
    store.add_evidence("null/1", {})
    with pytest.raises(StoreError, match="evidence without a result"):
        store.flush()
    with pytest.raises(StoreError):
        store.close()


def test_a_run_from_before_evidence_is_read_and_resumed(path):
    """It gets a table for evidence when it is written."""
    change(path, "DROP TABLE evidence")
    change(path, "PRAGMA user_version = 2")
    with RunStore.open(path) as store:
        assert (store.evidence, store.verify()) == ((), [])
    with RunStore.open(path, writable=True) as store:
        store.add_evidence("null/1", {"strength": 1.0})
    with RunStore.open(path) as store:
        assert store.evidence == (("null/1", {"strength": 1.0}),)


FOUND = {
    "front_hash": "f",
    "data_hash": "d",
    "generation": 1,
    "evaluated": 24,
    "stopped_by": "generations",
}
"""Of a result, what evidence on it is about."""


@pytest.fixture
def judged_run(tmp_path):
    """A finished run of two generations, with evidence, whose last generation is damaged."""
    with RunStore.create(tmp_path, "judged", HEADER) as store:
        fill(store, 2)
        store.finish({**FOUND, "seconds": 1.0})
        for name, row in ROWS:
            store.add_evidence(name, row)
    change(store.path, "UPDATE generation SET genomes = x'' WHERE number = 1")
    return store.path


DAMAGE = ["generation 1: its population does not have the recorded shape"]
"""Losses of that run, which stay said."""


def finish_run(path, result):
    """Make the last generation again, and end the run with a result."""
    with RunStore.open(path, writable=True) as store:
        store.record(make_generation(1))
        store.flush()
        assert (store.result, store.evidence) == (None, ())
        if result:
            store.finish(result)


@pytest.mark.parametrize("is_killed", [False, True])
def test_evidence_stays_where_the_same_front_is_found_again(judged_run, is_killed, caplog):
    """However long that took, and though the owner was killed in between."""
    if is_killed:
        finish_run(judged_run, None)
        change(judged_run, "UPDATE generation SET genomes = x'' WHERE number = 1")
    caplog.set_level("INFO")
    finish_run(judged_run, {**FOUND, "seconds": 2.0})
    assert "the same front as before: 3 rows of evidence on it stay" in caplog.text
    with RunStore.open(judged_run) as store:
        assert (list(store.evidence), store.verify()) == (ROWS, DAMAGE)


@pytest.mark.parametrize("field", FOUND)
def test_evidence_on_another_search_is_removed_and_that_is_said(judged_run, field, caplog):
    """A judgement counts the trials of its own search."""
    finish_run(judged_run, {**FOUND, field: "another"})
    assert "3 rows of evidence on the run's earlier result are removed" in caplog.text
    with RunStore.open(judged_run) as store:
        assert (store.evidence, store.verify()) == ((), DAMAGE)


def test_evidence_that_was_damaged_while_it_waited_is_removed(judged_run, caplog):
    """It is not taken for sound because a result follows."""
    finish_run(judged_run, None)
    change(judged_run, "UPDATE evidence SET payload = CAST('{}' AS BLOB) WHERE id = 1")
    change(judged_run, "UPDATE generation SET genomes = x'' WHERE number = 1")
    finish_run(judged_run, FOUND)
    assert "3 rows of evidence" in caplog.text
    assert RunStore.open(judged_run).evidence == ()
