"""A run that is watched: each look reads what is new, and equals the record."""

import json
import shutil
import time
from contextlib import closing
from dataclasses import replace

import pytest

from optimizer import load_run
from optimizer.evidence.null import tally
from optimizer.judging.null import NullSearch
from optimizer.store.database import read_digests
from optimizer.store.labels import change_labels
from optimizer.store.reader import Reader
from optimizer.viewing.encoding import encode_json
from optimizer.viewing.live import LiveRun
from optimizer.viewing.run_index import RunIndex, list_rows
from tests.support.hostile import CANARY, Mutator
from tests.support.runs import record_run
from tests.support.viewing import GrowingRun


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A small run."""
    return record_run(tmp_path_factory.mktemp("runs"))


def read_state(live):
    """State of a run at a look."""
    return json.loads(live.look().message)


def test_a_look_says_what_is_recorded(run_path, tmp_path):
    """Front, best and volume of the newest generation; a look without news reads nothing."""
    growing, live = GrowingRun(run_path, tmp_path, "growing"), LiveRun(tmp_path / "growing")
    assert read_state(live) == {"phase": "searching", "headline": "Beginning."}
    for number in (0, 2):
        growing.grow(number)
        state, newest = read_state(live), growing.generations[number]
        archive = newest.archive.objectives
        front = state["charts"]["front"]["data"][0]
        assert sorted(front["y"]) == sorted((-archive[:, 0]).tolist())
        assert front["y"] == sorted(front["y"], reverse=True)
        volumes = [generation.hypervolume for generation in growing.generations[: number + 1]]
        assert state["charts"]["hypervolume"]["data"][0]["y"] == volumes
        best = state["charts"]["best"][0]["data"][0]
        assert (best["x"][-1], best["y"][-1]) == (number, -archive[:, 0].min())
        assert len(state["members"]) == len(archive)
        assert live.look() is live.look()
    evaluated = sum(generation.evaluated for generation in growing.generations[:3])
    assert state["facts"][0] == ["candidates evaluated", f"{evaluated:,}"]
    growing.close()
    assert read_state(live)["headline"].startswith("Interrupted. Go on with: python -m optimizer")


def test_rows_that_are_known_are_not_read_again(run_path, tmp_path, monkeypatch):
    """Only what follows them; where the last one is another, all are read."""
    growing = GrowingRun(run_path, tmp_path, "growing")
    growing.grow(1)
    with closing(Reader(growing.path)) as reader:
        known = reader.follow()
    growing.grow(3)
    growing.close()
    read = []
    monkeypatch.setattr(
        "optimizer.store.chain.read_digests",
        lambda *asked: (read.append(row.number) or row for row in read_digests(*asked)),
    )
    for chain, numbers in ((known, [1, 2, 3]), (None, [0, 1, 2, 3])):
        read.clear()
        with closing(Reader(growing.path)) as reader:
            assert [row.number for row in reader.follow(chain).rows] == [0, 1, 2, 3]
        assert read == numbers
    other = replace(known, rows=[known.rows[0], known.rows[1]._replace(chain=b"other")])
    read.clear()
    with closing(Reader(growing.path)) as reader:
        assert len(reader.follow(other).rows) == 4
    assert read == [1, 0, 1, 2, 3]


def test_p_so_far_is_that_of_the_tally(run_path, tmp_path):
    """Rows of null searches count up to a gap, against the pick, as the judge counts them."""
    growing, live = GrowingRun(run_path, tmp_path, "growing"), LiveRun(tmp_path / "growing")
    growing.finish()
    assert read_state(live)["headline"] == "The search is over and is being judged."
    index = RunIndex(tmp_path)
    assert [row["cells"][1][0] for row in list_rows(index.list_summaries())] == ["being judged"]
    strength = load_run("growing", tmp_path).pick.strength
    strengths = [strength + 1, strength - 1, None, strength - 2]
    for number, value in enumerate(strengths, start=1):
        row = NullSearch("shuffled", number, 3, value)
        growing.store.add_evidence(f"null/day/shuffled/{number}", row.payload())
    growing.store.add_evidence("null/day/shuffled/6", NullSearch("shuffled", 6, 3, 9.0).payload())
    growing.store.flush()
    state = read_state(live)
    p = tally(strength, [value or -9.0 for value in strengths]).p
    assert state["phase"] == "judging"
    assert f"1 of 4 reached it: p = {float(p):.3g}" in state["judging"][-1]
    assert sum(state["null"]["data"][0]["y"]) == 3
    growing.close()
    assert read_state(live)["phase"] == "finished"
    assert [row["cells"][1][0] for row in list_rows(index.list_summaries())] == ["not judged"]


def test_a_run_that_was_changed_is_a_sentence(run_path, tmp_path):
    """Whatever a record holds, a look is one state and the index one line."""
    for seed in range(20):
        shutil.rmtree(tmp_path / "changed", ignore_errors=True)
        shutil.copytree(run_path, tmp_path / "changed")
        Mutator(tmp_path / CANARY, seed).change(tmp_path / "changed" / "run.sqlite")
        state = read_state(LiveRun(tmp_path / "changed"))
        assert state["phase"] in ("searching", "finished", "interrupted", "unreadable"), seed
        assert "\n" not in state["headline"]
        rows = list_rows(RunIndex(tmp_path).list_summaries())
        assert [row["id"] for row in rows] == ["changed"]
        encode_json(rows)
    assert not (tmp_path / CANARY).exists()


def test_two_hundred_runs_are_listed_within_a_second(run_path, tmp_path):
    """Of processor time; the next time only what has changed is read."""
    for number in range(200):
        shutil.copytree(run_path, tmp_path / f"run-{number:03}")
    index, spent = RunIndex(tmp_path), []
    for _ in range(2):
        began = time.thread_time()
        assert len(list_rows(index.list_summaries())) == 200
        spent.append(time.thread_time() - began)
    assert spent[0] < 1
    assert spent[1] < 0.2
    change_labels(tmp_path / "run-007", add=["new"])
    (changed,) = [run.id for run in index.list_summaries() if run.tags]
    assert changed == "run-007"
