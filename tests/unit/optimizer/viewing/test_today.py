"""The page today: each followed run as `signal` has it, and a sentence where it is none."""

import json
import shutil
import sqlite3

import pytest

from data.checks import format_time
from optimizer import signal
from optimizer.signals.words import describe_state
from optimizer.store.labels import change_labels
from optimizer.store.listing import list_runs
from optimizer.viewing.today import COLUMNS, list_followed, read_today
from tests.support.signals import GrowingMarket
from tests.support.viewing import serving


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
    return dict(zip(COLUMNS, texts, strict=True)), row["lines"]


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
