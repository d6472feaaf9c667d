"""The database of a run as a file: damaged, foreign, cut, without its log, shared by links."""

import os
import shutil

import pytest

from data.files import name_draft
from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.files import DATABASE, OWNER
from tests.support.forging import change
from tests.support.kill import child, child_record, kill_process
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_sound,
    fill,
    make_generation,
)

LOG = f"{DATABASE}-wal"


def record_run(path, count=10, individuals=6):
    """Record a run and close it."""
    with RunStore.create(path.parent, path.name, HEADER) as store:
        for number in range(count):
            store.record(make_generation(number, individuals=individuals))
    return path


@pytest.fixture
def run(tmp_path):
    """A closed run with generations 0 to 9."""
    return record_run(tmp_path / "run")


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


def use(run, writable):
    """Open a run and read its newest generation."""
    with RunStore.open(run, writable=writable) as store:
        return store.last_generation()


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
    run = record_run(tmp_path / "run", count=30, individuals=200)
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
