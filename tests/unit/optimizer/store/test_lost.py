"""All that was acknowledged is counted: what is gone or put back is noted wherever it is read."""

import shutil

import pytest

from optimizer import load_run
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from optimizer.store.listing import summarise
from optimizer.store.lock import OWNER, read_owner
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


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM generation WHERE number = 1", "generations 1 to 1 were recorded but are"),
        ("DELETE FROM evidence WHERE id > 1", "of 3 rows of 'evidence' that were recorded 2 are"),
        ("DELETE FROM evidence", "of 3 rows of 'evidence' that were recorded 3 are"),
        ("DELETE FROM resumption", "of 1 row of 'resumption' that were recorded 1 are"),
        ("DELETE FROM result", "of 1 row of 'result' that were recorded 1 are"),
    ],
)
def test_a_tail_that_is_gone_is_said_by_whoever_opens_the_run(path, statement, message, caplog):
    """By readers in the log, by owners to their watcher, by the list and by verify."""
    change(path, statement)
    for is_writable in (False, True):
        caplog.clear()
        with RunStore.open(path, writable=is_writable) as store:
            assert any(message in line for line in store.warnings), store.warnings
            assert any(message in line for line in store.verify())
        assert is_writable or message in caplog.text
    damaged = summarise(path).damaged
    assert message in damaged or "does not follow from the last generation" in damaged


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


def test_evidence_that_was_lost_with_the_log_is_said(path, tmp_path):
    """A copy without the write-ahead log has the note of what was in it."""
    copy = tmp_path / "elsewhere" / "run"
    with RunStore.open(path, writable=True) as store:
        store.add_evidence("fold/rolling/0", {"number": 0})
        store.flush()
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    with RunStore.open(copy) as store:
        assert len(store.evidence) == 3
        (line,) = store.verify()
    assert line.startswith("of 4 rows of 'evidence' that were recorded 1 are gone: the write-ahead")


@pytest.mark.parametrize("rows", ['"x"', '{"evidence": "3"}', "[1]"])
def test_a_note_with_other_counts_is_nobodys(path, rows):
    """A damaged note is ignored."""
    note = (path / OWNER).read_text().rstrip()
    start = note.index('"rows"')
    (path / OWNER).write_text(f'{note[:start]}"rows": {rows}}}')
    assert read_owner(path) is None
    with RunStore.open(path) as store:
        assert store.warnings == ()


@pytest.fixture(scope="module")
def put_back(tmp_path_factory):
    """A judged run whose file is the one from before it was judged."""
    path = record_run(tmp_path_factory.mktemp("runs"))
    before = shutil.copy(path / DATABASE, path.parent / "before")
    judge_briefly(path)
    shutil.move(before, path / DATABASE)
    return path


READERS = {
    "show": ("runs", "show", "RUN"),
    "show a member": ("runs", "show", "RUN", "--member", "0"),
    "show as JSON": ("runs", "show", "RUN", "--json"),
    "genes": ("runs", "show", "RUN", "--importance"),
    "export": ("runs", "export", "RUN", "TO/front.csv"),
    "export all": ("runs", "export", "RUN", "TO/all.csv", "--what", "individuals"),
    "compare": ("runs", "compare", "RUN", "COPY"),
    "report": ("report", "RUN"),
    "backtest": ("backtest", "RUN", "--member", "0"),
    "parity": ("parity", "--run", "RUN"),
    "judge": ("judge", "RUN", "--folds", "0", "--blocks", "0"),
    "resume": ("evolve", "--resume", "RUN", "--no-judge", "--no-report"),
}


@pytest.mark.parametrize("use", READERS, ids=list(READERS))
def test_an_older_state_that_was_put_back_is_said_everywhere(put_back, tmp_path, capsys, use):
    """Each command notes once that rows are gone, and does what was asked."""
    run = shutil.copytree(put_back, tmp_path / "runs" / "run")
    copy = shutil.copytree(put_back, tmp_path / "runs" / "copy")
    names = {"RUN": str(run), "COPY": str(copy)}
    given = [names.get(word, word.replace("TO", str(tmp_path))) for word in READERS[use]]
    outcome = Commands(capsys)(*given)
    assert outcome.code == 0, outcome
    messages = [line for line in outcome.err.splitlines() if "(run 'run')" in line]
    assert len(messages) == 1, outcome.err
    assert "that were recorded 1 are gone" in messages[0]
    assert "an older state of the file was put back" in messages[0]


def test_python_says_it_too(put_back, caplog):
    """As a warning of the log."""
    load_run(str(put_back))
    assert "an older state of the file was put back" in caplog.text


def test_verify_and_list_say_it(put_back, capsys):
    """Verify as an error."""
    command = Commands(capsys)
    outcome = command("runs", "verify", put_back)
    assert outcome.code == 4
    assert "of 'evidence' that were recorded" in outcome.error
    listed = command("runs", "list", "--runs", put_back.parent, "--json").json
    assert "of 'evidence' that were recorded" in listed[0]["damaged"]
