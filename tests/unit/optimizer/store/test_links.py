"""A run from elsewhere: no file outside of its folder is written, read or waited for."""

import os
import shutil

import pytest

from data.files import name_draft
from optimizer.atomic_write import write_whole
from optimizer.errors import StoreError
from optimizer.report import Run, write_report
from optimizer.store import RunStore, delete_run, list_runs
from optimizer.store.files import DATABASE, NAMES
from optimizer.store.lock import OWNER, read_owner
from tests.support.recording import HEADER, make_generation
from tests.support.runs import record_run

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
        store.record(make_generation(0))
        store.record(make_generation(1))
    return tmp_path / "runs" / "run"


@pytest.mark.parametrize("name", NAMES)
def test_an_owner_follows_no_link(run, precious, name):
    """Whatever file of a run is a link, its owner refuses it, and what it names is as it was."""
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(precious)
    with pytest.raises(StoreError, match=rf"{name} is a link or no plain file"):
        RunStore.open(run, writable=True)
    assert precious.read_text() == PRECIOUS


def test_a_link_to_nothing_makes_no_file(run, tmp_path):
    """A name that leads to a file that is not there yet does not make it."""
    (run / OWNER).unlink()
    (run / OWNER).symlink_to(tmp_path / "new")
    with pytest.raises(StoreError, match="is a link"):
        RunStore.open(run, writable=True)
    with pytest.raises(StoreError, match="is a link"):
        delete_run(run)
    assert not (tmp_path / "new").exists()


def test_a_reader_follows_no_link_either(run, tmp_path):
    """A database elsewhere is no run of this folder, which the list notes."""
    shutil.move(run / DATABASE, tmp_path / "elsewhere")
    (run / DATABASE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link or no plain file"):
        RunStore.open(run)
    (summary,) = list_runs(run.parent)
    assert (summary.status, "is a link" in summary.damaged) == ("damaged", True)


@pytest.mark.parametrize("name", [OWNER, DATABASE, f"{DATABASE}-wal"])
@pytest.mark.timeout(20)
def test_a_pipe_does_not_block(run, name):
    """It is never written to."""
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    owner = read_owner(run)
    assert (owner and owner.committed) == (None if name == OWNER else 1)
    with pytest.raises(StoreError, match="no plain file"):
        RunStore.open(run)


def test_a_report_takes_the_place_of_a_link(tmp_path, precious):
    """It is written beside and moved there; what the link named is as it was."""
    path = record_run(tmp_path / "runs")
    (path / "report.html").symlink_to(precious)
    written = write_report(Run(path))
    assert precious.read_text() == PRECIOUS
    assert not written.is_symlink()
    assert written.read_text().startswith("<!doctype html>")


def test_a_draft_follows_no_link(tmp_path, precious, monkeypatch):
    """Who guesses its name gains nothing."""
    target = tmp_path / "out.txt"
    names = iter([b"x", b"y"])
    monkeypatch.setattr("data.files.os.urandom", lambda size: next(names))
    (tmp_path / name_draft("out.txt", b"x".hex())).symlink_to(precious)
    write_whole(target, "new")
    assert (precious.read_text(), target.read_text()) == (PRECIOUS, "new")
