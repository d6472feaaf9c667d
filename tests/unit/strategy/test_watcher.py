"""When a process is ended whose compiled code does not return."""

import signal

import pytest

from strategy.watcher import PATIENCE_S, Calls


@pytest.fixture
def calls():
    """Of a process, with a call that began a second ago and may take 50."""
    counted = Calls()
    counted.advance_clock(7.0)
    counted.handle(b"1 50 slow(3) (a b.py:7)\n")
    counted.advance_clock(1.0)
    return counted


def test_a_call_has_its_seconds(calls):
    """The first of several decides, and one that ended no more."""
    calls.handle(b"2 20 other(")
    assert calls.end() == (49.0, "error: slow(3) (a b.py:7) took longer than 50 seconds")
    calls.handle(b"4) (b.py:1)\n")
    assert calls.end() == (20.0, "error: other(4) (b.py:1) took longer than 20 seconds")
    calls.handle(b"2\n1\n")
    assert calls.end() is None


def test_a_signal_that_is_not_heard_ends_a_call_soon(calls):
    """Other signals do not."""
    calls.handle(bytes([signal.SIGWINCH]))
    assert calls.end()[0] == 49.0
    calls.handle(bytes([signal.SIGWINCH, signal.SIGINT]))
    calls.advance_clock(2.0)
    assert calls.end() == (PATIENCE_S - 2.0, "stopped in slow(3) (a b.py:7)")


def test_python_that_hears_a_signal_says_so(calls):
    """A call of before proves nothing: the signal may come while its end is being sent."""
    calls.handle(b"2 50 other(4) (b.py:1)\n2\n" + bytes([signal.SIGTERM]))
    assert calls.end()[0] == PATIENCE_S
    calls.handle(b"heard\n")
    assert calls.end()[0] == 49.0


def test_a_signal_between_lines_keeps_its_place(calls):
    """What comes at once is taken in order, wherever a look at it cuts."""
    output = b"heard\n" + bytes([signal.SIGINT]) + b"3 60 third(5) (c.py:2)\n"
    for cut in range(len(output)):
        taken = Calls()
        taken.handle(output[:cut])
        taken.handle(output[cut:])
        assert taken.end() == (PATIENCE_S, "stopped in third(5) (c.py:2)")


def test_without_a_call_nobody_is_ended(calls):
    """Other work may take as long as it likes."""
    calls.handle(b"1\n")
    calls.handle(bytes([signal.SIGHUP]))
    assert calls.end() is None
