"""Files are written whole, and nothing is left of writers that were killed."""

import os
import threading

from data.files import (
    claiming,
    drafting,
    name_draft,
    remove_drafts,
    replace_whole,
)


def list_names(folder):
    """Names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def leave_draft(path):
    """A draft of a writer that was killed."""
    draft = path.with_name(name_draft(path.name))
    draft.write_bytes(b"half")
    return draft


OTHERS = (".a.csv.mine.part", ".a.csv.0a1b.part", ".a.csv.0a1b2c3d4e5f.part", ".part", ".hidden")
"""Hidden files of a person and of other programs."""


def test_drafts_of_killed_writers_go_with_the_next_one(tmp_path):
    """All of ours in its folder, whatever file they were of; nothing else."""
    for name in ("a.csv", "b.csv", "*", "two\nlines", os.fsdecode(b"\xff"), ".part"):
        leave_draft(tmp_path / name)
    for name in OTHERS:
        (tmp_path / name).write_text("mine")
    (tmp_path / name_draft("run")).mkdir()
    replace_whole(tmp_path / "a.csv", b"whole")
    assert list_names(tmp_path) == sorted([*OTHERS, "a.csv"])
    assert (tmp_path / "a.csv").read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) == len(OTHERS) + 2


def test_a_draft_that_is_being_written_stays(tmp_path):
    """Two writers of one file take no notice of each other; the last one is read."""
    path = tmp_path / "a.csv"
    with drafting(path) as first:
        first.write_bytes(b"first")
        replace_whole(path, b"second")
        remove_drafts(tmp_path)
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list_names(tmp_path) == ["a.csv"]


def test_a_claim_blocks_a_second_one(tmp_path):
    """As long as was asked for, and no longer."""
    path, entered = tmp_path / "a.csv", threading.Event()

    def claim():
        with claiming(path, 60.0):
            entered.set()

    thread = threading.Thread(target=claim)
    with claiming(path, 60.0):
        thread.start()
        assert not entered.wait(0.1)
        with claiming(path, 0.05):
            assert not entered.is_set()
    thread.join()
    assert entered.is_set()
    assert list_names(tmp_path) == []


def test_a_link_named_like_a_draft_is_not_followed(tmp_path):
    """Neither it nor what it names is removed."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = name_draft("a.csv")
    os.symlink(precious, tmp_path / link)
    replace_whole(tmp_path / "a.csv", b"whole")
    assert list_names(tmp_path) == [link, "a.csv", "precious"]
    assert precious.read_text() == "mine"
