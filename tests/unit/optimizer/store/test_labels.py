"""Tags and notes of runs: kept as a person wrote them, and nothing that they hold can do harm."""

import json
import os
from threading import Thread

import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.store import RunStore, delete_run, list_foreign_files, list_runs
from optimizer.store.files import LABELS
from optimizer.store.labels import MARK, Labels, change_labels, read_labels
from tests.support.recording import HEADER, fill, find_damage, make_generation

ESCAPE, TURN, HALF = "\x1b[2J", "\u202e", "\udcff"
WRONG_TAGS = (
    "", " ", "two words", "-x", ".x", "a\nb", "a\0", f"a{ESCAPE}", f"a{TURN}", HALF, "x" * 33,
)  # fmt: skip
WRONG_NOTES = (ESCAPE, f"a{TURN}b", HALF, "a\0b", "\u200b", "x" * 1001, "x" * 3_000_000)


@pytest.fixture
def run(tmp_path):
    """A closed run."""
    with RunStore.create(tmp_path / "runs", "run", HEADER) as store:
        fill(store, 2)
    return store.path


def test_labels_are_kept_as_they_were_given(run):
    """Tags in their order, each once in whatever case; a change of one leaves the rest."""
    assert read_labels(run) == Labels()
    change_labels(run, add=["Baseline", "btc-2024", "BASELINE"], note=" wide\n\tstops \U0001f98a ")
    assert read_labels(run) == Labels(("Baseline", "btc-2024"), "wide stops \U0001f98a")
    change_labels(run, add=["ünïcode"], remove=["baseline"])
    assert read_labels(run) == Labels(("btc-2024", "ünïcode"), "wide stops \U0001f98a")
    with pytest.raises(ConfigError, match="btc-2024"):
        change_labels(run, remove=["base"])
    change_labels(run, note="another")
    assert read_labels(run) == Labels(("btc-2024", "ünïcode"), "another")
    change_labels(run, remove=["btc-2024", "ünïcode"], note="")
    assert not (run / LABELS).exists()
    assert read_labels(run) == Labels()


@pytest.mark.parametrize(
    "given",
    [*({"add": ["good", text]} for text in WRONG_TAGS), *({"note": text} for text in WRONG_NOTES)],
    ids=lambda given: ascii(given)[:30],
)
def test_labels_that_a_terminal_obeys_are_refused(run, given):
    """A tag is a word, a note a line; nothing is written, and the error can be printed."""
    with pytest.raises(ConfigError) as error:
        change_labels(run, **given)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300
    assert not (run / LABELS).exists()


def as_file(**fields):
    """Content of a file of labels with other fields."""
    return json.dumps({**MARK, "tags": [], "note": "", **fields}).encode()


DAMAGE = {
    "empty": b"", "another file": b'{"cat": 0, "dog": 1}', "deep": b"[" * 60_000,
    "escapes": as_file(note=ESCAPE), "no word": as_file(tags=["a\nb"]),
    "no note": as_file(note=None), "megabytes": as_file() + b" " * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_a_file_from_elsewhere_is_not_shown_replaced_or_removed(run, content):
    """The run is read all the same."""
    (run / LABELS).write_bytes(content)
    with pytest.raises(StoreError, match=LABELS):
        change_labels(run, add=["tag"])
    (summary,) = list_runs(run.parent)
    assert (summary.status, summary.tags, summary.note) == ("interrupted", (), "")
    assert LABELS in summary.damaged
    assert list_foreign_files(run) == [run / LABELS]
    delete_run(run)
    assert (run / LABELS).read_bytes() == content


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe"])
def test_nothing_but_a_plain_file_is_read_or_written(run, tmp_path, kind):
    """Neither followed nor waited for."""
    target, theirs = tmp_path / "precious", as_file(tags=["theirs"])
    if kind == "pipe":
        os.mkfifo(run / LABELS)
    else:
        (run / LABELS).symlink_to(target)
    if kind == "link":
        target.write_bytes(theirs)
    with pytest.raises(StoreError, match="no plain file"):
        change_labels(run, add=["tag"])
    assert list_runs(run.parent)[0].tags == ()
    assert (target.read_bytes() if target.exists() else None) == (
        theirs if kind == "link" else None
    )


def test_a_run_that_is_being_recorded_can_be_labelled_by_many(tmp_path):
    """Its owner goes on, a list shows both, and processes take turns."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        fill(store, 1)
        threads = [
            Thread(target=change_labels, args=[store.path], kwargs={"add": [tag]})
            for tag in ("t1", "t2", "t3", "t4")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (summary,) = list_runs(tmp_path)
        assert (summary.status, sorted(summary.tags)) == ("running", ["t1", "t2", "t3", "t4"])
        store.record(make_generation(1))
    assert find_damage(store.path) == []
