"""Lines of a search as it begins, and the signals that it hears."""

import io
import signal
import time

import pytest

from data.progress import Progress
from optimizer.api import evolve
from optimizer.cli.console import Lines
from optimizer.cli.notes import handle_signals, stop_now
from optimizer.cli.progress import listening, open_show
from tests.support.commands import write_market

SMALL = {"population": 8, "generations": 1, "min_trades": 3, "judge": False, "polish": 0}


def test_lines_say_where_a_search_runs(tmp_path):
    """Notes, bars, device, memory, run; if quiet notes alone."""
    bars = write_market(tmp_path / "bars.csv", silent=1.0)
    shown = {}
    for quiet in (False, True):
        stream = io.StringIO()
        show = open_show(Lines(stream), quiet=quiet)
        run = evolve(data=bars, runs=str(tmp_path), device="cpu", progress=show, **SMALL)
        shown[quiet] = stream.getvalue().splitlines()
    note = f"note: {run.task.markets.notes[0]}"
    assert shown[True] == [note]
    assert shown[False][:2] == [note, "seller_exhaustion on bars 15m, 3,000 bars"]
    assert shown[False][2].startswith("device cpu: ")
    assert shown[False][3].startswith("memory for 8 individuals on 3,000 bars: ")
    assert shown[False][4].endswith(" MB at most")
    assert shown[False][-1].startswith("replaying: ")


@pytest.mark.parametrize("phase", ["generation", "replaying: 4 members"])
def test_a_signal_waits_for_the_end_of_a_generation_alone(phase):
    """A second one, and one while none is searched, ends all; afterwards all is as before."""
    before = signal.getsignal(signal.SIGTERM)
    with listening(open_show(Lines(io.StringIO()))) as show:
        show(Progress(phase, 1, 9))
        if phase == "generation":
            signal.raise_signal(signal.SIGTERM)
            assert show.is_stopping
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
