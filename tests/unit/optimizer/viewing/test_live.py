"""A run that is watched: each look reads the new rows, and equals the record."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from optimizer import load_run
from optimizer.evidence.betting import tally
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import NullSearch, NullSettings
from optimizer.viewing.live import LiveRun
from optimizer.viewing.pages import encode_json
from optimizer.viewing.run_index import COLUMNS, RunIndex, list_rows
from tests.support.hostile import CANARY, Mutator
from tests.support.judged import judgement, record_judgement
from tests.support.viewing import GrowingRun


@pytest.fixture
def run_path(recordings):
    """A small finished run, read only."""
    folder, result = recordings.record("held out")
    return Path(folder) / result["path"]


def read_state(live):
    """State of a run at a look."""
    return json.loads(live.look().message)


def test_a_look_has_all_that_is_recorded(run_path, tmp_path):
    """Front, best and volume of the newest generation; a look without news reads nothing."""
    growing, live = GrowingRun(run_path, tmp_path, "growing"), LiveRun(tmp_path / "growing")
    assert read_state(live)["headline"] == "Beginning."
    for number in (0, 2):
        growing.grow(number)
        state, newest = read_state(live), growing.generations[number]
        archive = newest.archive
        front = state["charts"]["front"]["data"][0]
        assert front["y"] == sorted((-archive.objectives[:, 0]).tolist(), reverse=True)
        volumes = [generation.hypervolume for generation in growing.generations[: number + 1]]
        assert state["charts"]["hypervolume"]["data"][0]["y"] == volumes
        best = state["charts"]["best"][0]["data"][0]
        assert (best["x"][-1], best["y"][-1]) == (number, -archive.objectives[:, 0].min())
        # Whoever is shown beside an objective is the one who reached it.
        reached = {
            genome.tobytes(): -objectives[0]
            for genome, objectives in zip(archive.genomes, archive.objectives, strict=True)
        }
        shown = [live.find_candidate(member["key"]) for member in state["members"]]
        assert [reached[candidate.genome.tobytes()] for candidate in shown] == front["y"]
        assert [candidate.cells for candidate in shown] == [m["cells"] for m in state["members"]]
        assert live.look() is live.look()
    evaluated = sum(generation.evaluated for generation in growing.generations[:3])
    assert state["facts"][0] == ["candidates evaluated", f"{evaluated:,}"]
    growing.close()
    assert "--resume" not in state["headline"]
    assert f"--resume {growing.path}" in read_state(live)["headline"]


def list_states(folder):
    """States of the runs of a folder."""
    return [row["cells"][1][0] for row in list_rows(RunIndex(folder).list_summaries())]


def test_p_so_far_is_that_of_the_tally(run_path, tmp_path):
    """Rows of null searches count up to a gap, against the pick, as the judge counts them."""
    growing, live = GrowingRun(run_path, tmp_path, "growing"), LiveRun(tmp_path / "growing")
    growing.finish()
    assert read_state(live)["phase"] == "judging"
    assert list_states(tmp_path) == ["being judged"]
    strength = load_run("growing", tmp_path).pick.strength
    strengths = [strength + 1, strength - 1, None, strength - 2]
    checkpoint = Checkpoint(growing.store, NullSettings("day", "shuffled"), NullSearch)
    for number, value in [*enumerate(strengths, start=1), (6, 9.0)]:
        checkpoint.add(NullSearch(number, 3, value))
    growing.store.flush()
    state = read_state(live)
    p = float(tally(strength, [value or -9.0 for value in strengths]).p)
    assert f"1 of 4 reached it: p = {p:.3g}" in state["judging"][-1]
    assert sum(state["null"]["data"][0]["y"]) == 3
    growing.close()
    assert read_state(live)["phase"] == "finished"
    assert list_states(tmp_path) == ["not judged"]


def test_a_judged_run_says_what_its_pick_is_expected_to_earn(run_path, tmp_path):
    """In a line of its page, and as a number in the index."""
    shutil.copytree(run_path, tmp_path / "judged")
    expected = record_judgement(tmp_path / "judged", judgement()).expected
    assert read_state(LiveRun(tmp_path / "judged"))["judging"] == [
        f"Expected: {expected.describe()}"
    ]
    (row,) = list_rows(RunIndex(tmp_path).list_summaries())
    assert dict(zip(COLUMNS, row["cells"], strict=True))["expected"][1] == expected.mean


def test_a_run_that_was_changed_is_a_sentence(run_path, tmp_path):
    """Whatever a record holds, a look is one state and the index one line."""
    for seed in range(12):
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


def test_an_even_choice_of_a_large_front_keeps_its_own_genes(run_path, tmp_path, monkeypatch):
    """The best and the worst in the first objective are among them."""
    monkeypatch.setattr("optimizer.viewing.live.MOST_MEMBERS", 3)
    growing, live = GrowingRun(run_path, tmp_path, "growing"), LiveRun(tmp_path / "growing")
    growing.grow(2)
    state, archive = read_state(live), growing.generations[2].archive
    order = np.argsort(archive.objectives[:, 0])
    assert len(order) > 3
    genomes = [live.find_candidate(member["key"]).genome for member in state["members"]]
    assert len(genomes) == 3
    assert np.array_equal(genomes[0], archive.genomes[order[0]])
    assert np.array_equal(genomes[-1], archive.genomes[order[-1]])
    growing.close()
