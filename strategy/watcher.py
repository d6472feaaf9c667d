"""A program beside another one, which it ends where a person's compiled code does not return.

While such code runs no Python does: no thread of that process goes on, and no Ctrl-C is heard.
"""

import os
import re
import select
import signal
import sys
import time
from contextlib import suppress

PATIENCE_S = 5.0
"""Seconds in which Python hears a signal, unless compiled code keeps it from that."""

STEP_S = 1.0
"""Seconds that are counted at once while a call runs."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

SHOW_CURSOR = "\x1b[?25h"
"""A live view hides it."""


HEARD = "heard"
"""What a process tells once Python handles a signal."""

TOLD = re.compile(rb"[\x00-\x09\x0b-\x1f]|[^\x00-\x1f]*\n")
"""The number of a signal, which the system writes, or a line of the process."""


class Calls:
    """What a process told: calls of a person's code that run, and whether it was asked to stop."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[float, float, str]] = {}
        self._asked_at: float | None = None
        self._rest, self._now = b"", 0.0

    def advance_clock(self, seconds: float) -> None:
        """Count seconds in which the process ran."""
        self._now += seconds

    def handle(self, told: bytes) -> None:
        """Take signals and lines, of which the last may be cut short; see `watch`."""
        told = self._rest + told
        end = 0
        for found in TOLD.finditer(told):
            end = found.end()
            self._handle_one(found[0])
        self._rest = told[end:]

    def _handle_one(self, told: bytes) -> None:
        """Take a signal or a line."""
        if told[0] in STOPS:
            self._asked_at = self._now
            return
        key, _, rest = told.decode().rstrip("\n").partition(" ")
        seconds, _, call = rest.partition(" ")
        if call:
            self._running[key] = (self._now, float(seconds), call)
        elif key == HEARD:
            self._asked_at = None
        else:
            self._running.pop(key, None)

    def end(self) -> tuple[float, str] | None:
        """In how many seconds the process is to be ended, with what words; None if nothing runs."""
        ends = [
            (began + seconds, f"error: {call} took longer than {seconds:g} seconds")
            for began, seconds, call in self._running.values()
        ]
        if self._asked_at is not None:
            until = self._asked_at + PATIENCE_S
            ends += [(until, f"stopped in {call}") for _, _, call in self._running.values()]
        until, said = min(ends, default=(0.0, ""))
        return (until - self._now, said) if said else None


def watch(process: int, words: int) -> None:
    """Follow a process until it is over, or end it.

    Signals and lines come in one pipe: from two nobody could tell which of them was first.

    Args:
        process: Its number; it began this one.
        words: Where it tells lines: ``KEY SECONDS CALL`` where a person's code begins, which may
            take so long, ``KEY`` where it ended, `HEARD` where Python handles a signal; and where
            the system writes a byte for each signal that the process gets.
    """
    calls = Calls()
    while True:
        left, said = calls.end() or (None, "")
        if left is not None and left <= 0:
            _end(process, f"{said}: compiled code, which Python cannot interrupt")
            return
        pause, began = None if left is None else min(left, STEP_S), time.monotonic()
        ready = select.select([words], [], [], pause)[0]
        # Longer, and both were stopped, as by Ctrl-Z.
        calls.advance_clock(min(time.monotonic() - began, 2 * STEP_S))
        if ready:
            told = os.read(words, 1 << 16)
            if not told:
                return
            calls.handle(told)


def _end(process: int, said: str) -> None:
    """Say why a process is ended, and end it."""
    with suppress(OSError):
        os.write(2, (f"\n{SHOW_CURSOR}{said}\n" if os.isatty(2) else f"{said}\n").encode())
    if os.getppid() == process:
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    watch(int(sys.argv[1]), sys.stdin.fileno())
