"""Damaged runs: fall back to what is sound and say so, or refuse in one line; never from zero."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from data.files import name_draft
from optimizer.errors import StoreError
from optimizer.store import RunStore, list_runs
from optimizer.store.listing import DATABASE
from optimizer.store.lock import OWNER, OwnerLock
from optimizer.store.removal import begin_draft
from tests.support.forging import change
from tests.support.kill import child, child_record, kill_process
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_sound,
    make_generation,
)

RUN = "run-1"


@pytest.fixture
def run(tmp_path):
    """A closed run with generations 0 to 9."""
    return record_run(tmp_path / RUN)


@pytest.fixture
def log_only(tmp_path):
    """The files of a run as they are after a kill: generations 0 to 9 are in the log alone."""
    with RunStore.create(tmp_path, "source", HEADER) as store:
        for number in range(10):
            store.record(make_generation(number))
            store.flush()
        shutil.copytree(store.path, tmp_path / RUN)
    assert (tmp_path / RUN / f"{DATABASE}-wal").stat().st_size > 0
    return tmp_path / RUN


def record_run(path, count=10, individuals=6, **options):
    """Record a run and close it."""
    with RunStore.create(path.parent, path.name, HEADER, **options) as store:
        for number in range(count):
            store.record(make_generation(number, individuals=individuals))
    return path


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
    assert_healed(run, 11, match)


def assert_healed(run, newest, match):
    """All generations are there; what was lost is said and nothing else."""
    with RunStore.open(run) as store:
        assert_same_generation(make_generation(newest), store.last_generation())
        assert [summary.number for summary in store.generations()] == list(range(newest + 1))
        assert store.verify() == list(store.warnings)
        assert match in store.warnings[0]


def test_newest_population_with_a_flipped_byte_is_skipped(run):
    """The SHA-256 finds it, and the generation before is used."""
    (blob,) = sqlite_value(run, "SELECT objectives FROM generation WHERE number = 9")
    flipped = bytes([blob[0] ^ 1]) + blob[1:]
    change(run, "UPDATE generation SET objectives = ? WHERE number = 9", flipped)
    assert_falls_back(run, 8, "generation 9: its population does not match its SHA-256")


@pytest.mark.parametrize("column", ["genomes", "objectives", "violations", "failures"])
@pytest.mark.parametrize(
    ("value", "match"),
    [
        (b"", "does not have the recorded shape"),
        (b"\0" * 8, "does not have the recorded shape"),
        (None, "is missing"),
        ("text", "is missing"),
        (3, "is missing"),
    ],
    ids=["empty", "cut", "null", "text", "number"],
)
def test_newest_population_that_is_not_there_is_skipped(run, column, value, match):
    """An empty, cut or foreign column is found by its shape or kind."""
    change(run, f"UPDATE generation SET {column} = ? WHERE number = 9", value)
    assert_falls_back(run, 8, f"generation 9: its population {match}")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("chain", b"\0" * 32),
        ("whole_sha", b"\0" * 32),
        ("front_sha", b""),
        ("summary", b'{"evaluated":0}'),
        ("individuals", 5),
        ("front", 0),
    ],
)
@pytest.mark.parametrize("number", [9, 4])
def test_row_that_breaks_the_chain_ends_it(run, column, value, number):
    """Whatever of a row is changed, it and all after it are no longer trusted."""
    change(run, f"UPDATE generation SET {column} = ? WHERE number = ?", value, number)
    match = f"generation {number} does not match the chain of digests"
    assert_falls_back(run, number - 1, match)


@pytest.mark.parametrize(
    ("statement", "newest", "match"),
    [
        ("UPDATE generation SET chain = 'text' WHERE number = 9", 8, "generation 9 cannot be read"),
        ("UPDATE generation SET kept = 7 WHERE number = 9", 8, "generation 9 cannot be read"),
        ("UPDATE generation SET kept = 'half' WHERE number = 9", 8, "generation 9 cannot be read"),
        ("UPDATE generation SET individuals = -1 WHERE number = 9", 8, "generation 9 cannot be"),
        ("DELETE FROM generation WHERE number = 6", 5, "generation 6 is missing"),
        ("DELETE FROM generation WHERE number > 6", 6, "generations 7 to 9 were recorded but are"),
    ],
)
def test_rows_that_no_version_writes_or_that_are_gone_end_the_chain(run, statement, newest, match):
    """They are damage, not a crash; the owner's note remembers how far the run had come."""
    change(run, statement)
    assert_falls_back(run, newest, match)


@pytest.mark.parametrize("value", [b'{"generations":', b"[]", b"\xff", "text", None, 7])
def test_a_note_that_cannot_be_read_stops_no_run(run, value):
    """That a run was taken up again decides nothing: all else is read, and verify names it."""
    with RunStore.open(run, writable=True) as store:
        store.note_resumption((), 70)
    change(run, "INSERT INTO resumption (payload) VALUES (?)", value)
    assert [(one.status, one.planned) for one in list_runs(run.parent)] == [("interrupted", 70)]
    with RunStore.open(run, writable=True) as store:
        assert store.planned == 70
        assert store.verify() == ["resumption 2 cannot be read"]
        assert_same_generation(make_generation(9), store.last_generation())


def test_row_of_another_run_does_not_fit(run, tmp_path):
    """A sound row of another run with the same header breaks the chain."""
    other = tmp_path / "other"
    with RunStore.create(tmp_path, "other", HEADER) as store:
        for number in range(10):
            store.record(make_generation(number, salt=1))
    with closing(sqlite3.connect(run / DATABASE)) as connection, connection:
        connection.execute("ATTACH ? AS other", (str(other / DATABASE),))
        connection.execute("DELETE FROM generation WHERE number = 9")
        connection.execute("INSERT INTO generation SELECT * FROM other.generation WHERE number = 9")
    shutil.rmtree(other)
    assert_falls_back(run, 8, "generation 9 does not match the chain of digests")


def test_older_population_that_is_damaged_is_reported_but_does_not_stop_the_run(run):
    """The newest generation is sound and linked, so its bits decide; verify names the old one."""
    change(run, "UPDATE generation SET genomes = ? WHERE number = 3", b"x")
    with RunStore.open(run, writable=True) as store:
        assert_same_generation(make_generation(9), store.last_generation())
        assert store.warnings == ()
        assert store.verify() == ["generation 3: its population does not have the recorded shape"]
        with pytest.raises(StoreError, match="generation 3: its population does not have"):
            store.generation(3)


@pytest.mark.parametrize("keep", ["front", "last"])
def test_with_less_kept_the_newest_but_one_is_still_whole(tmp_path, keep):
    """One damaged generation costs one generation; both whole ones damaged are an error."""
    run = record_run(tmp_path / RUN, keep=keep)
    change(run, "UPDATE generation SET genomes = x'00' WHERE number = 9")
    assert_falls_back(run, 8, "generation 9: its population does not have the recorded shape")
    change(run, "UPDATE generation SET genomes = x'00' WHERE number >= 10")
    for writable in (False, True):
        with pytest.raises(
            StoreError, match=r"no recorded generation can be used.*start a new run"
        ):
            use(run, writable)


def test_run_without_any_sound_generation_is_an_error(run):
    """A run that has lost everything is an error; it never begins again from zero."""
    change(run, "UPDATE generation SET violations = x''")
    with pytest.raises(StoreError, match="no recorded generation can be used"):
        use(run, writable=True)
    change(run, "DELETE FROM generation")
    with pytest.raises(StoreError, match="generations 0 to 9 were recorded but are gone"):
        use(run, writable=True)


def test_run_that_never_recorded_begins_from_zero(tmp_path):
    """An empty run is not a damaged one."""
    run = record_run(tmp_path / RUN, count=0)
    with RunStore.open(run, writable=True) as store:
        assert store.last_generation() is None
        store.record(make_generation(0))
        assert_sound(store, 0)


def test_damaged_header_is_an_error(run):
    """Without the header the rows have no meaning."""
    change(run, "UPDATE header SET payload = x'7b7d'")
    with pytest.raises(StoreError, match="the header is damaged"):
        use(run)
    change(run, "DELETE FROM header")
    with pytest.raises(StoreError, match="the header is damaged"):
        use(run, writable=True)


def test_damaged_result_is_an_error_where_it_is_read(run):
    """A changed result is not shown; the generations are still there."""
    with RunStore.open(run, writable=True) as store:
        store.finish({"front": [1]})
    change(run, "UPDATE result SET payload = x'7b7d'")
    with RunStore.open(run) as store:
        assert store.last_generation().number == 9
        assert store.verify() == ["result: the result does not match its SHA-256"]
        with pytest.raises(StoreError, match="the result does not match its SHA-256"):
            _ = store.result
    assert "SHA-256" in list_runs(run.parent)[0].damaged


def test_result_of_another_end_is_found(run):
    """A result that is sound in itself but does not follow from the last generation is named."""
    with RunStore.open(run, writable=True) as store:
        store.finish({"front": [1]})
    change(run, "UPDATE result SET chain = x'00'")
    with RunStore.open(run) as store:
        assert store.verify() == ["the result does not follow from the last generation"]


def test_database_from_the_future_is_refused(run):
    """Exit 4, saying that a newer version made it and what to do."""
    change(run, "PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"made by a newer version .*update the program") as caught:
        use(run)
    assert caught.value.exit_code == 4
    assert "newer version" in list_runs(run.parent)[0].damaged


@pytest.mark.parametrize(
    "content",
    [b"", b"SQLite format 3\0", b"not a database at all " * 400, b"\0" * 8192],
    ids=["empty", "16 bytes", "text", "zeros"],
)
@pytest.mark.parametrize("writable", [False, True], ids=["reader", "owner"])
def test_what_is_not_a_database_is_refused(run, content, writable):
    """A file of another kind is one clear line, and listed with it."""
    (run / DATABASE).write_bytes(content)
    with pytest.raises(StoreError, match=r"not the database of a run|not a database"):
        use(run, writable)
    assert "not" in list_runs(run.parent)[0].damaged


def test_foreign_database_is_refused(tmp_path):
    """A SQLite file of another program is not a run."""
    (tmp_path / RUN).mkdir()
    change(tmp_path / RUN, "CREATE TABLE header (payload, sha256)")
    with pytest.raises(StoreError, match="is not the database of a run"):
        use(tmp_path / RUN)


@pytest.mark.parametrize("place", ["absent", "file", "link", "folder"])
def test_what_is_not_a_run_is_refused(tmp_path, run, place):
    """No directory, a file, a linked database and a folder in its place are one clear line."""
    path = tmp_path / "other"
    if place == "file":
        path.write_text("x")
    elif place != "absent":
        path.mkdir()
    if place == "link":
        (path / DATABASE).symlink_to(run / DATABASE)
    elif place == "folder":
        (path / DATABASE).mkdir()
    for writable in (False, True):
        with pytest.raises(
            StoreError,
            match=r"other is not a run: there is no file run.sqlite|is a link or no plain",
        ):
            use(path, writable)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.75, 0.9])
def test_file_that_was_cut_falls_back(tmp_path, share):
    """What lies before the cut is read, with a warning; going on is refused, with what to do."""
    run = record_run(tmp_path / RUN, count=60, individuals=200)
    size = (run / DATABASE).stat().st_size
    os.truncate(run / DATABASE, int(size * share) // 4096 * 4096)
    with RunStore.open(run) as store:
        newest = store.last_generation()
        assert_same_generation(make_generation(newest.number, individuals=200), newest)
        assert 0 < newest.number < 60 * share
        assert store.warnings != ()
    cut = (run / DATABASE).read_bytes()
    with pytest.raises(StoreError, match=r"is damaged .*evolve --warm-start"):
        RunStore.open(run, writable=True)
    assert (run / DATABASE).read_bytes() == cut
    with RunStore.open(run) as store:
        assert store.last_generation().number == newest.number


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_short_file_that_was_cut_is_refused_or_resumes(tmp_path, share):
    """Where the cut took the table's own pages nothing can be read, with an error."""
    run = record_run(tmp_path / RUN)
    os.truncate(run / DATABASE, int((run / DATABASE).stat().st_size * share))
    assert outcome(run, 9) in ("refused", "fallback")


@pytest.mark.slow
def test_any_flipped_byte_is_harmless_or_said(tmp_path):
    """Wherever a byte of the file is flipped: right bits, a warning, or one clear error."""
    pristine = record_run(tmp_path / "pristine", count=4)
    content = (pristine / DATABASE).read_bytes()
    outcomes = {"sound": 0, "fallback": 0, "refused": 0}
    for offset in range(0, len(content), len(content) // 200):
        run = tmp_path / RUN
        shutil.copytree(pristine, run)
        flipped = bytearray(content)
        flipped[offset] ^= 0x55
        (run / DATABASE).write_bytes(flipped)
        outcomes[outcome(run, 3)] += 1
        shutil.rmtree(run)
    assert min(outcomes.values()) > 0, outcomes


def outcome(run, end):
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


def test_log_that_was_deleted_is_missed(log_only):
    """After a kill the newest generations are in the log; without it the loss is noted."""
    (log_only / f"{DATABASE}-wal").unlink()
    with pytest.raises(StoreError, match="0 to 9 were recorded but are gone: the write"):
        use(log_only)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_log_that_was_damaged_falls_back(log_only, damage):
    """SQLite ignores a log from its first damaged frame on; what is missing then is noted."""
    log = log_only / f"{DATABASE}-wal"
    content = bytearray(log.read_bytes())
    half = len(content) // 2
    if damage == "cut":
        content = content[:half]
    else:
        content[half] ^= 1
    log.write_bytes(content)
    (log_only / f"{DATABASE}-shm").unlink()
    shutil.rmtree(log_only.parent / "source")
    with RunStore.open(log_only) as store:
        newest = store.last_generation().number
    assert 0 < newest < 9
    assert_falls_back(log_only, newest, f"generations {newest + 1} to 9 were recorded but are gone")


def test_run_that_was_killed_is_whole_with_its_log(log_only):
    """A copy with the log, even without the owner's note, has everything, which nobody counted."""
    (log_only / OWNER).unlink()
    assert_healed(log_only, 9, "owner.lock is gone or damaged")


def test_half_written_transaction_is_undone_before_anything_is_read(tmp_path):
    """With a rollback journal, what its owner did not finish is rolled back by the next reader."""
    store = RunStore.create(tmp_path, "source", HEADER, journal="delete")
    for number in range(3):
        store.record(make_generation(number))
    store.close()
    source = tmp_path / "source"
    with closing(sqlite3.connect(source / DATABASE, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE generation SET genomes = zeroblob(100000), kept = 'front'")
        assert (source / f"{DATABASE}-journal").stat().st_size > 0
        shutil.copytree(source, tmp_path / RUN)
        connection.execute("ROLLBACK")
    with RunStore.open(tmp_path / RUN) as read:
        assert_sound(read, 2)


def test_drafts_in_a_run_that_was_killed_are_removed(run):
    """By the next owner, whatever file they were of."""
    (run / "columns").mkdir()
    rate = f"columns/{name_draft('rate.csv')}"
    for name in (name_draft(DATABASE), name_draft("report.html"), rate):
        (run / name).write_bytes(b"half")
    with RunStore.open(run, writable=True) as store:
        assert_sound(store, 9)
    assert sorted(path.name for path in run.rglob("*")) == ["columns", OWNER, DATABASE]


def test_drafts_of_runs_never_begun_are_swept(tmp_path):
    """A draft without an owner goes at once, with a note; an owned and a foreign one stay."""
    begin_draft(tmp_path, "killed")[1].release()
    owned, lock = begin_draft(tmp_path, "owned")
    for name in (".new-foreign-0a1b2c", ".other"):
        (tmp_path / name).mkdir()
        OwnerLock.acquire(tmp_path / name).release()
    with RunStore.create(tmp_path, RUN, HEADER) as store:
        assert store.warnings == ("removed what 1 interrupted starts of runs had left",)
    lock.release()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".new-foreign-0a1b2c", ".other", owned.name, RUN}


@pytest.mark.slow
def test_kill_after_fallback_keeps_the_warning_until_it_is_healed(run):
    """A child that goes on from a damaged run removes what was damaged with its first commit."""
    change(run, "UPDATE generation SET genomes = x'' WHERE number >= 8")
    with child(child_record, run) as process:
        assert process.stdout.readline() == "8\n"
        kill_process(process, 3, 0.0)
    with RunStore.open(run) as store:
        newest = store.last_generation().number
    assert newest >= 11
    assert_healed(run, newest, "generation 9: its population does not have the recorded shape")


def use(run, writable=False):
    """Open a run and ask for its newest generation."""
    with RunStore.open(run, writable=writable) as store:
        return store.last_generation()


def sqlite_value(run, query):
    """One row of a database, read behind the store's back."""
    with closing(sqlite3.connect(run / DATABASE)) as connection:
        return connection.execute(query).fetchone()
