"""Progress is one line a second, a table in a terminal, nothing if quiet; signals are heard."""

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
from optimizer.run.progress import Progress
from optimizer.run.runner import record_bytes
from optimizer.run.task import prepare
from tests.support.commands import write_market

NAN = float("nan")
STORE = SimpleNamespace(run_id="a-run", path="runs/a-run", warnings=("a row was damaged",))


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        """Whether a person sees it."""
        return True


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


def progress(generation, **changes):
    """How a search of nine generations stands."""
    fields = {
        "generation": generation, "generations": 9, "individuals": 128, "evaluated": 1280,
        "feasible": 0.5, "front": 7, "hypervolume": 0.61803, "best": (0.4227, 0.4772, 0.0511),
        "rejected": {"too_few_trades": 12}, "individual_bars_per_s": 2.5e9, "seconds": 10.0,
        "seconds_per_generation": 10.0 / 3,
    }  # fmt: skip
    return Progress(**{**fields, **changes})


def test_lines_say_where_a_search_runs_and_how_it_stands(monkeypatch, watch, task):
    """Notes and warnings, bars, device, memory, run; then a line a second, first and last always.

    A slow rate is in millions, and one that is not known is not named.
    """
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(live.time, "monotonic", lambda: now.seconds)
    stream = io.StringIO()
    watcher = watch(stream)
    lines = stream.getvalue().splitlines()
    assert lines[:2] == [f"note: {task.markets.notes[0]}", "note: a row was damaged"]
    assert lines[2] == "seller_exhaustion on bars 15m, 3,000 bars"
    assert lines[3].startswith("device cpu: ")
    assert lines[4].startswith("memory for 128 individuals on 3,000 bars: ")
    assert lines[5:] == [f"run a-run in runs/a-run, {record_bytes(task) / 1e6:,.0f} MB at most"]
    for generation in range(10):
        if watcher.is_due(generation):
            watcher.generation(progress(generation))
        now.seconds += 0.4
    shown = stream.getvalue().splitlines()[6:]
    assert [line.split(":")[0] for line in shown] == [f"generation {n}/9" for n in (0, 3, 6, 9)]
    for words in ("front 7", "feasible 50%", "hypervolume 0.6180", "strength 0.4227",
                  "total_return 47.72%", "max_drawdown 5.11%", "2.50 G individual-bars/s",
                  "20 s left"):  # fmt: skip
        assert f"{words}" in shown[1]
    watcher.generation(progress(3, individual_bars_per_s=2.5e6))
    assert "2.50 M individual-bars/s" in stream.getvalue()
    watcher.generation(progress(1, individual_bars_per_s=NAN, seconds_per_generation=NAN))
    assert stream.getvalue().endswith("max_drawdown 5.11%\n")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_shows_a_table_where_it_can_draw_one(monkeypatch, watch, term):
    """It is taken away before the front is replayed; where TERM is dumb there are lines."""
    monkeypatch.setenv("TERM", term)
    stream = Terminal()
    watcher = watch(stream)
    if term == "dumb":
        watcher.generation(progress(3))
        assert "generation 3/9: front 7, " in stream.getvalue()
        return
    with watcher.listening():
        watcher.generation(progress(3))
        watcher._live.refresh()
        for words in ("3 of 9", "1,280", "50%", "0.6180", "2.50 G", "47.72%", "20 s left",
                      "too_few_trades 12"):  # fmt: skip
            assert words in stream.getvalue()
        signal.raise_signal(signal.SIGINT)
        watcher.generation(progress(4))
        watcher._live.refresh()
        assert "stopping" in stream.getvalue()
        watcher.certifying(1)
    assert "replaying 1 member" in stream.getvalue().splitlines()[-1]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=lambda stop: stop.name)
def test_the_first_signal_is_a_wish_and_the_second_an_order(watch, stop):
    """The search may end its generation; a second signal ends it at once.

    Once the search is over there is no generation to wait for.
    """
    before = signal.getsignal(stop)
    watcher = watch(io.StringIO())
    with watcher.listening():
        assert not watcher.should_stop()
        signal.raise_signal(stop)
        assert watcher.should_stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(stop)
    assert signal.getsignal(stop) is before
    watcher = watch(io.StringIO())
    with watcher.listening():
        watcher.on_search_end(JustSearched())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(stop)


def test_a_signal_is_handled_once_the_compiler_is_done():
    """It drops what is raised while it calls Python, and goes on with a loop that is half there."""
    inside = {"__name__": "llvmlite.binding.executionengine", "signal": signal}
    exec("def call_back():\n    signal.raise_signal(signal.SIGTERM)", inside)
    with handle_signals(stop_now):
        inside["call_back"]()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
