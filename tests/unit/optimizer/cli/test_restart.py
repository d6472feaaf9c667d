"""When and how a command begins its run anew."""

import os
import sys

import pytest

from engine.errors import DeviceLostError
from optimizer.cli.live import Watcher
from optimizer.cli.restart import MOST_RESTARTS, TRIED, Restart
from optimizer.config.run_config import RunConfig
from optimizer.store import RunStore
from tests.support.recording import HEADER, make_generation

NEW = ["evolve", "--seed", "2", "--on-gpu-loss", "cpu", "--json"]
LOST = DeviceLostError("lost")


class Replaced(BaseException):
    """Stands for the end of this program."""


@pytest.fixture
def programs(monkeypatch):
    """What this process's program was replaced with: arguments and environment."""
    started = []

    def execve(program, arguments, environment):
        started.append((program, arguments, environment))
        raise Replaced

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "dev", "-m", "optimizer", *NEW])
    monkeypatch.setattr(sys, "argv", ["optimizer/__main__.py", *NEW])
    monkeypatch.delenv(TRIED, raising=False)
    return started


def begin_anew(programs, monkeypatch, store=None, **settings):
    """Lose the device once; whether the program was replaced, and the messages."""
    messages = []
    begun = Restart.of_command(NEW, ["--json"], is_resumed=False)
    try:
        begun(RunConfig(**settings), store, LOST, messages.append)
    except Replaced:
        monkeypatch.setenv(TRIED, programs[-1][2].get(TRIED, ""))
        return True, messages
    return False, messages


def test_before_there_is_a_run_the_command_begins_anew(programs, monkeypatch):
    """With the interpreter's own flags, three times, then never."""
    for number in range(1, MOST_RESTARTS + 1):
        is_replaced, message = begin_anew(programs, monkeypatch)
        assert is_replaced
        assert message == [f"note: lost; going on from the start, restart {number} of 3"]
        program, arguments, _ = programs[-1]
        assert program == sys.executable
        assert arguments == [sys.executable, "-X", "dev", "-m", "optimizer", *NEW]
    assert begin_anew(programs, monkeypatch) == (False, [])
    assert len(programs) == MOST_RESTARTS


def test_the_processor_is_the_last_resort(programs, monkeypatch):
    """Once, and with nothing left to count."""
    for _ in range(MOST_RESTARTS):
        begin_anew(programs, monkeypatch, on_gpu_loss="cpu")
    is_replaced, message = begin_anew(programs, monkeypatch, on_gpu_loss="cpu")
    assert (is_replaced, message) == (True, ["note: lost; going on from the start, with the CPU"])
    assert programs[-1][1][-2:] == ["--device", "cpu"]
    assert TRIED not in programs[-1][2]
    begun = Restart(NEW, [], is_resumed=False, failures=MOST_RESTARTS)
    assert begun(RunConfig(on_gpu_loss="cpu", device="cpu"), None, LOST, message.append) is None


def test_a_generation_in_between_begins_the_count_anew(programs, monkeypatch, tmp_path):
    """However often it fails, as long as it gets on."""
    with RunStore.create(tmp_path, "run-1", HEADER) as store:
        store.record(make_generation(0))
        begin_anew(programs, monkeypatch, store)
    for number in range(1, 2 * MOST_RESTARTS):
        with RunStore.open(tmp_path / "run-1", writable=True) as store:
            store.record(make_generation(number))
            is_replaced, message = begin_anew(programs, monkeypatch, store)
        assert is_replaced
        assert message == [f"note: lost; going on after generation {number}, restart 1 of 3"]
    assert programs[-1][1][-4:] == ["evolve", "--resume", str(tmp_path / "run-1"), "--json"]


def test_a_resumed_run_is_named_once(programs):
    """However often it is begun anew."""
    begun = Restart(["evolve", "--resume", "latest"], [], is_resumed=True)
    once = begun.arguments("runs/a")
    assert once == ["evolve", "--resume", "latest", "--resume", "runs/a"]
    assert Restart(once, [], is_resumed=True).arguments("runs/a") == once


def test_a_program_that_cannot_begin_leaves_the_error(monkeypatch, programs):
    """With a note the run ends as it would have."""

    def execve(*arguments):
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "execve", execve)
    is_replaced, message = begin_anew(programs, monkeypatch)
    assert not is_replaced
    assert message[-1].endswith("cannot be started again (No such file or directory)")


@pytest.mark.parametrize("stops", [True, False])
def test_who_asked_to_stop_is_not_begun_anew(stops, monkeypatch):
    """A wish to stop outlives no program, so it counts before."""
    begun = []
    watcher = Watcher(quiet=True, restart=lambda *progress: begun.append(progress[:3]))
    config = RunConfig()
    with watcher.listening():
        watcher._is_stopping = stops
        watcher.device_lost(config, None, LOST)
    assert begun == ([] if stops else [(config, None, LOST)])


def test_a_process_of_others_is_never_replaced(programs):
    """It may not be begun anew."""
    with Watcher(quiet=True).listening() as watcher:
        watcher.device_lost(RunConfig(), None, LOST)
    assert programs == []
