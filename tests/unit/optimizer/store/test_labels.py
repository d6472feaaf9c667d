"""Tags and notes of runs: what a person wrote is kept, and nothing that they hold can do harm."""

import json
import os
import shutil
from threading import Thread

import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.store import RunStore, delete_run, list_foreign_files, list_runs
from optimizer.store.files import LABELS
from optimizer.store.labels import (
    LARGEST_BYTES,
    MARK,
    Labels,
    change_labels,
    parse_note,
    parse_tag,
    read_labels,
)
from tests.support.recording import HEADER, fill, make_generation

ESCAPE, TURN, HALF = "\x1b[2J", "\u202e", "\udcff"
NO_TAGS = (
    "",
    " ",
    "two words",
    "-x",
    ".x",
    "a\nb",
    "a\0",
    f"a{ESCAPE}",
    f"a{TURN}",
    HALF,
    "x" * 33,
)
NO_NOTES = (ESCAPE, f"a{TURN}b", HALF, "a\0b", "\u200b", "x" * 1001, "x" * 3_000_000)


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
    change_labels(run, remove=["btc-2024", "ünïcode"], note="")
    assert not (run / LABELS).exists()
    assert read_labels(run) == Labels()


@pytest.mark.parametrize("text", NO_TAGS, ids=ascii)
def test_a_tag_is_a_word(run, text):
    """Anything else is refused in one printable line, and nothing is written."""
    with pytest.raises(ConfigError, match="a tag is a word of up to 32 letters") as error:
        change_labels(run, add=["good", text])
    assert str(error.value).isprintable()
    assert not (run / LABELS).exists()


@pytest.mark.parametrize("text", NO_NOTES, ids=lambda text: ascii(text[:9]))
def test_a_note_is_a_line_that_no_terminal_obeys(run, text):
    """Megabytes and signs that command a terminal are refused in one short printable line."""
    with pytest.raises(ConfigError, match="a note has up to 1,000 characters") as error:
        change_labels(run, note=text)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300
    assert not (run / LABELS).exists()


def test_the_longest_labels_fit_the_file(run):
    """Whatever is allowed can be read again."""
    tags = [f"{number:02}" + "\U00020000" * 30 for number in range(32)]
    expected = Labels(tuple(map(parse_tag, tags)), parse_note("\U00020000" * 1000))
    assert change_labels(run, add=tags, note=expected.note) == expected
    assert read_labels(run) == expected
    assert (run / LABELS).stat().st_size < LARGEST_BYTES / 2
    with pytest.raises(ConfigError, match="33 tags: a run has up to 32"):
        change_labels(run, add=["more"])


def test_a_tag_that_is_not_there_is_not_removed(run):
    """Those that are there are named."""
    change_labels(run, add=["baseline"])
    with pytest.raises(ConfigError, match="has no tag 'base'; it has baseline"):
        change_labels(run, remove=["base"])


DAMAGE = {
    "empty": b"",
    "bits": b"\xff\xfe",
    "another file": b'{"cat": 0, "dog": 1}',
    "a list": b"[]",
    "deep": b"[" * 60_000,
    "escapes": json.dumps({**MARK, "tags": [], "note": ESCAPE}).encode(),
    "no word": json.dumps({**MARK, "tags": ["a\nb"], "note": ""}).encode(),
    "numbers": json.dumps({**MARK, "tags": [1], "note": ""}).encode(),
    "no note": json.dumps({**MARK, "tags": [], "note": None}).encode(),
    "many": json.dumps({**MARK, "tags": [f"t{n}" for n in range(99)], "note": ""}).encode(),
    "megabytes": json.dumps({**MARK, "tags": [], "note": ""}).encode() + b" " * 2_000_000,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_somebody_sent_is_no_looser_than_what_one_may_give(run, kind):
    """The run is read all the same; the file is not shown, not replaced and not removed."""
    (run / LABELS).write_bytes(DAMAGE[kind])
    with pytest.raises(StoreError, match=r"holds no tags and note .* move it away"):
        change_labels(run, add=["tag"])
    assert (run / LABELS).read_bytes() == DAMAGE[kind]
    (summary,) = list_runs(run.parent)
    assert (summary.status, summary.tags, summary.note) == ("interrupted", (), "")
    assert "holds no tags and note" in summary.damaged
    assert list_foreign_files(run) == [run / LABELS]
    delete_run(run)
    assert (run / LABELS).read_bytes() == DAMAGE[kind]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "folder"])
def test_nothing_but_a_plain_file_is_read_or_written(run, tmp_path, kind):
    """Neither followed nor waited for."""
    target = tmp_path / "precious"
    if kind == "pipe":
        os.mkfifo(run / LABELS)
    elif kind == "folder":
        (run / LABELS).mkdir()
    else:
        (run / LABELS).symlink_to(target)
    if kind == "link":
        target.write_text(json.dumps({**MARK, "tags": ["theirs"], "note": ""}))
    before = target.read_text() if kind == "link" else None
    with pytest.raises(StoreError, match="is a link or no plain file"):
        change_labels(run, add=["tag"])
    assert list_runs(run.parent)[0].tags == ()
    assert (target.read_text() if target.exists() else None) == before


def test_a_copy_has_the_labels_and_then_its_own(run):
    """Also one by hard links: neither changes the other's."""
    change_labels(run, add=["first"])
    copies = [run.with_name("copy"), run.with_name("linked")]
    shutil.copytree(run, copies[0])
    shutil.copytree(run, copies[1], copy_function=os.link)
    for copy in copies:
        change_labels(copy, add=[copy.name], remove=["first"])
    assert [read_labels(path).tags for path in (run, *copies)] == [
        ("first",),
        ("copy",),
        ("linked",),
    ]


def test_a_run_that_is_being_recorded_can_be_labelled(tmp_path):
    """Its owner goes on, and a list shows both."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        fill(store, 1)
        change_labels(store.path, add=["live"])
        (summary,) = list_runs(tmp_path)
        assert (summary.status, summary.tags) == ("running", ("live",))
        store.record(make_generation(1))
    assert RunStore.open(store.path).verify() == []


def test_processes_that_label_at_once_lose_nothing(run):
    """They take turns."""
    threads = [Thread(target=change_labels, args=[run], kwargs={"add": [f"t{n}"]}) for n in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_labels(run).tags) == ["t1", "t2", "t3", "t4"]
