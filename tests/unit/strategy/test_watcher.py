"""When a process is ended whose compiled code does not return."""

import signal

import pytest

from strategy import watcher
from strategy.watcher import PATIENCE_S, Calls


@pytest.fixture
def calls(monkeypatch):
    """Of a process, at second 100, with a call that began at 99 and may take 50 seconds."""
    now = [99.0]
    monkeypatch.setattr(watcher.time, "monotonic", lambda: now[0])
    found = Calls()
    found.told("1 50 slow(3) (a b.py:7)\n")
    now[0] = 100.0
    return found


def test_a_call_has_its_seconds(calls):
    """The first of several decides, and one that ended no more."""
    calls.told("2 20 other(")
    assert calls.end() == (149.0, "error: slow(3) (a b.py:7) took longer than 50 seconds")
    calls.told("4) (b.py:1)\n")
    assert calls.end() == (120.0, "error: other(4) (b.py:1) took longer than 20 seconds")
    calls.told("2\n1\n")
    assert calls.end() is None


def test_a_signal_that_is_not_heard_ends_a_call_soon(calls):
    """Other signals do not."""
    calls.asked(bytes([signal.SIGWINCH]))
    assert calls.end()[0] == 149.0
    calls.asked(bytes([signal.SIGWINCH, signal.SIGINT]))
    assert calls.end() == (100.0 + PATIENCE_S, "stopped in slow(3) (a b.py:7)")


@pytest.mark.parametrize("line", ["\n", "2\n"])
def test_python_that_goes_on_hears_signals(calls, line):
    """It says so while a call runs, and when one ended."""
    calls.told("2 50 other(4) (b.py:1)\n")
    calls.asked(bytes([signal.SIGTERM]))
    calls.told(line)
    assert calls.end()[0] == 149.0


def test_without_a_call_nobody_is_ended(calls):
    """Other work may take as long as it likes."""
    calls.told("1\n")
    calls.asked(bytes([signal.SIGHUP]))
    assert calls.end() is None
