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
"""Line of a process once Python handles a signal."""

MESSAGE = re.compile(rb"[\x00-\x09\x0b-\x1f]|[^\x00-\x1f]*\n")
"""The number of a signal, which the system writes, or a line of the process."""


class Calls:
    """Calls of a person's code that run in a process, and whether it was asked to stop."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[float, float, str]] = {}
        self._asked_at: float | None = None
        self._rest, self._now = b"", 0.0

    def advance_clock(self, seconds: float) -> None:
        """Count seconds in which the process ran."""
        self._now += seconds

    def handle(self, data: bytes) -> None:
        """Take signals and lines, of which the last may be cut short; see `watch`."""
        data = self._rest + data
        end = 0
        for match in MESSAGE.finditer(data):
            end = match.end()
            self._handle_one(match[0])
        self._rest = data[end:]

    def _handle_one(self, message: bytes) -> None:
        """Take a signal or a line."""
        if message[0] in STOPS:
            self._asked_at = self._now
            return
        key, _, rest = message.decode().rstrip("\n").partition(" ")
        seconds, _, call = rest.partition(" ")
        if call:
            self._running[key] = (self._now, float(seconds), call)
        elif key == HEARD:
            self._asked_at = None
        else:
            self._running.pop(key, None)

    def end(self) -> tuple[float, str] | None:
        """Seconds until the process is to be ended, and the reason; None if nothing runs."""
        ends = [
            (began + seconds, f"error: {call} took longer than {seconds:g} seconds")
            for began, seconds, call in self._running.values()
        ]
        if self._asked_at is not None:
            until = self._asked_at + PATIENCE_S
            ends += [(until, f"stopped in {call}") for _, _, call in self._running.values()]
        until, reason = min(ends, default=(0.0, ""))
        return (until - self._now, reason) if reason else None


def watch(process: int, words: int) -> None:
    """Follow a process until it is over, or end it.

    Signals and lines come in one pipe: from two the order of both would be lost.

    Args:
        process: Its number; it began this one.
        words: Descriptor of its lines: ``KEY SECONDS CALL`` where a person's code begins, which may
            take so long, ``KEY`` where it ended, `HEARD` where Python handles a signal; and where
            the system writes a byte for each signal that the process gets.
    """
    calls = Calls()
    while True:
        left, reason = calls.end() or (None, "")
        if left is not None and left <= 0:
            _end(process, f"{reason}: compiled code, which Python cannot interrupt")
            return
        pause, began = None if left is None else min(left, STEP_S), time.monotonic()
        ready = select.select([words], [], [], pause)[0]
        # Longer, and both were stopped, as by Ctrl-Z.
        calls.advance_clock(min(time.monotonic() - began, 2 * STEP_S))
        if ready:
            data = os.read(words, 1 << 16)
            if not data:
                return
            calls.handle(data)


def _end(process: int, reason: str) -> None:
    """End a process, and write the reason."""
    with suppress(OSError):
        os.write(2, (f"\n{SHOW_CURSOR}{reason}\n" if os.isatty(2) else f"{reason}\n").encode())
    if os.getppid() == process:
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    watch(int(sys.argv[1]), sys.stdin.fileno())
