"""A run from elsewhere: no file outside of its folder is written, read or waited for."""

import os

import pytest

from data.files import name_draft
from optimizer.atomic_write import write_whole
from optimizer.errors import StoreError
from optimizer.store import RunStore, delete_run, list_runs
from optimizer.store.files import DATABASE, NAMES, OWNER, read_owner
from tests.support.recording import HEADER, fill

PRECIOUS = "what must stay as it is"


@pytest.fixture
def precious(tmp_path):
    """A file outside of every run."""
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture
def run(tmp_path):
    """A closed run of two generations."""
    with RunStore.create(tmp_path / "runs", "run", HEADER) as store:
        fill(store, 2)
    return store.path


@pytest.mark.parametrize("name", NAMES)
def test_no_link_is_followed(run, precious, name):
    """Whatever file of a run it takes the place of: by readers, owners and lists."""
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(precious)
    for writable in (False, True):
        with pytest.raises(StoreError, match=f"{name} is a link"):
            RunStore.open(run, writable=writable)
    (summary,) = list_runs(run.parent)
    assert (summary.status, "is a link" in summary.damaged) == ("damaged", True)
    assert precious.read_text() == PRECIOUS


def test_a_link_to_nothing_makes_no_file(run, tmp_path):
    """Neither to own a run nor to delete it."""
    (run / OWNER).unlink()
    (run / OWNER).symlink_to(tmp_path / "new")
    for call in (lambda: RunStore.open(run, writable=True), lambda: delete_run(run)):
        with pytest.raises(StoreError, match="is a link"):
            call()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", [OWNER, DATABASE, f"{DATABASE}-wal"])
@pytest.mark.timeout(20)
def test_a_pipe_does_not_block(run, name):
    """It is never read or written."""
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    owner = read_owner(run)
    assert (owner and owner.generation) == (None if name == OWNER else 1)
    with pytest.raises(StoreError, match="no plain file"):
        RunStore.open(run)


def test_a_draft_follows_no_link(tmp_path, precious, monkeypatch):
    """Who guesses its name gains nothing."""
    names = iter([b"x", b"y"])
    monkeypatch.setattr("data.files.os.urandom", lambda size: next(names))
    (tmp_path / name_draft("out.txt", b"x".hex())).symlink_to(precious)
    write_whole(tmp_path / "out.txt", "new")
    assert (precious.read_text(), (tmp_path / "out.txt").read_text()) == (PRECIOUS, "new")
