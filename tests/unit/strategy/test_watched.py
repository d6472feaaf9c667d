"""Messages of a process to the program beside it, and that there is one."""

import os
import threading
import time

import pytest

from strategy import watched


@pytest.fixture
def begun_watchers(monkeypatch):
    """The commands of watchers that were begun, of a process that may be ended."""
    commands = []

    class Program:
        def __init__(self, command, **_):
            time.sleep(0.05)
            commands.append(command)

    monkeypatch.setattr(watched.subprocess, "Popen", Program)
    monkeypatch.setattr(watched.signal, "set_wakeup_fd", lambda *_, **__: None)
    monkeypatch.setattr(watched, "_WORDS", {})
    return commands


def test_threads_that_come_at_once_share_one(begun_watchers, monkeypatch):
    """Another would not hear that a call ended, and end the process."""
    monkeypatch.setenv(watched.MAY_BE_ENDED, "1")
    threads = [
        threading.Thread(target=watched.report_begin, args=("slow(3)", 1.0)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (command,) = begun_watchers
    assert command[4] == str(os.getpid())


def test_a_notebook_has_none(begun_watchers, monkeypatch):
    """It would lose what it holds."""
    monkeypatch.delenv(watched.MAY_BE_ENDED, raising=False)
    watched.report_end(watched.report_begin("slow(3)", 1.0))
    assert begun_watchers == []


def test_a_pipe_without_room_blocks(monkeypatch):
    """A line that is lost would end the process; what is read comes in order."""
    read, words = os.pipe()
    os.set_blocking(words, False)
    monkeypatch.setattr(watched, "_WORDS", {os.getpid(): words})
    monkeypatch.setenv(watched.MAY_BE_ENDED, "1")
    messages = []

    def read_all():
        with os.fdopen(read, "rb") as lines:
            messages.extend(lines)

    reader = threading.Thread(target=read_all)
    threading.Timer(0.3, reader.start).start()
    for _ in range(20_000):
        watched.report_heard()
        watched.report_end("7")
    os.close(words)
    reader.join()
    assert messages == [b"heard\n", b"7\n"] * 20_000


def test_what_cannot_be_printed_is_no_signal(monkeypatch):
    """A name may hold the character that stands for one."""
    read, words = os.pipe()
    monkeypatch.setattr(watched, "_WORDS", {os.getpid(): words})
    monkeypatch.setenv(watched.MAY_BE_ENDED, "1")
    key = watched.report_begin("slow\x02(3)\n (a\x0fb.py)", 2.0)
    assert os.read(read, 100) == f"{key} 2 slow (3) (a b.py)\n".encode()
    os.close(read)
    os.close(words)
