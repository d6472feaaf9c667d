"""Records that no version wrote: one line of a list, and one line of whatever reads them."""

import json

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.listing import DATABASE, find_next_number, find_run
from optimizer.store.payload import DEEPEST, decode, encode
from tests.support.hostile import changing
from tests.support.recording import HEADER, fill


@pytest.fixture
def runs(tmp_path):
    """A folder of two runs, of which one is to be changed."""
    for name in ("sound", "changed"):
        with RunStore.create(tmp_path, name, HEADER) as store:
            fill(store, 2)
            store.finish({"front": []})
    return tmp_path


def read(run, kind):
    """JSON of the first record of a kind."""
    with changing(run / DATABASE) as connection:
        query = "SELECT payload FROM record WHERE kind = ?"
        return connection.execute(query, (kind,)).fetchone()[0]


def put(run, kind, payload):
    """Write the JSON of all records of a kind, and make all digests anew."""
    with changing(run / DATABASE) as connection:
        connection.execute("UPDATE record SET payload = ? WHERE kind = ?", (payload, kind))


NO_RECORDS = {
    "below json's own limit": b"[" * 400 + b"]" * 400,
    "beyond json's own limit": b"[" * 100_000 + b"]" * 100_000,
    "a number of a million digits": b"9" * 1_000_000,
    "an infinite number": b"1e999",
    "a constant": b"NaN",
    "a key that stands twice": b'{"a":1,"a":2}',
    "half a character": b'"\\ud800"',
}


@pytest.mark.parametrize("inner", NO_RECORDS.values(), ids=NO_RECORDS)
def test_a_hostile_text_is_no_record(inner):
    """At any depth."""
    for payload in (inner, b'{"b":[' + inner + b"]}"):
        with pytest.raises(ValueError, match=r".|$"):
            decode(payload)


@pytest.mark.parametrize("kind", ["header", "generation", "result"])
def test_a_hostile_record_is_one_line_of_the_list(runs, kind):
    """The other run is listed and found as before, and the next one gets its number."""
    run = runs / "changed"
    payload = json.loads(read(run, kind))
    (payload["run"] if kind == "header" else payload)["more"] = "a mark"
    put(run, kind, json.dumps(payload).encode().replace(b'"a mark"', b"[" * 400 + b"]" * 400))
    listed = {one.id: one for one in list_runs(runs)}
    assert (listed["sound"].status, listed["sound"].damaged) == ("finished", "")
    assert listed["changed"].damaged
    assert "\n" not in listed["changed"].damaged
    assert find_run(runs, "sound") == runs / "sound"
    assert find_run(runs, "latest") in {runs / "sound", run}
    assert find_next_number(runs) >= 2

    def read_whole():
        with RunStore.open(run) as store:
            return store.header, store.generations(), store.result

    with pytest.raises(StoreError):
        read_whole()


def test_whatever_is_written_is_read():
    """Nesting, numbers and characters as they may be recorded come back."""
    deep = 0
    for _ in range(DEEPEST - 1):
        deep = [deep]
    fields = {"deep": deep, "whole": [2**63 - 1, -(2**63) + 1], "floats": [1e308, 0.00012345678901],
              "text": "\U0001f600 1e999 99999999999999999999 \\ud800"}  # fmt: skip
    assert decode(encode(fields, what="a test")) == fields


@pytest.mark.parametrize("whole", [2**63, -(2**63), 10**30])
def test_a_number_that_is_not_read_is_not_written(whole):
    """It is refused before it is recorded, not when it is read."""
    with pytest.raises(StoreError, match="a test cannot be recorded: the whole number"):
        encode({"whole": [whole]}, what="a test")
