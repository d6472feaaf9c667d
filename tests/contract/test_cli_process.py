"""Commands as processes: imports, streams, and how they end by a signal."""

import shutil
import signal

import pytest

from optimizer import __main__ as program
from optimizer.errors import StoppedError
from optimizer.store import RunStore, list_runs
from tests.support.commands import SMALL, Outcome, run, start

pytestmark = pytest.mark.slow

ENDLESS = ("--population", "16", "--generations", "100000", "--min-trades", "3")
GO_ON = "go on with: python -m optimizer evolve --resume "

IMPORTS = """
import sys
from optimizer.__main__ import main
def check(words, *unwanted):
    assert not words or main(words.split()) == 0, words
    found = [name for name in unwanted if name in sys.modules]
    assert not found, (words, found)
check("", "torch", "numba", "pandas", "pyarrow", "deap", "numpy", "rich")
"""

SHOWS = """
for words in ("runs list", "runs show latest", "runs show latest --member 0", "strategies list"):
    check(words, "torch", "triton", "numba", "deap", "moocore", "pandas", "pyarrow", "plotly",
          "optuna")
check("doctor", "torch", "triton", "numba", "pandas", "deap", "moocore")
"""

SEARCHES = f"""
check("evolve --device cpu {" ".join(SMALL)}", "torch", "triton", "pandas",
      "plotly", "jinja2", "optuna", "polygon")
"""


@pytest.mark.parametrize("commands", [SHOWS, SEARCHES], ids=["shows", "searches"])
def test_a_command_imports_only_what_it_needs(tmp_path, recordings, commands):
    """Help is shown at once; libraries that take seconds are left to the commands that use them."""
    folder, _ = recordings.record("noise")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    process = run(cwd=tmp_path, program=("-c", IMPORTS + commands))
    assert process.code == 0, process.err


PRINTS = """import os, sys
from optimizer.__main__ import main
from optimizer.run import markets
load = markets.load_series

def load_and_print(*arguments, **more):
    print("a library says hello")
    os.system("echo a program says hello")
    os.write(1, b"a library in C says hello\\n")
    return load(*arguments, **more)

markets.load_series = load_and_print
sys.exit(main())
"""


def test_stdout_holds_json_alone(tmp_path, market):
    """Every print of a library ends on stderr."""
    shown = run("data", "show", market, "--json", cwd=tmp_path, program=("-c", PRINTS))
    assert shown.code == 0, shown.err
    assert shown.err.count("says hello") == 3
    assert shown.json["bars"] > 0


def test_a_reader_that_goes_away_is_no_error(tmp_path, market):
    """The command ends as one whose pipe was closed, without a traceback."""
    with start("data", "show", market, "--json", cwd=tmp_path) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, "")


def await_line(process, beginning):
    """Read stderr until a line begins so."""
    for line in process.stderr:
        if line.startswith(beginning):
            return
    raise AssertionError(f"the process ended without a line '{beginning}'")


def finish(process):
    """Wait for a process to end; it must not go on with a search that would take minutes."""
    out, err = process.communicate(timeout=60)
    return Outcome(process.returncode, out or "", err)


def check_can_resume(folder, outcome, is_at_once):
    """The process stopped, its record is whole, and its last line is the way to go on."""
    assert (outcome.code, outcome.out) == (130, "")
    (summary,) = list_runs(folder / "runs")
    with RunStore.open(summary.path) as store:
        assert store.verify() == []
    last = outcome.err.splitlines()[-1]
    if not is_at_once:
        assert last.startswith(f"stopped after generation {summary.generations - 1};")
    assert last.endswith(f"{GO_ON}{summary.path.relative_to(folder)}")


def test_one_signal_stops_after_the_generation(tmp_path, market):
    """Everything until then is recorded, and the run goes on from there."""
    with start("evolve", "--data", market, *ENDLESS, cwd=tmp_path) as process:
        await_line(process, "generation ")
        process.send_signal(signal.SIGTERM)
        check_can_resume(tmp_path, finish(process), is_at_once=False)


def test_two_signals_leave_a_run_that_can_resume(tmp_path, market):
    """Whatever the second one finds the command at, the record is whole."""
    with start("evolve", "--data", market, *ENDLESS, cwd=tmp_path) as process:
        await_line(process, "generation ")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        check_can_resume(tmp_path, finish(process), is_at_once=True)


@pytest.mark.parametrize("where", ["command", "library"])
def test_the_first_answer_is_told_whenever_a_second_signal_comes(command, monkeypatch, where):
    """While the command ends, or while the command line's library takes its answer."""
    app = program.app

    def stop(*_, **__):
        try:
            raise StoppedError("stopped; go on with: this")
        finally:
            if where == "command":
                raise KeyboardInterrupt

    def interrupted(*arguments, **more):
        try:
            return app(*arguments, **more)
        except StoppedError:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("optimizer.run.runner.start_run", stop)
    monkeypatch.setattr(program, "app", interrupted if where == "library" else app)
    outcome = command("evolve", "--quiet")
    assert (outcome.code, outcome.err.splitlines()[-1]) == (130, "stopped; go on with: this")


STUCK = """
import os

from strategy.words import *


@indicator(warm_up=lambda n: n)
def stuck(bars, n):
    os.write(2, b"began\\n")
    while True: pass


STUCK = strategy("Waits.", long=close > stuck(length("n", 20, 5, 50)), stop=share(0.01))
"""

LIMITED = """
import sys
from strategy import limits
from optimizer.__main__ import main
limits.LONGEST_S = {}
sys.exit(main())
"""

ENDS = {
    "the limit": (1.0, None, 2, "error: stuck(20) took longer than 1 seconds on 21 bars"),
    "a signal": (120.0, signal.SIGTERM, 130, "stopped\n"),
}
"""Limit in seconds, signal, exit code, and how the line begins."""


@pytest.mark.parametrize("end", ENDS)
def test_an_endless_loop_ends_in_one_line(tmp_path, end):
    """With function, place and the seconds that it had, or as stopped."""
    limit, stop, code, line = ENDS[end]
    (tmp_path / "stuck.py").write_text(STUCK)
    words, program = ("evolve", "--strategy", "stuck.py"), ("-c", LIMITED.format(limit))
    with start(*words, cwd=tmp_path, program=program) as process:
        assert "began\n" in iter(process.stderr.readline, "")
        if stop:
            process.send_signal(stop)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, len(err.splitlines())) == (code, "", 1), err
    assert err.startswith(line)
    assert stop or "stuck.py:10" in err
