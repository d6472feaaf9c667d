"""A run that is watched, look by look, and the page today: each followed run as `signal` has it."""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from data.checks import format_time
from optimizer import load_run, signal
from optimizer.errors import StoreError
from optimizer.evidence.betting import tally
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import NULL, NullSearch
from optimizer.signals.words import describe_state
from optimizer.store.labels import change_labels
from optimizer.store.listing import list_runs
from optimizer.viewing.live import LiveRun
from optimizer.viewing.pages import encode_json
from optimizer.viewing.run_index import COLUMNS, RunIndex, list_rows
from optimizer.viewing.today import COLUMNS as CELLS
from optimizer.viewing.today import list_followed, read_today
from tests.support.hostile import CANARY, Mutator
from tests.support.judged import judgement, record_judgement
from tests.support.signals import GrowingMarket
from tests.support.viewing import GrowingRun, serving


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
        with pytest.raises(StoreError, match="has left the front"):
            live.find_candidate("0")
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
    settings = {"null_keep": "day", "kind": "shuffled"}
    checkpoint = Checkpoint(growing.store, NULL, settings, NullSearch)
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


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run that a person follows, on a file that grows."""
    market = GrowingMarket(tmp_path_factory.mktemp("followed"))
    change_labels(market.path, add=["Follow"])
    return market


def read_cells(market, now_ns):
    """The line of the one symbol by column, and its sentences."""
    (row,) = read_today(market.path, lambda: now_ns)["rows"]
    texts = (text for text, _ in row["cells"])
    return dict(zip(CELLS, texts, strict=True)), row["lines"]


def test_a_line_says_what_signal_says(market):
    """State, R now and sentences are its; what is to be placed has its prices and size."""
    seen = set()
    for count in range(1210, 1400, 3):
        now_ns = market.write(count)
        reading = signal(market.path, now=format_time(now_ns))
        (state,) = reading.symbols
        cells, lines = read_cells(market, now_ns)
        assert (cells["state"], lines) == (state.state, list(describe_state(state)))
        assert (cells["R now"] != "-") == (state.trade is not None)
        if state.trade is not None and not state.trade.leaves:
            assert cells["to place"].startswith("stop ")
        elif state.entry is not None:
            assert cells["to place"].startswith("buy ")
            assert ", target " in cells["to place"]
        seen.add(state.state)
        if seen >= {"flat", "in a trade", "enter"}:
            return
    raise AssertionError(seen)


def test_what_is_stale_or_failed_is_said(market, tmp_path):
    """With the sentences of `signal`."""
    cells, lines = read_cells(market, market.write(1210) + 400 * market.step_ns)
    assert (cells["state"], cells["to place"]) == ("stale", "unknown")
    assert "nothing is known of now" in lines[0]
    path = shutil.copytree(market.path, tmp_path / "run")
    shutil.move(market.file, tmp_path / "moved.csv")
    assert "bars.csv" in read_today(path)["problem"]
    shutil.move(tmp_path / "moved.csv", market.file)
    with sqlite3.connect(path / "run.sqlite") as record:
        record.execute("UPDATE record SET payload = zeroblob(9) WHERE name = '1'")
    (run,) = list_followed(list_runs(tmp_path))
    assert run.damaged.count("does not match the chain of digests") == 1
    assert run.damaged in read_today(path)["problem"]


def test_runs_are_followed_by_a_tag_a_watch_or_a_schedule(market):
    """Others are not; a page without any says how to follow one."""
    (run,) = list_runs(market.path.parent)
    assert list_followed([run]) == [run]
    with serving(market.path.parent) as asker:
        assert run.id in asker.ask("/today").text
        assert "problem" not in json.loads(asker.ask(f"/today/{run.id}").text)
        change_labels(market.path, remove=["follow"])
        assert list_followed(list_runs(market.path.parent)) == []
        assert "No run is followed yet" in asker.ask("/today").text
