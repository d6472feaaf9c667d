"""A run is removed with its own files, and nothing of anybody else goes with it."""

import shutil
from pathlib import Path

import pytest

from data.files import name_draft
from optimizer.__main__ import main
from optimizer.errors import StoreError
from optimizer.store import RunStore, delete_run, find_run, list_foreign_files
from optimizer.store.files import COLUMN_FOLDER, DATABASE, LABELS, NAMES, OWNER, REPORT, OwnerLock
from optimizer.store.labels import change_labels
from optimizer.store.listing import begin_draft
from tests.support.recording import HEADER, fill, find_damage

PAGE = '<meta http-equiv="Content-Security-Policy" content=""><link rel="icon" href="data:,">'
OWN = (
    f"{COLUMN_FOLDER}/rate.csv", f"{COLUMN_FOLDER}/{name_draft('rate.csv')}", name_draft(REPORT),
    name_draft(LABELS), name_draft(DATABASE),
)  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """A closed run with all kinds of files that a run has."""
    header = {**HEADER, "command": {"column_file": ["rate=elsewhere/rates.csv@60"]}}
    with RunStore.create(tmp_path / "runs", "run", header) as store:
        fill(store, 2)
    change_labels(store.path, add=["mine"])
    for name in OWN:
        write(store.path / name)
    (store.path / REPORT).write_text(PAGE)
    return store.path


def write(path):
    """A file of a person's own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")


def list_files(folder):
    """Names of all files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kept", [[DATABASE], [DATABASE, OWNER]], ids=["database", "both"])
def test_a_folder_with_other_things_keeps_them(run, tmp_path, kept):
    """A run's file that was copied into a project takes nothing of the project along."""
    project = tmp_path / "project"
    mine = ["paper.tex", "src/main.py", "columns/rate.txt/deep", "columns/own.csv", "rows/a.row"]
    mine.append(LABELS)
    for name in [*mine, REPORT, ".notes.7.part"]:
        write(project / name)
    for name in kept:
        shutil.copy(run / name, project)
    delete_run(find_run(tmp_path, str(project)))
    assert list_files(project) == sorted([*mine, REPORT, ".notes.7.part"])
    assert (run / DATABASE).exists()


def test_a_run_goes_whole_and_leaves_others(run):
    """A database that was copied into the folder of all runs is removed alone."""
    assert list_foreign_files(run) == []
    shutil.copy(run / DATABASE, run.parent)
    delete_run(run.parent)
    assert [path.name for path in run.parent.iterdir()] == ["run"]
    assert find_damage(run) == []
    delete_run(run)
    assert list(run.parent.iterdir()) == []


def test_a_folder_without_a_run_is_not_removed(tmp_path):
    """A database of another program has that name by chance."""
    for name in NAMES:
        write(tmp_path / name)
    with pytest.raises(StoreError, match="nothing was removed"):
        delete_run(tmp_path)
    assert len(list_files(tmp_path)) == len(NAMES)


@pytest.mark.parametrize("text", [".", "sub/.."])
def test_a_run_is_removed_by_any_path_but_a_link(run, monkeypatch, text):
    """The folder that the path means goes, and no other."""
    other = shutil.copytree(run, run.with_name("other"))
    (run.parent / "link").symlink_to(run)
    with pytest.raises(StoreError, match="not followed"):
        delete_run(run.parent / "link")
    monkeypatch.chdir(run)
    if text == "sub/..":
        (run / "sub").mkdir()
    delete_run(Path(text))
    left = [] if text != "sub/.." else ["sub"]
    assert [path.name for path in run.parent.glob("run/*")] == left
    assert find_damage(other) == []


def test_a_damaged_run_is_removed(run):
    """Its owner's note marks it as one; copies that nothing names any more stay."""
    (run / DATABASE).write_bytes(b"")
    delete_run(run)
    assert list_files(run) == sorted(name for name in OWN if name.startswith(COLUMN_FOLDER))


@pytest.mark.parametrize("steps", [0, 5, 8])
def test_a_removal_that_is_killed_is_swept(run, monkeypatch, steps):
    """Whatever file it had come to: by the next run that begins, or the same command again."""
    RunStore.create(run.parent, "other", HEADER).close()
    unlink, left = Path.unlink, iter(range(steps))

    def unlink_some(path, missing_ok=False):
        if next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_some)
    with pytest.raises(KeyboardInterrupt):
        delete_run(run)
    monkeypatch.undo()
    assert len(list(run.parent.iterdir())) == 2
    if steps % 2:
        RunStore.create(run.parent, "next", HEADER).close()
    else:
        assert main(["runs", "delete", "run", "--runs", str(run.parent), "--yes"]) == 4
    assert [path.name for path in run.parent.iterdir() if path.name[0] == "."] == []


def test_drafts_of_runs_never_begun_are_swept(tmp_path):
    """One without an owner goes at once, with a note; an owned and a foreign one stay."""
    begin_draft(tmp_path, "killed")[1].release()
    owned, lock = begin_draft(tmp_path, "owned")
    for name in (".new-foreign-0a1b2c", ".other"):
        (tmp_path / name).mkdir()
        OwnerLock.acquire(tmp_path / name).release()
    with RunStore.create(tmp_path, "run", HEADER) as store:
        assert store.warnings == ("removed what 1 interrupted starts of runs had left",)
    lock.release()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".new-foreign-0a1b2c", ".other", owned.name, "run"}


def test_a_folder_of_a_person_is_no_draft(tmp_path):
    """Named like one, also with files of a run in it, it stays."""
    runs = tmp_path / "runs"
    mine, more, sub = (runs / name_draft(name) for name in ("mine", "more", "sub"))
    for folder in (mine, more, sub, runs / ".new-x-0a1b2c"):
        write(folder / "notes.txt")
    OwnerLock.acquire(more).release()
    (sub / "columns").mkdir()
    before = list_files(runs)
    with RunStore.create(runs, "run", HEADER) as store:
        assert store.warnings == ()
    assert set(before) <= set(list_files(runs))
