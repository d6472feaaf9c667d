"""What a process tells the program beside it, and that there is one."""

import os
import threading
import time

import pytest

from strategy import watched


@pytest.fixture
def begun(monkeypatch):
    """The commands of watchers that were begun, of a process that may be ended."""
    commands = []

    class Program:
        def __init__(self, command, **_):
            time.sleep(0.05)
            commands.append(command)

    monkeypatch.setattr(watched.subprocess, "Popen", Program)
    monkeypatch.setattr(watched.signal, "set_wakeup_fd", lambda *_, **__: None)
    watched._words_to_watcher.cache_clear()
    yield commands
    watched._words_to_watcher.cache_clear()


def test_threads_that_come_at_once_share_one(begun, monkeypatch):
    """Another would not hear that a call ended, and end the process."""
    monkeypatch.setenv(watched.MAY_BE_ENDED, "1")
    threads = [threading.Thread(target=watched.report_alive) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    (command,) = begun
    assert command[4] == str(os.getpid())


def test_a_notebook_has_none(begun, monkeypatch):
    """It would lose what it holds."""
    monkeypatch.delenv(watched.MAY_BE_ENDED, raising=False)
    watched.report_end(watched.report_begin("slow(3)", 1.0))
    assert begun == []
