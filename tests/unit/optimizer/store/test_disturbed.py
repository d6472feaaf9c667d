"""Other programs and other names: what they do to a run while it is written is noted."""

import os
import shutil
from contextlib import suppress

import pytest

from optimizer.errors import DisturbedError, StoreError
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from tests.support.kill import child, child_own, child_record, kill_process
from tests.support.recording import HEADER, assert_same_generation, fill, make_generation

LOG = f"{DATABASE}-wal"
COMMITTED = 400
"""Generations: more than one fold of the log into the file."""


def copy_by_links(run, name):
    """A copy of a run as `cp -al` makes it."""
    return shutil.copytree(run, run.with_name(name), copy_function=os.link)


@pytest.fixture
def run(tmp_path):
    """A closed run of three generations."""
    with RunStore.create(tmp_path / "runs", "run", HEADER) as store:
        fill(store, 3)
    return store.path


@pytest.fixture
def store(tmp_path):
    """A run that is being written."""
    store = RunStore.create(tmp_path / "runs", "run", HEADER)
    fill(store, COMMITTED)
    yield store
    with suppress(DisturbedError):
        store.close()


def interrupt(run):
    """Leave a log beside the database, as its owner does when it is killed."""
    image = run.with_name("image")
    with RunStore.open(run, writable=True) as store:
        fill(store, 2, 3)
        shutil.copytree(run, image)
    shutil.rmtree(run)
    image.rename(run)
    assert (run / LOG).stat().st_size


@pytest.mark.parametrize("is_interrupted", [False, True], ids=["closed", "interrupted"])
def test_two_owners_of_one_file_by_two_names_do_not_meet(run, is_interrupted):
    """Each goes on with a file of its own, with a note."""
    if is_interrupted:
        interrupt(run)
    start = 5 if is_interrupted else 3
    other = copy_by_links(run, "other")
    with RunStore.open(run, writable=True) as one, RunStore.open(other, writable=True) as two:
        assert one.warnings == ("run.sqlite was shared with another folder by a hard link: copied",)
        for number in range(start, 9):
            one.record(make_generation(number))
            two.record(make_generation(number, salt=1))
            one.flush()
            two.flush()
        one.finish({"front": []})
    for path, salt in ((run, 0), (other, 1)):
        with RunStore.open(path) as read:
            assert read.verify() == []
            assert (read.warnings, read.status == "finished") == ((), salt == 0)
            assert_same_generation(make_generation(8, salt=salt), read.last_generation())
        assert [file.stat().st_nlink for file in path.iterdir()] == [1, 1]


def test_a_copy_by_links_of_a_run_that_is_written_waits(run):
    """Both have one file until the first owner ends; then the copy goes on alone."""
    with child(child_record, run) as process:
        assert process.stdout.readline()
        other = copy_by_links(run, "other")
        with pytest.raises(StoreError, match="by a hard link, and is in use there: wait for"):
            RunStore.open(other, writable=True)
        safe = int(kill_process(process, 1, 0.1))
    for path in (run, other):
        with RunStore.open(path, writable=True) as again:
            assert_same_generation(make_generation(safe), again.generation(safe))
            again.record(make_generation(again.last_generation().number + 1))
        assert RunStore.open(path).verify() == []
        assert (path / DATABASE).stat().st_nlink == 1


@pytest.mark.parametrize("steps", range(2))
def test_a_separation_that_is_killed_loses_nothing(run, monkeypatch, steps):
    """Whatever was done by then, all generations are there, and the next owner does the rest."""
    interrupt(run)
    other = copy_by_links(run, "other")
    replace, left = os.replace, iter(range(steps))

    def replace_some(*paths):
        if next(left, None) is None:
            raise KeyboardInterrupt
        replace(*paths)

    monkeypatch.setattr(os, "replace", replace_some)
    with suppress(KeyboardInterrupt):
        RunStore.open(other, writable=True)
    monkeypatch.undo()
    with RunStore.open(other, writable=True) as two:
        assert_same_generation(make_generation(4), two.last_generation())
        two.record(make_generation(5, salt=1))
    for path, count in ((run, 5), (other, 6)):
        with RunStore.open(path) as read:
            assert (read.verify(), len(read.generations())) == ([], count)


def test_an_owner_by_a_link_to_the_folder_is_refused(run, tmp_path):
    """The lock is on the folder, whatever path leads to it."""
    (tmp_path / "link").symlink_to(run)
    with child(child_own, run) as process:
        assert process.stdout.readline() == "owned\n"
        with pytest.raises(StoreError, match="is owned by process"):
            RunStore.open(tmp_path / "link", writable=True)


def cut(store):
    """Leave the first page alone."""
    os.truncate(store.database, 4096)


def empty(store):
    """Leave nothing."""
    os.truncate(store.database, 0)


def replace(store):
    """Put an earlier state back."""
    shutil.copy(store.database, store.path / "earlier")
    os.replace(store.path / "earlier", store.database)


def unlink(store):
    """Remove the database alone."""
    store.database.unlink()


def remove(store):
    """Remove the whole run."""
    shutil.rmtree(store.path)


def move(store):
    """Give the run another name."""
    store.path.rename(store.path.with_name("else where"))


HARMS = {
    cut: r"was cut from [\d,]+ to 4,096 bytes .* runs verify",
    empty: r"was cut from [\d,]+ to 0 bytes .* runs verify",
    replace: "was replaced by another file .* runs verify",
    unlink: "was removed while the run was written",
    remove: "was removed while the run was written",
    move: r"was moved to .*else where while .* --resume '.*else where'",
}


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("is_last", [True, False], ids=["at the end", "in between"])
def test_harm_to_a_run_that_is_written_is_an_error(store, harm, is_last):
    """Nothing is acknowledged any more: neither the next generation nor the end of the run."""
    harm(store)
    if not is_last:
        store.record(make_generation(COMMITTED))
    with pytest.raises(DisturbedError, match=HARMS[harm]):
        store.close() if is_last else store.flush()


def test_a_run_that_was_moved_goes_on_where_it_is(store):
    """Everything that was acknowledged is at the place that the error names."""
    move(store)
    with pytest.raises(DisturbedError, match="was moved"):
        store.finish({"front": []})
    with pytest.raises(DisturbedError, match="was moved"):
        store.close()
    with RunStore.open(store.path.with_name("else where"), writable=True) as again:
        assert_same_generation(make_generation(COMMITTED - 1), again.last_generation())
        assert again.warnings == ()


def test_a_log_that_was_cut_is_no_success(store):
    """Generations are gone, whatever closing the file could make of it."""
    os.truncate(store.path / LOG, 0)
    with pytest.raises(StoreError, match=r"does not hold what was recorded|could not be written"):
        store.close()


def test_an_undisturbed_run_is_closed_without_a_word(store):
    """What was acknowledged is there."""
    store.finish({"front": []})
    store.add_evidence("opened", {"at": "now"})
    store.close()
    assert RunStore.open(store.path).verify() == []
