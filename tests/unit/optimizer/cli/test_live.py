"""What a search says as it begins, and the signals that it hears."""

import io
import signal
import time
from types import SimpleNamespace

import pytest

from optimizer.cli import live
from optimizer.cli.console import Lines
from optimizer.cli.live import Watcher
from optimizer.cli.notes import handle_signals, stop_now
from optimizer.config.run_config import RunConfig
from optimizer.run.problem import JustSearched
from optimizer.run.runner import record_bytes
from optimizer.run.task import prepare
from tests.support.commands import write_market

STORE = SimpleNamespace(run_id="a-run", path="runs/a-run", warnings=("a row was damaged",))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """A task on a market with a note."""
    path = tmp_path_factory.mktemp("market") / "bars.csv"
    return prepare(RunConfig(data=write_market(path, silent=1.0), generations=9, device="cpu"))


@pytest.fixture
def watch(monkeypatch, task):
    """A function that begins to watch a search on a stream."""

    def begin(stream, **options):
        monkeypatch.setattr(live, "stderr", lambda: Lines(stream))
        watcher = Watcher(**options)
        watcher.on_search_start(task, task.engine(), STORE)
        return watcher

    return begin


def test_lines_say_where_a_search_runs(watch, task):
    """Notes and warnings, bars, device, memory, run; if quiet notes and warnings alone."""
    stream, notes = io.StringIO(), [f"note: {task.markets.notes[0]}", "note: a row was damaged"]
    watch(stream)
    lines = stream.getvalue().splitlines()
    assert lines[:3] == [*notes, "seller_exhaustion on bars 15m, 3,000 bars"]
    assert lines[3].startswith("device cpu: ")
    assert lines[4].startswith("memory for 128 individuals on 3,000 bars: ")
    assert lines[5:] == [f"run a-run in runs/a-run, {record_bytes(task) / 1e6:,.0f} MB at most"]
    watch(quiet := io.StringIO(), quiet=True)
    assert quiet.getvalue().splitlines() == notes


def test_a_signal_ends_all_at_once_where_the_search_is_over(watch):
    """There is no generation to wait for; afterwards signals are heard as before."""
    before = signal.getsignal(signal.SIGTERM)
    watcher = watch(io.StringIO())
    with watcher.listening():
        watcher.on_search_end(JustSearched())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_is_handled_once_the_compiler_is_done():
    """It drops what is raised while it calls Python, and goes on with a loop that is half there."""
    inside = {"__name__": "llvmlite.binding.executionengine", "signal": signal}
    exec("def call_back():\n    signal.raise_signal(signal.SIGTERM)", inside)
    with handle_signals(stop_now):
        inside["call_back"]()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
