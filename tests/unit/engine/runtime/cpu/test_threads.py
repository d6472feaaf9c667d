"""Threads that share one piece of work."""

import threading

import pytest

from engine.runtime.cpu.threads import Threads


def test_an_error_of_any_thread_is_the_callers():
    """What another thread raises is not lost."""

    def work(number):
        if number == 1:
            raise ValueError("of thread 1")

    with pytest.raises(ValueError, match="of thread 1"):
        Threads(2).run(work, 2)


def test_no_call_begins_while_a_thread_is_left():
    """A caller that was interrupted leaves a thread, which ends before the next work begins."""
    threads, may_end, ended = Threads(2), threading.Event(), []

    def interrupt(number):
        if number == 0:
            raise KeyboardInterrupt
        may_end.wait(10)
        ended.append("first")

    with pytest.raises(KeyboardInterrupt):
        threads.run(interrupt, 2)
    threading.Timer(0.05, may_end.set).start()
    threads.run(lambda number: ended.append("second"), 1)
    assert ended == ["first", "second"]
