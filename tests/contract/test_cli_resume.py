"""Going on with a run, however it ended: by a signal, a lost device, whatever came since."""

import shlex
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.devices import why_absent
from optimizer import __main__ as program
from optimizer.errors import StoppedError, StoreError
from optimizer.run import record as record_module
from optimizer.store import RunStore, list_runs
from tests.support.commands import SMALL, Outcome, run, start
from tests.support.hostile import change, flip, interrupt
from tests.support.losing import pretend

pytestmark = pytest.mark.slow

NEWEST = 2
MARKET = ("--data", "csv:bars.csv")
RESUME = ("evolve", "--resume", "latest", *SMALL[-2:])


@pytest.fixture
def broken(path):
    """The same folder as if it had been stopped before its certificate."""
    interrupt(path)
    return path


def dump(path):
    """All that a run's tables hold."""
    with closing(sqlite3.connect(path / "run.sqlite")) as database:
        return list(database.iterdump())


def test_a_finished_run_is_shown_and_not_touched(command, held_out, path):
    """The stored result, exit code 0, and nothing of the record changes."""
    before = dump(path)
    again = command.succeed("evolve", "--resume", held_out["run"], "--json")
    # It was judged once more, in its own time.
    judged = {"resumed": "already finished", "judgement_s": again.json["judgement_s"]}
    assert again.json == {**held_out, **judged}
    assert dump(path) == before


def test_latest_is_the_run_that_was_begun_last(command, held_out, path):
    """Its result; another run begins and ends while the one before is owned."""
    interrupt(path)
    with RunStore.open(path, writable=True):
        other = command("evolve", *MARKET, *SMALL, "--seed", "2", "--json").json
    assert command(*RESUME, "--json").json["run"] == other["run"] != held_out["run"]


def test_how_it_is_computed_may_change(command, held_out, broken, monkeypatch):
    """Threads, memory, device and other libraries are free; the front is the same."""
    real = record_module.versions
    monkeypatch.setattr(record_module, "versions", lambda: {**real(), "numpy": "99.0"})
    again = command(*RESUME, "--threads", "1", "--memory", "4MB", "--json").json
    assert again["front_hash"] == held_out["front_hash"]
    with RunStore.open(broken) as store:
        assert any("numpy" in line for note in store.resumptions for line in note["differences"])


def test_a_second_owner_is_refused_and_the_first_is_named(command, broken):
    """At once, by process; reading goes on."""
    with RunStore.open(broken, writable=True):
        outcome = command(*RESUME, "--json")
        assert (outcome.code, outcome.out, "process" in outcome.error) == (4, "", True)
        assert command("runs", "show", "latest").code == 0
        assert command("runs", "list", "--json").json[0]["status"] == "running"
    assert command(*RESUME, "--json").code == 0


DAMAGES = {
    "flipped": (lambda path: flip(path, NEWEST), 1, True),
    "gone": (lambda path: change(path, "DELETE FROM record WHERE name='2'"), 1, True),
    "two": (lambda path: (flip(path, NEWEST), flip(path, NEWEST - 1)), 0, False),
}


@pytest.mark.parametrize(("damage", "newest", "is_finished"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_newest_generation_is_made_again(
    command, held_out, path, damage, newest, is_finished
):
    """From the newest sound one, which is named; the front is that of before."""
    if not is_finished:
        interrupt(path)
    damage(path)
    assert command("runs", "verify", "latest").code == 4
    outcome = command.succeed(*RESUME, "--json", "--quiet")
    assert f"going on from generation {newest}" in outcome.err
    assert all(line.startswith(("note: ", "report ")) for line in outcome.err.splitlines())
    assert outcome.json["front_hash"] == held_out["front_hash"]
    assert command("runs", "verify", "latest").code == 4


def test_evidence_stays_with_the_front_that_is_found_again(command, noise):
    """After a longer search it counts no more, which is said: the judged front is another one."""
    flip(noise["path"], NEWEST)
    assert "of evidence on it stay" in command(*RESUME).err
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert (shown["front_hash"], shown["judgement"]) == (noise["front_hash"], noise["judgement"])
    outcome = command(*RESUME, "--generations", str(NEWEST + 1))
    assert "earlier result no longer count" in outcome.err
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["judgement"] != noise["judgement"]


def test_a_run_that_cannot_be_recorded_names_the_way_to_resume(command, monkeypatch, market):
    """Generations before the failure are kept; the command that is named goes on to the end."""
    record = RunStore.record

    def failing(store, generation):
        if generation.number == 1:
            raise StoreError("run.sqlite could not be written: needed 9 bytes, 1 are free there")
        record(store, generation)

    search = ("evolve", "--data", market, *SMALL, "--json", "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(RunStore, "record", failing)
        outcome = command(*search)
    assert (outcome.code, outcome.out) == (4, "")
    assert "needed 9 bytes, 1 are free there; " in outcome.error
    resumed = outcome.error.split("python -m optimizer ")[1].split()
    expected = command(*search).json["front_hash"]
    assert command(*resumed, "--json").json["front_hash"] == expected


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
check("--help", "numba", "pyarrow", "deap", "moocore")
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


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_signals_leave_a_run_that_can_resume(tmp_path, market, signals):
    """One stops it after its generation; whatever a second one finds, the record is whole."""
    with start("evolve", "--data", market, *ENDLESS, cwd=tmp_path) as process:
        await_line(process, "generation ")
        for each in signals:
            process.send_signal(each)
        check_can_resume(tmp_path, finish(process), is_at_once=len(signals) > 1)


@pytest.mark.parametrize("where", ["search", "command", "library"])
def test_the_first_answer_is_told_whenever_a_second_signal_comes(command, monkeypatch, where):
    """While a search ends, while its command does, or while a library takes the answer."""
    app = program.app

    def stop(*_, **__):
        stopped = StoppedError("stopped; go on with: this")
        if where == "search":
            program.STOPPED.set()
            raise RuntimeError("what a class that is made turns a signal into")
        try:
            raise stopped
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


SEARCH = ("--population", "16", "--generations", "6", "--min-trades", "3", "--no-report")
CUDA = ("evolve", "--data", "csv:bars.csv", *SEARCH, "--device", "cuda", "--quiet")
LOST = "the GPU failed (injected): a new process may use it, --device cpu does without"
RESUMED, JUDGE = "evolve --resume", "judge"

LOSSES = {
    "while a person stops it": ("stop:4", 2, RESUMED),
    "while it is certified": ("ledgers:1", 6, RESUMED),
    "while it is judged": ("evaluate:12", 6, JUDGE),
}
"""When a device is lost, the newest generation on disk then, and the command that goes on."""


@pytest.fixture
def undisturbed(command, recordings):
    """The result of a search that no device disturbed, whose bars lie here."""
    return recordings.copy(*SEARCH)


def read_sound(path):
    """Number of a run's newest generation and hash of its front, None without them."""
    with RunStore.open(path) as store:
        assert store.verify() == []
        newest, result = store.last_generation(), store.result
        return newest and newest.number, result and result["front_hash"]


@pytest.mark.parametrize("when", LOSSES)
def test_a_lost_device_costs_no_bit(when, command, undisturbed, monkeypatch):
    """What was recorded is whole, and without the GPU the named command comes to the same."""
    plan, newest, goes_on = LOSSES[when]
    with monkeypatch.context() as patch:
        pretend(plan, patch.setattr)
        outcome = command(*CUDA)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.error.startswith(f"{LOST}; ")
    named = shlex.split(outcome.error.partition(" go on with: python -m optimizer ")[2])
    assert " ".join(named).startswith(f"{goes_on} runs/")
    path = next(Path(word) for word in named if word.startswith("runs/"))
    judged = undisturbed["front_hash"] if goes_on == JUDGE else None
    assert read_sound(path) == (newest, judged)
    for words in ([*RESUMED.split(), path], named):
        again = command.succeed(*words, "--device", "cpu", "--quiet", "--json")
        for part in ("pick", "robust", "verdict"):
            assert again.json["judgement"][part] == undisturbed["judgement"][part]
    assert read_sound(path) == (6, undisturbed["front_hash"])


def test_a_device_that_never_starts_leaves_no_run(command, undisturbed, monkeypatch):
    """There is nothing to resume, and no note of it."""
    with monkeypatch.context() as patch:
        pretend("start", patch.setattr)
        outcome = command(*CUDA, "--runs", "others")
    assert (outcome.code, outcome.out, outcome.error) == (5, "", LOST)
    assert not Path("others").exists()


GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}"),
]


@pytest.mark.parametrize(
    ("plan", "reason", "device"),
    [
        ("hang:4", "did not answer", "cpu"),
        pytest.param("illegal:4", "illegal memory access", "cuda", marks=GPU),
        pytest.param("endless:4", "did not answer", "cuda", marks=GPU),
    ],
)
def test_a_process_with_a_broken_device_ends(plan, reason, device, command, undisturbed, tmp_path):
    """Though nothing that waits for the device returns, also at the exit of its libraries."""
    outcome = run(*CUDA, cwd=tmp_path, program=("-m", "tests.support.losing", plan))
    assert (outcome.code, outcome.out) == (5, "")
    assert reason in outcome.err
    named = shlex.split(outcome.err.partition("go on with: python -m optimizer ")[2])
    assert read_sound(tmp_path / named[-1]) == (2, None)
    again = command(*named, "--device", device, "--json", "--quiet", "--no-judge")
    assert again.json["front_hash"] == undisturbed["front_hash"]
