"""All that was acknowledged is counted: what is gone or put back is noted wherever it is read."""

import shutil

import pytest

from optimizer import load_run
from optimizer.report.facts import list_cautions
from optimizer.store import RunStore
from optimizer.store.chain import UNCOUNTED
from optimizer.store.files import DATABASE
from optimizer.store.listing import summarise
from optimizer.store.lock import OWNER, read_owner
from optimizer.viewing.run_index import RunIndex, list_rows
from tests.support.commands import Commands
from tests.support.forging import change
from tests.support.judging import judge_briefly
from tests.support.recording import HEADER, make_generation
from tests.support.runs import record_run


@pytest.fixture
def path(tmp_path):
    """A finished run that was taken up again, with evidence."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
    with RunStore.open(tmp_path / "run", writable=True) as store:
        store.note_resumption([], 1)
        store.record(make_generation(1))
        store.finish({"front": []})
        for number in range(3):
            store.add_evidence(f"null/day/shuffled/{number + 1}", {"strength": 1.0})
    return tmp_path / "run"


def test_the_owner_notes_all_that_it_has_written(path):
    """Generations, the result, evidence and resumptions."""
    owner = read_owner(path)
    assert (owner.committed, dict(owner.rows)) == (
        1,
        {"result": 1, "resumption": 1, "evidence": 3},
    )
    with RunStore.open(path, writable=True) as store:
        assert read_owner(path).rows == owner.rows
        store.add_evidence("judgement", {})
        store.flush()
        assert read_owner(path).rows["evidence"] == 4


@pytest.mark.parametrize("number", [1, 2])
def test_a_changed_resumption_is_noticed(path, number):
    """Each note has a digest, which follows that of the note before."""
    with RunStore.open(path, writable=True) as store:
        store.note_resumption(["threads: recorded 1, now 2"], 5)
        store.note_resumption([], 6)
    with RunStore.open(path) as store:
        assert (store.verify(), store.planned) == ([], 6)
    change(
        path,
        "UPDATE resumption SET payload = CAST(replace(CAST(payload AS TEXT), "
        f"'\"generations\":', '\"generations\":9') AS BLOB) WHERE id = {number}",
    )
    with RunStore.open(path) as store:
        assert store.verify() == [f"resumption {number} does not match its SHA-256"]


def test_a_resumption_that_was_left_out_is_noticed(path):
    """The next one does not follow then; those of former versions have no digest."""
    with RunStore.open(path, writable=True) as store:
        store.note_resumption([], 6)
    change(path, "DELETE FROM resumption WHERE id = 1")
    with RunStore.open(path) as store:
        assert store.verify() == ["resumption 1 does not match its SHA-256"]
    change(path, "UPDATE resumption SET payload = CAST('{\"generations\":6}' AS BLOB)")
    with RunStore.open(path) as store:
        assert store.verify() == []


def test_what_a_next_owner_takes_away_is_no_loss(path):
    """Evidence waits for the next result, and goes with the one that it is of."""
    with RunStore.open(path, writable=True) as store:
        store.record(make_generation(2))
        store.flush()
        assert (store.find_losses(), read_owner(path).rows["evidence"]) == ((), 3)
        store.finish({"front": [1]})
        assert read_owner(path).rows["evidence"] == 0
        assert (store.find_losses(), store.verify(), store.warnings) == ((), [], ())


@pytest.mark.parametrize("rows", ['"x"', '{"evidence": "3"}', "[1]"])
def test_a_note_with_other_counts_is_nobodys(path, rows):
    """A damaged note counts nothing, which is said."""
    note = (path / OWNER).read_text().rstrip()
    start = note.index('"rows"')
    (path / OWNER).write_text(f'{note[:start]}"rows": {rows}}}')
    assert read_owner(path) is None
    with RunStore.open(path) as store:
        assert store.warnings == (UNCOUNTED,)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A folder with a judged run of which bars are held out, and in `before` its former files."""
    place = tmp_path_factory.mktemp("judged")
    path = record_run(place / "runs", holdout="20%").rename(place / "runs" / "run")
    shutil.copytree(path, place / "before")
    judge_briefly(path)
    with RunStore.open(path, writable=True) as store:
        store.note_resumption([], 3)
        store.add_evidence("drift", {"sentence": "none"})
    return place


def put_back(place):
    """The database of before the judgement, beside the files of now."""
    shutil.copy(place / "before" / DATABASE, place / "runs" / "run" / DATABASE)


def put_back_uncounted(place):
    """The same, and what counts its rows is gone."""
    put_back(place)
    (place / "runs" / "run" / OWNER).unlink()


def put_back_twice(place):
    """A loss that was noticed, then another one in its place."""
    put_back(place)
    judge_briefly(place / "runs" / "run")
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


def edit(statement):
    """A change of the database behind the back of the store."""
    return lambda place: change(place / "runs" / "run", statement)


ENDS = ("result", "evidence", "resumption")

HARMS = {
    "older": put_back,
    "older, uncounted": put_back_uncounted,
    "older, twice": put_back_twice,
    "no log": lose_log,
    "no count": lambda place: (place / "runs" / "run" / OWNER).unlink(),
    "last evidence": edit("DELETE FROM evidence WHERE name = 'drift'"),
    "some evidence": edit("DELETE FROM evidence WHERE id = 1"),
    "all evidence": edit("DELETE FROM evidence"),
    "other evidence": edit("UPDATE evidence SET payload = x'7b7d' WHERE id = 1"),
    "result": edit("DELETE FROM result"),
    "all ends": lambda place: [edit(f"DELETE FROM {table}")(place) for table in ENDS],
    "resumption": edit("DELETE FROM resumption"),
    "last generation": edit("DELETE FROM generation WHERE number = 3"),
    "some generation": edit("DELETE FROM generation WHERE number = 1"),
    "population": edit("UPDATE generation SET genomes = x'' WHERE number = 3"),
}
"""How something that was recorded is lost."""

AFTERWARDS = (
    ("runs", "tag", "RUN", "seen"),
    ("judge", "RUN", "--folds", "0", "--blocks", "0"),
    ("evolve", "--resume", "RUN", "--no-judge", "--no-report"),
    ("judge", "RUN", "--folds", "0", "--blocks", "0", "--open"),
    ("copy",),
    ("evolve", "--resume", "RUN", "--generations", "5", "--no-judge", "--no-report"),
    ("judge", "RUN", "--folds", "0", "--blocks", "0"),
)
"""What is recorded afterwards, one after the other; some of it is refused."""


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_loss_stays_said_whatever_is_recorded_afterwards(
    judged, tmp_path, capsys, caplog, monkeypatch, harm
):
    """By verify, lists, the index, reports, commands and Python; a new loss is said beside it."""
    place, command = tmp_path / "place", Commands(capsys)
    shutil.copytree(judged, place)
    monkeypatch.chdir(place)
    harm(place)
    path = place / "runs" / "run"
    said = RunStore.open(path).verify()
    assert said
    for given in AFTERWARDS:
        if given == ("copy",):
            shutil.copytree(path, path.with_name("copy"))
            path.rename(path.with_name("moved"))
            path = path.with_name("copy")
        else:
            command(*(str(path) if word == "RUN" else word for word in given))
        assert set(said) <= set(RunStore.open(path).verify()), given
        assert said[0].removeprefix("result: ") in summarise(path).damaged
    outcome = command("runs", "verify", path)
    assert (outcome.code, said[0] in outcome.error) == (4, True)
    caplog.clear()
    run = load_run(str(path))
    assert set(said) <= set(run.losses)
    assert said[0] in caplog.text
    assert said[0] in "".join(caution.text for caution in list_cautions(run) if caution.is_grave)
    (row,) = [
        row for row in list_rows(RunIndex(path.parent).list_summaries()) if row["id"] == "copy"
    ]
    assert said[0] in row["problem"]
    for words in ("runs show", "runs export", "report"):
        outcome = command(*words.split(), path, *(["x.csv"] if "export" in words else []))
        assert (outcome.code, outcome.err.count(f"{said[0]} (run 'copy')")) == (0, 1), outcome
