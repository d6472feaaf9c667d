"""Progress is one line a second, a table in a terminal, nothing if quiet; signals are heard."""

import io
import re
import signal
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from engine.runtime.compiling import loops as compiled
from optimizer import __main__ as program
from optimizer.cli import live
from optimizer.cli.console import Lines
from optimizer.cli.live import Watcher
from optimizer.cli.notes import handle_signals, interrupt_again, stop_now
from optimizer.cli.view import SearchView
from optimizer.config.run_config import RunConfig
from optimizer.run.problem import JustSearched
from optimizer.run.progress import Progress
from optimizer.run.runner import record_bytes
from optimizer.run.task import prepare
from tests.support.commands import write_market

NAN = float("nan")
ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
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
def clock(monkeypatch):
    """Time that passes only when advanced."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(live.time, "monotonic", lambda: now.seconds)
    return now


def watching(monkeypatch, stream, **options):
    """A watcher that shows things on a stream."""
    monkeypatch.setattr(live, "stderr", lambda: Lines(stream))
    return Watcher(**options)


def progress(generation, **changes):
    """How a search of nine generations stands."""
    fields = {
        "generation": generation,
        "generations": 9,
        "individuals": 128,
        "evaluated": 1280,
        "feasible": 0.5,
        "front": 7,
        "hypervolume": 0.61803,
        "best": (0.4227, 0.4772, 0.0511),
        "rejected": {"too_few_trades": 12},
        "individual_bars_per_s": 2.5e9,
        "seconds": 10.0,
        "seconds_per_generation": 10.0 / 3,
    }
    return Progress(**{**fields, **changes})


def test_a_search_says_on_what_and_where_it_runs(monkeypatch, task, clock):
    """Notes and warnings, the bars, the device and why, the memory plan, and the run."""
    stream = io.StringIO()
    watching(monkeypatch, stream).on_search_start(task, task.engine(), STORE)
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"note: {task.markets.notes[0]}"
    assert lines[1] == "note: a row was damaged"
    assert lines[2] == "seller_exhaustion on bars 15m, 3,000 bars"
    assert lines[3] == "device cpu: asked for by name"
    assert lines[4].startswith("memory for 128 individuals on 3,000 bars: ")
    assert lines[5:] == [f"run a-run in runs/a-run, {record_bytes(task) / 1e6:,.0f} MB at most"]


def test_a_line_a_second_is_enough(monkeypatch, task, clock):
    """The first generation and the last one are always printed."""
    stream = io.StringIO()
    watcher = watching(monkeypatch, stream)
    watcher.on_search_start(task, task.engine(), STORE)
    for generation in range(10):
        if watcher.is_due(generation):
            watcher.generation(progress(generation))
        clock.seconds += 0.4
    messages = [line for line in stream.getvalue().splitlines() if line.startswith("generation ")]
    assert [line.split(":")[0] for line in messages] == [f"generation {n}/9" for n in (0, 3, 6, 9)]
    assert messages[1] == (
        "generation 3/9: front 7, feasible 50%, hypervolume 0.6180 (first box = 1), "
        "strength 0.4227, total_return 47.72%, max_drawdown 5.11%, "
        "2.50 G individual-bars/s, 20 s left"
    )


def test_a_slow_rate_is_told_in_millions(monkeypatch, task, clock):
    """A short market is no rate of 0."""
    stream = io.StringIO()
    watcher = watching(monkeypatch, stream)
    watcher.on_search_start(task, task.engine(), STORE)
    watcher.generation(progress(3, individual_bars_per_s=2.5e6))
    assert "2.50 M individual-bars/s" in stream.getvalue()


def test_quiet_tells_only_what_must_be_known(monkeypatch, task, clock):
    """Notes and warnings, and nothing about how it goes."""
    stream = io.StringIO()
    watcher = watching(monkeypatch, stream, quiet=True)
    watcher.on_search_start(task, task.engine(), STORE)
    assert not any(watcher.is_due(generation) for generation in range(10))
    watcher.certifying(7)
    assert [line[:5] for line in stream.getvalue().splitlines()] == ["note:", "note:"]


def test_a_terminal_shows_a_table(monkeypatch, task):
    """Everything about how it goes; it is taken away before the front is replayed."""
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    watcher = watching(monkeypatch, stream)
    watcher.on_search_start(task, task.engine(), STORE)
    with watcher.listening():
        watcher.generation(progress(3))
        watcher._live.refresh()
        for words in (
            "3 of 9",
            "1,280",
            "7",
            "50%",
            "0.6180",
            "2.50 G individual-bars/s",
            "too_few_trades 12",
            "47.72%",
            "20 s left",
        ):
            assert words in stream.getvalue()
        signal.raise_signal(signal.SIGINT)
        watcher.generation(progress(4))
        watcher._live.refresh()
        assert "stopping" in stream.getvalue()
        watcher.certifying(1)
    assert stream.getvalue().endswith("replaying 1 member of the front on the reference\n")


def draw_view(view, width, **options):
    """Lines of a view in a terminal of some columns."""
    stream = Terminal()
    Console(file=stream, width=width, force_terminal=True, no_color=True, **options).print(view)
    return [ANSI.sub("", line).rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_view_fits_and_breaks_no_word(monkeypatch, width):
    """Bar, clock and trends at any width; whatever is long goes on in the next line."""
    monkeypatch.setenv("TERM", "xterm")
    view = SearchView(["strength", "total_return", "max_drawdown"])
    for generation in range(9):
        best = (0.1 * generation, 0.4772, 0.05)
        rejected = {"too_few_trades": 12, "objective_undefined": 7, "drawdown_beyond": 120}
        view.update(progress(generation, best=best, rejected=rejected))
    lines = draw_view(view, width)
    assert max(map(len, lines)) <= width
    assert "generation 8 of 9" in lines[0]
    assert "10 s, 3 s left" in lines[0]
    assert "━" in lines[0]
    assert lines[1].split() == ["best", "strength", "0.8", "▁▂▃▄▅▅▆▇█"]
    words = " ".join(" ".join(lines).split())
    assert "rejected: too_few_trades 12, objective_undefined 7, drawdown_beyond 120" in words


def test_a_best_value_that_stays_is_told(monkeypatch):
    """After so many generations a person may want to stop."""
    monkeypatch.setenv("TERM", "xterm")
    view = SearchView(["strength"])
    for generation in range(0, 40, 5):
        view.update(progress(generation, generations=99, best=(min(generation, 20) / 10,)))
    assert "the same for 15 generations" in draw_view(view, 80)[1]


def test_an_empty_front_is_not_said_to_be_replayed(monkeypatch, task):
    """There is nothing to replay."""
    stream = io.StringIO()
    watching(monkeypatch, stream).certifying(0)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=lambda stop: stop.name)
def test_the_first_signal_is_a_wish_and_the_second_an_order(monkeypatch, task, stop):
    """The search may end its generation; a second signal ends it at once."""
    watcher = watching(monkeypatch, io.StringIO())
    before = signal.getsignal(stop)
    with watcher.listening():
        watcher.on_search_start(task, task.engine(), STORE)
        assert not watcher.should_stop()
        signal.raise_signal(stop)
        assert watcher.should_stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(stop)
    assert signal.getsignal(stop) is before


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_signal_outside_the_search_is_an_order(monkeypatch, task, phase):
    """While data is read or the front is replayed there is no generation to wait for."""
    watcher = watching(monkeypatch, io.StringIO())
    with watcher.listening():
        if phase == "after":
            watcher.on_search_start(task, task.engine(), STORE)
            watcher.on_search_end(JustSearched())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_nothing_is_said_of_a_rate_that_is_not_known(monkeypatch, task, clock):
    """Generations that compile tell nothing about those that follow."""
    stream = io.StringIO()
    watcher = watching(monkeypatch, stream)
    watcher.on_search_start(task, task.engine(), STORE)
    watcher.generation(progress(1, individual_bars_per_s=NAN, seconds_per_generation=NAN))
    assert stream.getvalue().endswith("max_drawdown 5.11%\n")


def test_names_and_values_are_whole_in_a_narrow_terminal():
    """However long a search goes on, the trend gives way."""
    view = SearchView(["strength", "total_return", "max_drawdown"])
    for generation in range(600):
        view.update(progress(generation, generations=100_000, best=(4.556, 2.0297, 0.0041)))
    stream = io.StringIO()
    Console(file=stream, width=80).print(view)
    screen = stream.getvalue()
    assert "…" not in screen
    assert all(word in screen for word in ("best total_return", "202.97%", "same for 599 gener"))
    assert max(map(len, screen.splitlines())) <= 80


@pytest.mark.parametrize("quiet", [False, True], ids=["told", "quiet"])
def test_compiling_is_told(monkeypatch, quiet):
    """A new machine is silent for a while: one note has the reason, but not if quiet."""
    stream = io.StringIO()
    wrapped = compiled._say_that_it_takes_a_while.__wrapped__
    with watching(monkeypatch, stream, quiet=quiet).listening():
        wrapped()
    wrapped()
    line = "compiling loops for this machine, which is done once and may take a minute\n"
    assert stream.getvalue() == ("" if quiet else line)


def test_a_terminal_that_can_only_print_lines_gets_lines(monkeypatch, task):
    """Nothing can be drawn over where TERM is dumb; silence would be worse."""
    stream = Terminal()
    monkeypatch.setenv("TERM", "dumb")
    watcher = watching(monkeypatch, stream)
    watcher.on_search_start(task, task.engine(), STORE)
    watcher.generation(progress(3))
    assert "generation 3/9: front 7, " in stream.getvalue()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 20.0),
        ({"generation": 9}, 0.0),
        ({"seconds_per_generation": NAN}, NAN),
        ({"generation": 9, "seconds_per_generation": NAN}, 0.0),
        ({"generation": 0, "generations": 0}, 0.0),
        ({"generations": 2}, 0.0),
    ],
)
def test_time_left_follows_the_present_rate(changes, expected):
    """Nothing is left at the end or past it."""
    actual = progress(**{"generation": 3, **changes})
    assert actual.eta_s == pytest.approx(expected, nan_ok=True)


class Signalling:
    """A signal comes in while it is freed."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def free_and_wait():
    """Free one, and go on with something long."""
    Signalling()
    time.sleep(10)


def test_a_signal_that_comes_while_an_object_is_freed_is_not_lost(capsys):
    """Python prints what is raised there and goes on; the signal is sent again."""
    before = sys.unraisablehook
    with handle_signals(stop_now), interrupt_again(), pytest.raises(KeyboardInterrupt):
        free_and_wait()
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is before


def test_a_signal_is_handled_once_the_compiler_is_done():
    """It drops what is raised while it calls Python, and goes on with a loop that is half there."""
    inside = {"__name__": "llvmlite.binding.executionengine", "signal": signal}
    exec("def call_back():\n    signal.raise_signal(signal.SIGTERM)", inside)
    with handle_signals(stop_now):
        inside["call_back"]()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)


class Naming:
    """An attribute that hears a signal while its class is made."""

    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_what_python_makes_of_a_signal_is_a_stop(monkeypatch, capsys, is_stopped):
    """Until Python 3.12 one within `__set_name__` comes out as an error; others are defects."""

    def make_class(*_, **__):
        if is_stopped:
            type("Cached", (), {"first": Naming()})
        raise RuntimeError("Error calling __set_name__")

    monkeypatch.setattr(program, "app", make_class)
    assert program.main(["doctor"]) == (130 if is_stopped else 1)
    err = capsys.readouterr().err
    assert (err == "stopped\n") == is_stopped
    assert ("a defect of the optimizer" in err) != is_stopped
