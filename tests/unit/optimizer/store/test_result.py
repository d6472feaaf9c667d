"""Results and records that no version wrote, room and losses: each is said in one line."""

import errno
import json
import re
import resource
import shutil
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer.errors import StoreError
from optimizer.store import RunStore, estimate_bytes, list_runs, require_space
from optimizer.store.files import OWNER
from optimizer.store.labels import change_labels
from optimizer.store.listing import (
    DATABASE,
    find_next_number,
    find_run,
    list_run_folders,
    summarise,
)
from optimizer.store.log_file import LOG_BYTES, build_write_error, find_network_kind
from optimizer.store.payload import DEEPEST, decode, encode
from optimizer.store.result import find_strongest, load_result
from optimizer.viewing.run_index import RunIndex, list_rows
from tests.support.hostile import change, changing, forge
from tests.support.recording import HEADER, assert_sound, fill, find_damage, make_generation, mount


@pytest.fixture
def run(recordings, tmp_path, monkeypatch):
    """A copy of a run of three symbols."""
    monkeypatch.chdir(tmp_path)
    recordings.copy("symbols")
    (run,) = list_run_folders(tmp_path / "runs")
    return run


def test_a_result_is_read_as_it_was_recorded(run):
    """Members by their numbers, and names in order: JSON is recorded with sorted names."""
    with RunStore.open(run) as store:
        recorded, result, header = store.result, load_result(store), store.header
    payload = json.loads(json.dumps(result.payload(), allow_nan=False))
    assert (result.run, result.path) == (run.name, str(run))
    for name in recorded.keys() - {"path", "front"}:
        assert payload[name] == recorded[name], name
    best = [member.objectives["sum_r"] for member in result.front]
    assert best == sorted(best, reverse=True)
    assert len(payload["front"]) == len(recorded["front"])
    assert all(member in recorded["front"] for member in payload["front"])
    genes = [gene["name"] for gene in header["genes"]]
    for member in result.front:
        assert list(member.genes) == genes
        assert list(member.objectives) == header["objectives"]
        assert [name for name in member.metrics if name in METRICS] == [
            name for name in METRICS if name in member.metrics
        ]


def change_gene(front):
    """Give the first member another gene."""
    name = next(name for name, value in front[0]["genes"].items() if not isinstance(value, str))
    front[0]["genes"][name] += 1


@pytest.mark.parametrize(
    "change",
    [
        lambda front: front[0]["objectives"].update(sum_r=99.0),
        lambda front: front[0]["objectives"].update(more=1.0),
        lambda front: front.pop(),
        change_gene,
    ],
    ids=["objective", "name", "member", "gene"],
)
def test_members_are_those_of_the_last_generation(run, change):
    """Though every digest was made anew."""

    def edit(result):
        result["polished"] = 0
        change(result["front"])

    forge(run, "result", edit)
    with RunStore.open(run) as store, pytest.raises(StoreError, match="changed"):
        load_result(store)


def test_the_pick_is_the_strongest_and_then_the_first_by_genome():
    """In whatever order members stand; what is undefined never wins."""
    genomes = np.array([[2.0, 1.0], [1.0, 9.0], [1.0, 2.0], [0.0, 0.0]])
    assert find_strongest(np.array([3.0, 3.0, 3.0, 1.0]), genomes) == 2
    assert find_strongest(np.array([np.nan, -1.0, np.nan, -2.0]), genomes) == 1
    assert find_strongest(np.full(4, np.nan), genomes) is None
    gone = {1, 2}
    assert find_strongest(np.array([1.0, 3.0, 4.0, 2.0]), genomes, gone.__contains__) == 3
    assert find_strongest(np.array([np.nan, 3.0, 4.0, np.nan]), genomes, gone.__contains__) is None
    assert find_strongest(np.empty(0), np.empty((0, 2))) is None


def test_trades_of_a_member_are_those_of_all_windows(run):
    """Its metric may be their mean."""
    with RunStore.open(run) as store:
        result = load_result(store)
    member = replace(
        result.front[0],
        by_window={"trades": (3, 4)},
        metrics=result.front[0].metrics | {"trades": 3.5},
    )
    assert replace(result, front=(member,)).count_trades(0) == 7


@pytest.mark.parametrize(("individuals", "options"), [(1, {}), (512, {}), (37, {"keep": "last"})])
def test_an_estimate_is_a_bound_that_is_not_far_off(tmp_path, individuals, options):
    """A run takes no more than was estimated, and no less than half of it, the log apart."""
    count = 40
    with RunStore.create(tmp_path, "run", HEADER, **options) as store:
        for number in range(count + 1):
            store.record(make_generation(number, individuals=individuals))
    taken = sum(file.stat().st_size for file in store.path.iterdir())
    archive = individuals // 2
    estimate = estimate_bytes(individuals, 2, 2, count, archive=archive, **options)
    # Nothing is left of the log.
    assert taken <= estimate - LOG_BYTES
    assert estimate <= estimate_bytes(individuals, 2, 2, count, archive=archive)
    assert estimate - LOG_BYTES <= 2 * taken + 2**18


def test_too_little_space_is_refused_with_both_numbers(tmp_path):
    """Before anything starts, where the directory need not exist yet."""
    require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(StoreError, match=r"1,000,000,000,000,000,000 bytes and [\d,]+ are free"):
        require_space(tmp_path / "not" / "yet", 10**18)


@pytest.mark.parametrize(
    ("error", "limit", "words"),
    [
        (OSError(errno.ENOSPC, "full"), None, r"needed 9 bytes, [\d,]+ are free there"),
        (OSError(errno.EFBIG, "large"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), 4096, "4,096 bytes at most: raise ulimit -f"),
        (sqlite3.OperationalError("disk I/O error"), None, "space is not the reason"),
        (OSError(errno.EROFS, "read-only"), None, r"\(read-only\): let --runs name"),
    ],
)
def test_a_write_that_failed_says_what_stood_in_the_way(tmp_path, monkeypatch, error, limit, words):
    """Free bytes are the reason only where they are too few; of a place they are no matter."""
    most = resource.RLIM_INFINITY if limit is None else limit
    monkeypatch.setattr("resource.getrlimit", lambda kind: (most, most))
    message = str(build_write_error(error, tmp_path / "run.sqlite", 9))
    assert re.search(words, message), message
    assert ("free there" in message) == ("needed" in words or "space" in words)


MOUNTS = (
    ("/", "ext4"), ("/srv", "nfs4"), ("/srv/local", "xfs"), ("/over", "nfs"), ("/over", "tmpfs"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/runs", "nfs4"),
        ("/srv/local/runs", None),
        ("/srvx", None),
        ("/over/runs", None),
        ("/home/somebody", None),
    ],
)
def test_the_deepest_and_latest_mount_says_the_file_system(monkeypatch, path, kind):
    """Of network file systems alone: a local one has no kind."""
    mount(monkeypatch, *MOUNTS)
    assert find_network_kind(Path(path)) == kind


def test_only_on_a_local_disk_a_run_has_a_write_ahead_log(tmp_path, monkeypatch):
    """The place decides each time that a run is opened for writing."""
    for start, (kind, has_log) in enumerate([("nfs4", False), ("ext4", True), ("nfs4", False)]):
        mount(monkeypatch, ("/", kind))
        begin = partial(RunStore.create, tmp_path, "run", HEADER)
        go_on = partial(RunStore.open, tmp_path / "run", writable=True)
        with go_on() if start else begin() as store:
            fill(store, 1, start)
            assert (store.path / "run.sqlite-wal").exists() == has_log
    with RunStore.open(tmp_path / "run") as store:
        assert_sound(store, 2)


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


def judge(path, **more):
    """Add evidence and a note, as a judge does."""
    with RunStore.open(path, writable=True) as store:
        store.note_resumption([], 3)
        store.add_evidence("judgement", {"verdict": {}, **more})


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A folder with a judged run, and in `before` its former files."""
    place = tmp_path_factory.mktemp("judged")
    with RunStore.create(place / "runs", "run", HEADER) as store:
        fill(store, 4)
        store.finish({"front": []})
        store.add_evidence("opened", {"looks": 1})
    shutil.copytree(store.path, place / "before")
    judge(store.path)
    return place


def put_back(place):
    """The database of before the judgement, beside the files of now."""
    shutil.copy(place / "before" / DATABASE, place / "runs" / "run" / DATABASE)


def put_back_uncounted(place):
    """The same, and the count of its rows is gone."""
    put_back(place)
    (place / "runs" / "run" / OWNER).unlink()


def put_back_twice(place):
    """A loss that was noticed, then another one in its place."""
    put_back(place)
    judge(place / "runs" / "run")
    put_back(place)


def put_another_end(place):
    """The database of a copy that went on otherwise, as far as this one."""
    judge(place / "before", looks=2)
    put_back(place)


def lose_log(place):
    """A copy of the files while they were written, without the log."""
    run, copy = place / "runs" / "run", place / "copy"
    with RunStore.open(run, writable=True) as store:
        store.add_evidence("opened later", {})
        store.flush()
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    shutil.rmtree(run)
    copy.rename(run)


def cut_ends(place):
    """Whatever follows the last generation."""
    change(place / "runs" / "run", "DELETE FROM record WHERE id > 4")


HARMS = {
    "older": put_back, "older, uncounted": put_back_uncounted, "older, twice": put_back_twice,
    "no log": lose_log, "no count": lambda place: (place / "runs" / "run" / OWNER).unlink(),
    "another end": put_another_end, "all ends": cut_ends,
}  # fmt: skip
"""How something that was recorded is lost."""


def search_on(path):
    """Go on from the newest sound generation, and finish."""
    with RunStore.open(path, writable=True) as store:
        store.note_resumption([], 6)
        fill(store, 2, start=store.last_generation().number + 1)
        store.finish({"front": []})


def copy_whole(path):
    """Go on with a copy in its place, and no log."""
    shutil.copytree(path, path.with_name("copy"))
    shutil.rmtree(path)
    path.with_name("copy").rename(path)


AFTERWARDS = (
    lambda path: change_labels(path, add=["seen"]), search_on, judge, copy_whole, search_on, judge,
)  # fmt: skip
"""Whatever is recorded afterwards."""


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_loss_stays_said_whatever_is_recorded_afterwards(judged, tmp_path, caplog, harm):
    """By verify, by whatever opens the run, in lists and in the index."""
    place = shutil.copytree(judged, tmp_path / "place")
    harm(place)
    path = place / "runs" / "run"
    said = find_damage(path)
    assert said
    for step in (lambda path: None, *AFTERWARDS):
        step(path)
        caplog.clear()
        with RunStore.open(path) as store:
            assert set(said) <= set(store.verify())
            assert step not in AFTERWARDS[1:] or set(said) <= set(store.warnings)
        line = said[0].removeprefix("result: ")
        assert line in summarise(path).damaged
        (row,) = list_rows(RunIndex(path.parent).list_summaries())
        assert line in row["problem"]
    assert line in caplog.text
