"""Commands as processes: what they import, and how they end by a signal."""

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from optimizer.cli.live import Watcher
from optimizer.store import RunStore, list_runs
from tests.support.commands import SMALL, Outcome, run, start, write_market
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

HEAVY = ("torch", "numba", "pandas", "pyarrow", "deap", "numpy", "rich")
COMPUTES = (
    *("torch", "triton", "numba", "deap", "moocore"),
    *("pandas", "pyarrow", "plotly", "optuna"),
)
"""What a command that only shows what is there has no need of."""

ENDLESS = ("--population", "16", "--generations", "100000", "--min-trades", "3")
QUIETLY = ("--json", "--quiet", "--no-report", "--no-judge")


def finish(process):
    """Wait for a process to end; it must not go on with what would take minutes."""
    out, err = process.communicate(timeout=60)
    return Outcome(process.returncode, out or "", err)


def await_line(process, beginning):
    """Read stderr until a line begins so."""
    for line in process.stderr:
        if line.startswith(beginning):
            return
    raise AssertionError(f"the process ended without a line '{beginning}'")


def test_the_command_line_imports_nothing_heavy():
    """Help is shown at once: libraries are imported by the commands that need them."""
    program = f"import sys, optimizer.__main__; print([n for n in {HEAVY} if n in sys.modules])"
    assert run(cwd=ROOT, program=("-c", program)).out == "[]\n"


@pytest.mark.parametrize(
    ("commands", "unwanted"),
    [
        (
            (
                ("runs", "list"),
                ("runs", "show", "latest"),
                ("runs", "show", "latest", "--member", "0"),
                ("strategies", "list"),
            ),
            COMPUTES,
        ),
        ((("doctor",),), ("torch", "triton", "numba", "pandas", "deap", "moocore")),
        (
            (("evolve", *SMALL, "--device", "cpu"),),
            ("torch", "triton", "pandas", "plotly", "jinja2", "optuna", "polygon"),
        ),
    ],
    ids=["shown", "doctor", "evolve"],
)
def test_a_command_imports_only_what_it_needs(tmp_path, recordings, commands, unwanted):
    """What takes seconds to import is left to the commands that use it."""
    folder, _ = recordings.record(*SMALL)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    program = (
        "import sys; from optimizer.__main__ import main\n"
        f"for arguments in {commands}:\n"
        "    assert main(list(arguments)) == 0, arguments\n"
        f"    assert not [n for n in {unwanted} if n in sys.modules], arguments\n"
    )
    process = run(cwd=tmp_path, program=("-c", program))
    assert process.code == 0, process.err


def test_the_command_line_works_without_a_terminal_or_a_locale(tmp_path, market):
    """In the poorest of environments the same lines come out, in plain characters."""
    named = tmp_path / "m\u00e4rkt \U0001f4c8.csv"
    named.write_bytes(Path(market.removeprefix("csv:")).read_bytes())
    poor = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "TERM": "dumb"}
    outcome = run("evolve", "--data", f"csv:{named}", *SMALL, cwd=tmp_path, env=poor)
    assert outcome.code == 0, outcome.err
    assert "0 mismatches" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    assert "m\\xe4rkt" in outcome.out


def test_a_ledger_goes_to_our_own_output_on_request(command, tmp_path, market):
    """`--trades /dev/stdout` into a file: the ledger, then the metrics; nothing is replaced."""
    named = ("backtest", "--data", market, "--set", "vol_z_min=0.5", "--trades")
    assert command(*named, "ledger.csv").code == 0
    with open(tmp_path / "all.txt", "w") as output:
        assert run(*named, "/dev/stdout", cwd=tmp_path, stdout=output).code == 0
    ledger = (tmp_path / "ledger.csv").read_bytes()
    assert len(ledger.splitlines()) > 2
    written = (tmp_path / "all.txt").read_bytes()
    assert written.startswith(ledger)
    assert b"Metrics" in written
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize(
    "stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda stop: stop.name
)
def test_one_signal_stops_after_the_generation(command, tmp_path, market, stop):
    """What was found is recorded, and the last line names the way to go on; nothing on stdout."""
    if signal.getsignal(stop) is signal.SIG_IGN:
        pytest.skip("this process ignores it, as under nohup, and so does what it starts")
    with start("evolve", "--data", market, *ENDLESS, cwd=tmp_path) as process:
        await_line(process, "generation ")
        process.send_signal(stop)
        outcome = finish(process)
    assert outcome.code == 130
    assert outcome.out == ""
    (summary,) = list_runs(tmp_path / "runs")
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"stopped after generation {summary.generations - 1}; ")
    assert last.endswith(
        f"go on with: python -m optimizer evolve --resume {summary.path.relative_to(tmp_path)}"
    )
    with RunStore.open(summary.path) as store:
        assert store.verify() == []
    longer = ("--generations", str(summary.generations + 1))
    assert command("evolve", "--resume", "latest", *longer, "--no-report", "--no-judge").code == 0


def test_two_signals_leave_a_run_that_can_resume(tmp_path, market):
    """Whatever the second one finds the command at, the record is whole."""
    with start("evolve", "--data", market, *ENDLESS, cwd=tmp_path) as process:
        await_line(process, "generation ")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        outcome = finish(process)
    assert (outcome.code, outcome.out) == (130, "")
    assert "go on with: python -m optimizer evolve --resume" in outcome.err
    (summary,) = list_runs(tmp_path / "runs")
    with RunStore.open(summary.path) as store:
        assert store.verify() == []


def test_a_second_signal_while_a_run_is_closed_keeps_the_way_on(command, market, monkeypatch):
    """It comes when the search has answered the first one and lets its record go."""
    told, close = Watcher.generation, RunStore.close

    def tell_then_stop(watcher, progress):
        told(watcher, progress)
        signal.raise_signal(signal.SIGINT)

    def close_and_stop(store):
        close(store)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Watcher, "generation", tell_then_stop)
    monkeypatch.setattr(RunStore, "close", close_and_stop)
    outcome = command("evolve", "--data", market, *ENDLESS)
    assert outcome.code == 130
    last = outcome.err.splitlines()[-1]
    assert "go on with: python -m optimizer evolve --resume" in last


def test_a_signal_while_certifying_stops_at_once(tmp_path):
    """The threads of the reference end too, and the run can go on."""
    spec = write_market(tmp_path / "long.csv", 200_000)
    many = ("--population", "200", "--generations", "0", "--min-trades", "3", "--objectives")
    goals = "sharpe,total_return,max_drawdown,trades,win_rate,exposure"
    with start("evolve", "--data", spec, *many, goals, cwd=tmp_path) as process:
        await_line(process, "replaying ")
        process.send_signal(signal.SIGINT)
        outcome = finish(process)
    assert outcome.code == 130
    assert "stopped at once; what was recorded is kept, go on with: " in outcome.err
    (summary,) = list_runs(tmp_path / "runs")
    assert (summary.status, summary.generations) == ("interrupted", 1)


@pytest.mark.timeout(1200)
def test_a_run_that_is_killed_again_and_again_finds_the_same_front(tmp_path, market, kills):
    """Killed at random moments and gone on with, a run ends with the hash of an unbroken one."""
    dice = random.Random(1)
    size = ("--data", market, "--population", "16", "--generations", "250", "--min-trades", "3")
    killed = seed = 0
    while killed < kills:
        seed += 1
        began = time.monotonic()
        expected = run(
            "evolve", *size, "--seed", seed, *QUIETLY, "--runs", f"whole{seed}", cwd=tmp_path
        ).json
        longest = time.monotonic() - began
        runs = f"broken{seed}"
        while True:
            begun = list_runs(tmp_path / runs)
            resumed = ("--resume", "latest") if begun else (*size, "--seed", seed)
            arguments = ("evolve", *resumed, *QUIETLY, "--runs", runs)
            # Once there were enough kills, whatever was begun is gone on with to its end.
            patience = dice.uniform(0.5, longest) if killed < kills else None
            with start(*arguments, cwd=tmp_path) as process:
                try:
                    out, err = process.communicate(timeout=patience)
                except subprocess.TimeoutExpired:
                    process.kill()
                    killed += 1
                    continue
            assert process.returncode == 0, err
            break
        assert Outcome(0, out, err).json["front_hash"] == expected["front_hash"]
