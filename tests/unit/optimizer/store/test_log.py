"""Damage within a run and of its file: fall back to sound records, or refuse in one line."""

import os
import shutil
from contextlib import nullcontext

import pytest

from data.files import name_draft
from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.files import DATABASE, OWNER, read_owner
from tests.support.hostile import change, flip
from tests.support.kill import child, child_record, kill_process
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_sound,
    fill,
    find_damage,
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


LAST_BYTES = {
    "genomes": 95, "objectives": 191, "violations": 239, "failures": 251, "lineage": 443,
    "state": -1,
}  # fmt: skip
"""Of each column of a generation of `make_generation`."""


@pytest.mark.parametrize("place", LAST_BYTES.values(), ids=LAST_BYTES)
def test_a_flipped_bit_of_any_column_is_found(run, place):
    """The newest generation is left then; an older one is named, and stops no run."""
    flip(run, 3, place)
    with RunStore.open(run, writable=True) as store:
        assert_same_generation(make_generation(9), store.last_generation())
        assert store.warnings == ()
        (line,) = store.verify()
        assert line.startswith("generation 3:")
        with pytest.raises(StoreError, match="generation 3:"):
            store.generation(3)
    flip(run, 9, place)
    with RunStore.open(run) as store:
        assert store.last_generation().number == 8
        assert "generation 9" in store.warnings[0]


@pytest.mark.parametrize("value", [b"", b"\0" * 8, "text", None])
def test_a_population_that_is_not_there_is_skipped(run, value):
    """An empty, cut or foreign body is found by its size or kind."""
    change(run, "UPDATE record SET body = ? WHERE name = '9'", value)
    assert_falls_back(run, 8, "generation 9: its ")


@pytest.mark.parametrize(
    ("number", "assignment", "word"),
    [
        (9, "chain = zeroblob(32)", "generation 9 does not match the chain"),
        (4, "whole = zeroblob(32)", "generation 4 does not match the chain"),
        (9, "payload = CAST('{\"evaluated\":0}' AS BLOB)", "generation 9 does not match the chain"),
        (4, "about = 'x'", "generation 4 does not match the chain"),
        (9, "kind = 'half'", "record 10 cannot be read"),
        (4, "name = '3'", "generation 3 does not match the chain"),
        (6, "id = 6000", "record 7 is missing"),
    ],
)
def test_a_record_that_breaks_the_chain_ends_it(run, number, assignment, word):
    """Whatever of a record is changed, it and all after it are no longer trusted."""
    change(run, f"UPDATE record SET {assignment} WHERE name = ?", str(number))
    assert_falls_back(run, number - 1, word)


@pytest.mark.parametrize("keep", ["front", "last"])
def test_a_run_without_a_sound_generation_is_an_error(tmp_path, keep):
    """With less kept, one damaged costs one; with both whole ones it never begins from zero."""
    run = record_run(tmp_path / RUN, keep=keep)
    change(run, "UPDATE record SET body = x'00' WHERE name = '9'")
    assert_falls_back(run, 8, "generation 9: its population")
    for statement, word in (
        ("UPDATE record SET body = x'00' WHERE name IN ('10', '11')", "can be used.* new run"),
        ("DELETE FROM record WHERE id > 0", "generations 0 to 11 were recorded but are gone"),
    ):
        change(run, statement)
        for writable in (False, True):
            with pytest.raises(StoreError, match=word):
                use(run, writable)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE record SET payload = x'7b7d' WHERE id = 0", "DELETE FROM record WHERE id = 0"],
)
def test_a_damaged_header_is_an_error(run, statement):
    """Without it the records have no meaning."""
    change(run, statement)
    for writable in (False, True):
        with pytest.raises(StoreError, match="the header is damaged"):
            use(run, writable)


ROWS = [("null/1", {"strength": 1.5}), ("null/2", {"strength": None}), ("judgement", {"a": "x"})]

FOUND = {
    "front_hash": "f", "data_hash": "d", "generation": 1, "evaluated": 24,
    "stopped_by": "generations",
}  # fmt: skip
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


def test_evidence_is_read_back_in_order_and_added_to(judged):
    """The owner notes all that it has written."""
    noted = read_owner(judged)
    assert (noted.records, noted.generation) == (9, 1)
    with RunStore.open(judged, writable=True) as store:
        assert list(store.evidence) == ROWS
        store.add_evidence("judgement", {"a": "y"})
        store.flush()
        assert read_owner(judged).records == 10
    with RunStore.open(judged) as store:
        assert store.evidence[-1] == ("judgement", {"a": "y"})
        assert (store.verify(), store.status, store.planned) == ([], "finished", 1)


@pytest.mark.parametrize(
    ("statement", "line", "rows"),
    [
        ("UPDATE record SET payload = x'7b7d' WHERE kind = 'result'", "the result does not", None),
        ("UPDATE record SET chain = x'00' WHERE kind = 'result'", "the result does not", None),
        ("UPDATE record SET chain = NULL WHERE kind = 'result'", "cannot be read", None),
        ("UPDATE record SET payload = CAST('{\"a\":9}' AS BLOB) WHERE name = 'null/1'",
         "evidence 'null/1' does not match", 0),
        ("UPDATE record SET name = 'null/7' WHERE name = 'null/2'",
         "evidence 'null/7' does not match", 1),
        ("UPDATE record SET about = 'x' WHERE name = 'null/2'",
         "evidence 'null/2' does not match", 1),
        ("DELETE FROM record WHERE name = 'null/2'", "is missing", 1),
        ("UPDATE record SET payload = x'7b7d' WHERE kind = 'resumption'",
         "the resumption does not match", None),
    ],
)  # fmt: skip
def test_what_stands_beside_generations_is_linked_too(judged, statement, line, rows):
    """What was changed and all after it is out, and that is said."""
    change(judged, statement)
    with RunStore.open(judged) as store:
        assert any(line in found for found in store.verify()), store.verify()
        assert any(line in found for found in store.warnings)
        assert len(store.evidence) == (rows or 0)
        with nullcontext() if rows is not None else pytest.raises(StoreError, match=line):
            assert store.result
    assert line in list_runs(judged.parent)[0].damaged


def test_evidence_needs_a_result(tmp_path):
    """A row that is about nothing is refused."""
    store = RunStore.create(tmp_path, "begun", HEADER)
    store.add_evidence("null/1", {})
    for call in (store.flush, store.close):
        with pytest.raises(StoreError, match="without a result"):
            call()


def finish_again(path, result):
    """Make the last generation again, and end the run with a result."""
    with RunStore.open(path, writable=True) as store:
        fill(store, 1, start=1)
        assert (store.result, store.evidence) == (None, ())
        if result:
            store.finish(result)


@pytest.mark.parametrize(
    ("is_killed", "changes", "stays"),
    [
        (False, {"seconds": 2.0}, True),
        (True, {}, True),
        *((False, {field: "another"}, False) for field in FOUND),
    ],
    ids=["again", "killed", *FOUND],
)
def test_evidence_counts_where_the_same_front_is_found_again(
    judged, caplog, is_killed, changes, stays
):
    """However long that took; on another search it counts no more, and that is said."""
    caplog.set_level("INFO")
    for result in (None,) * is_killed + ({**FOUND, **changes},):
        flip(judged, 1)
        finish_again(judged, result)
    assert f"3 rows of evidence on {'it stay' if stays else 'the run'}" in caplog.text
    with RunStore.open(judged) as store:
        assert list(store.evidence) == (ROWS if stays else [])
        assert [line for line in store.verify() if "generation 1" not in line] == []
    flip(judged, 1)
    finish_again(judged, FOUND)
    with RunStore.open(judged) as store:
        assert list(store.evidence) == ROWS


def test_each_loss_is_noticed_once(judged):
    """A second one behind the record of the first; none twice by a kill before the owner's note."""
    database, owner = judged / DATABASE, judged / OWNER

    def go_on():
        with RunStore.open(judged, writable=True) as store:
            store.add_evidence("null/9", {})
        return len(find_damage(judged))

    before, noted = database.read_bytes(), owner.read_bytes()
    assert go_on() == 0
    database.write_bytes(before)
    ahead = owner.read_bytes()
    assert go_on() == 1
    after = database.read_bytes()
    owner.write_bytes(ahead)
    assert len(find_damage(judged)) == 1
    owner.write_bytes(noted)
    assert go_on() == 1
    database.write_bytes(after)
    assert go_on() == 2


LOG = f"{DATABASE}-wal"


@pytest.fixture
def log_only(tmp_path):
    """The files of a run as a kill leaves them: generations 0 to 9 are in the log alone."""
    with RunStore.create(tmp_path, "source", HEADER) as store:
        for number in range(10):
            fill(store, 1, start=number)
        shutil.copytree(store.path, tmp_path / "killed")
    shutil.rmtree(store.path)
    assert (tmp_path / "killed" / LOG).stat().st_size > 0
    return tmp_path / "killed"


def assert_refused(run, word, is_listed=True):
    """By readers, owners and the list, in a line."""
    for writable in (False, True):
        with pytest.raises(StoreError, match=word) as caught:
            use(run, writable)
        assert caught.value.exit_code == 4
    if is_listed:
        (summary,) = [one for one in list_runs(run.parent) if one.path == run]
        assert (summary.status, "\n" in summary.damaged) == ("damaged", False)
        assert summary.damaged


CONTENTS = {"empty": b"", "16 bytes": b"SQLite format 3\0", "text": b"not a database at all " * 400}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_file_of_another_kind_is_refused(run, content):
    """So is a header of SQLite without tables."""
    (run / DATABASE).write_bytes(content)
    assert_refused(run, "not (the|a) database")


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        (["PRAGMA user_version = 99"], "newer version"),
        (["PRAGMA user_version = 3"], "version 0.2.0"),
        (["ALTER TABLE record RENAME TO kept", "CREATE VIEW record AS SELECT * FROM kept"], "view"),
        (["CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END"], "trigger"),
        (["DROP TABLE record"], "record"),
    ],
)
def test_tables_that_are_not_ours_are_refused(run, statements, word):
    """A view or a trigger shows or writes something else than was recorded."""
    for statement in statements:
        change(run, statement)
    assert_refused(run, word)


@pytest.mark.parametrize("place", ["absent", "file", "folder", "link", "empty", "foreign"])
def test_a_place_that_is_no_run_is_refused(tmp_path, run, place):
    """No directory, a file, no database, one of another program or a link to one."""
    path = tmp_path / "other"
    if place == "file":
        path.write_text("x")
    elif place != "absent":
        path.mkdir()
    if place == "link":
        (path / DATABASE).symlink_to(run / DATABASE)
    elif place == "folder":
        (path / DATABASE).mkdir()
    elif place == "foreign":
        change(path, "CREATE TABLE header (payload, sha256)")
    assert_refused(path, DATABASE, is_listed=False)


def test_a_file_that_was_cut_is_read_and_not_written(tmp_path):
    """Rows before the cut are read, with a warning; going on is refused, with a remedy."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        for number in range(30):
            store.record(make_generation(number, individuals=200))
    run = store.path
    size = (run / DATABASE).stat().st_size
    os.truncate(run / DATABASE, int(size * 0.6) // 4096 * 4096)
    cut = (run / DATABASE).read_bytes()
    with RunStore.open(run) as store:
        newest = store.last_generation()
        assert_same_generation(make_generation(newest.number, individuals=200), newest)
        assert 0 < newest.number < 18
        assert store.warnings != ()
    with pytest.raises(StoreError, match="evolve --warm-start"):
        use(run, writable=True)
    assert (run / DATABASE).read_bytes() == cut


def go_on(run, end):
    """Go on with a run that may be damaged, and check that every answer is true."""
    try:
        with RunStore.open(run, writable=True) as store:
            newest = store.last_generation()
            assert_same_generation(make_generation(newest.number), newest)
            assert newest.number == end or store.warnings
            warned = bool(store.warnings)
            store.record(make_generation(newest.number + 1))
            assert store.last_generation().number == newest.number + 1
    except StoreError:
        return "refused"
    return "fallback" if warned else "sound"


@pytest.mark.slow
def test_any_flipped_byte_is_harmless_or_said(tmp_path):
    """Wherever it lies, or the file is cut: right bits, a warning, or one clear error."""
    pristine = record_run(tmp_path / "pristine", count=4)
    content = (pristine / DATABASE).read_bytes()
    outcomes = {"sound": 0, "fallback": 0, "refused": 0}
    for offset in range(0, len(content), len(content) // 80):
        run = tmp_path / "run"
        shutil.copytree(pristine, run)
        flipped = bytearray(content)
        flipped[offset] ^= 0x55
        (run / DATABASE).write_bytes(flipped)
        outcomes[go_on(run, 3)] += 1
        shutil.rmtree(run)
    assert min(outcomes.values()) > 0, outcomes
    for share in (0.2, 0.6, 0.8):
        shutil.copytree(pristine, run)
        (run / DATABASE).write_bytes(content[: int(len(content) * share)])
        assert go_on(run, 3) != "sound"
        shutil.rmtree(run)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_log_that_was_damaged_falls_back(log_only, damage):
    """SQLite ignores a log from its first damaged frame on; its loss stays said."""
    log = log_only / LOG
    content = bytearray(log.read_bytes())
    half = len(content) // 2
    content[half] ^= 1
    log.write_bytes(content[:half] if damage == "cut" else content)
    (log_only / f"{DATABASE}-shm").unlink()
    with RunStore.open(log_only) as store:
        newest = store.last_generation().number
    assert 0 < newest < 9
    with RunStore.open(log_only, writable=True) as store:
        assert f"generations {newest + 1} to 9 were recorded but" in store.warnings[0]
        fill(store, 10 - newest, start=newest + 1)
        assert_same_generation(make_generation(10), store.last_generation())
    with RunStore.open(log_only) as store:
        assert store.verify() == list(store.warnings) != []


def test_drafts_in_a_run_that_was_killed_are_removed(run):
    """By the next owner, whatever file they were of."""
    (run / "columns").mkdir()
    for name in (DATABASE, "report.html", "columns/rate.csv"):
        path = run / name
        path.with_name(name_draft(path.name)).write_bytes(b"half")
    with RunStore.open(run, writable=True) as store:
        assert_sound(store, 9)
    assert sorted(path.name for path in run.rglob("*")) == ["columns", OWNER, DATABASE]


def copy_by_links(run, name):
    """A copy of a run as `cp -al` makes it."""
    return shutil.copytree(run, run.with_name(name), copy_function=os.link)


@pytest.mark.parametrize("kind", ["run", "log_only"])
def test_two_owners_of_one_file_by_two_names_do_not_meet(request, kind):
    """Each goes on with a file of its own, with a note; also where the first was killed."""
    run = request.getfixturevalue(kind)
    other = copy_by_links(run, "other")
    with RunStore.open(run, writable=True) as one, RunStore.open(other, writable=True) as two:
        (line,) = one.warnings
        assert "hard link" in line
        for number in range(10, 13):
            one.record(make_generation(number))
            two.record(make_generation(number, salt=1))
            one.flush()
            two.flush()
        one.finish({"front": []})
    for path, salt in ((run, 0), (other, 1)):
        with RunStore.open(path) as read:
            assert (read.verify(), read.warnings) == ([], ())
            assert (read.status == "finished") == (salt == 0)
            assert_same_generation(make_generation(12, salt=salt), read.last_generation())
        assert [file.stat().st_nlink for file in path.iterdir()] == [1, 1]


@pytest.mark.slow
def test_an_owner_that_is_killed_leaves_its_run_to_the_next(run):
    """Its warning of damage stays, and a copy by links waits until it is gone."""
    change(run, "UPDATE record SET body = x'' WHERE name >= '8'")
    with child(child_record, run) as process:
        assert process.stdout.readline() == "8\n"
        other = copy_by_links(run, "other")
        with pytest.raises(StoreError, match="in use there"):
            RunStore.open(other, writable=True)
        safe = int(kill_process(process, 1, 0.1))
    for path in (run, other):
        with RunStore.open(path, writable=True) as again:
            assert_same_generation(make_generation(safe), again.generation(safe))
            assert again.verify() == [line for line in again.warnings if "link" not in line]
            assert any("generation 9: its population" in line for line in again.warnings)
        assert (path / DATABASE).stat().st_nlink == 1
