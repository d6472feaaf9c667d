"""All that was acknowledged is counted: a loss is said wherever the run is read, for ever."""

import shutil

import pytest

from optimizer.store import RunStore
from optimizer.store.files import DATABASE, OWNER
from optimizer.store.labels import change_labels
from optimizer.store.listing import summarise
from optimizer.viewing.run_index import RunIndex, list_rows
from tests.support.forging import change
from tests.support.recording import HEADER, fill, find_damage


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
