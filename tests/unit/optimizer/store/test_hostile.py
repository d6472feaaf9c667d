"""Records that no version wrote: one line of a list, and one line of what reads them."""

import json
import shutil

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.listing import DATABASE, find_next_number, find_run
from optimizer.store.payload import DEEPEST, decode, encode
from tests.support.hostile import TABLES, changing
from tests.support.recording import HEADER, fill


@pytest.fixture
def runs(tmp_path):
    """A folder of two runs, of which one is to be changed."""
    for name in ("sound", "changed"):
        with RunStore.create(tmp_path, name, HEADER) as store:
            fill(store, 3)
            store.finish({"front": []})
    return tmp_path


def put(run, table, payload):
    """Write the JSON of all rows of a table, and make all digests anew."""
    _, column = TABLES[table]
    with changing(run / DATABASE) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (payload,))


def read_whole(run):
    """All that a run recorded, but its populations."""
    with RunStore.open(run) as store:
        return store.header, store.generations(), store.result


def nest_lists(depth):
    """The JSON of lists in lists."""
    return b"[" * depth + b"]" * depth


NO_RECORDS = {
    "below json's own limit": nest_lists(400),
    "objects": b'{"a":' * 300 + b"1" + b"}" * 300,
    "beyond json's own limit": nest_lists(100_000),
    "a number of a million digits": b"9" * 1_000_000,
    "a number of 30 digits": b"1" + b"0" * 29,
    "an infinite number": b"1e999",
    "a constant": b"NaN",
    "a key that stands twice": b'{"a":1,"a":2}',
    "half a character": b'"\\ud800"',
}


@pytest.mark.parametrize("inner", NO_RECORDS.values(), ids=NO_RECORDS)
@pytest.mark.parametrize("table", ["header", "generation", "result"])
def test_a_hostile_record_is_one_line_of_the_list(runs, table, inner):
    """The other run is listed and found as before, and the next one gets its number."""
    run = runs / "changed"
    with changing(run / DATABASE) as connection:
        _, column = TABLES[table]
        (before,) = connection.execute(f"SELECT {column} FROM {table}").fetchone()
    payload = json.loads(before)
    (payload["run"] if table == "header" else payload)["more"] = "a mark"
    put(run, table, json.dumps(payload).encode().replace(b'"a mark"', inner))
    listed = {one.id: one for one in list_runs(runs)}
    assert listed["sound"].status == "finished"
    assert not listed["sound"].damaged
    assert listed["changed"].damaged
    assert "\n" not in listed["changed"].damaged
    assert find_run(runs, "sound") == runs / "sound"
    assert find_run(runs, "latest") in {runs / "sound", runs / "changed"}
    assert find_next_number(runs) >= 2
    with pytest.raises(StoreError):
        read_whole(run)


@pytest.mark.parametrize(
    "change",
    [{"keep": "more"}, {"keep": ["all"]}, {"journal": 7}],
    ids=str,
)
def test_a_store_that_keeps_otherwise_is_refused(runs, change):
    """The word for how a run is kept is a known one."""
    with changing(runs / "changed" / DATABASE) as connection:
        (before,) = connection.execute("SELECT payload FROM header").fetchone()
    payload = json.loads(before)
    payload["store"].update(change)
    put(runs / "changed", "header", json.dumps(payload).encode())
    with pytest.raises(StoreError, match="the header is not that of a run"):
        RunStore.open(runs / "changed", writable=True)


def test_a_summary_of_other_kinds_is_refused_in_one_line(runs):
    """A count that is a text names its generation."""
    put(runs / "changed", "generation", b'{"evaluated":"many"}')
    with RunStore.open(runs / "sound") as store:
        assert len(store.generations()) == 3
    with pytest.raises(StoreError, match="generation 0: the summary cannot be read"):
        RunStore.open(runs / "changed").generations()


def test_what_is_written_is_read():
    """Nesting, numbers and characters as they may be recorded come back."""
    deep = 0
    for _ in range(DEEPEST - 1):
        deep = [deep]
    fields = {"deep": deep, "whole": [2**63 - 1, -(2**63) + 1], "floats": [1e308, 0.00012345678901],
            "text": "\U0001f600 1e999 99999999999999999999 \\ud800"}  # fmt: skip
    assert decode(encode(fields, what="a test")) == fields


def test_a_folder_of_hostile_runs_alone_is_listed(runs):
    """Where no run can be read each is a line."""
    for name in ("sound", "changed"):
        put(runs / name, "header", nest_lists(500))
    shutil.copytree(runs / "sound", runs / "third")
    assert [run.status for run in list_runs(runs)] == ["damaged"] * 3
