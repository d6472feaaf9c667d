"""This process as `strategy.watcher` sees it, beside commands and their workers.

A notebook has none: it would lose what it holds.
"""

import itertools
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress

from strategy import watcher

MAY_BE_ENDED = "OPTIMIZER_MAY_BE_ENDED"
"""In the environment of processes that may be ended: of a command, and so of what it begins."""

LONGEST_CALL = 1000
"""Characters of a call; a line of a pipe that is not too long is written in one piece."""

_KEYS, _LOCK = itertools.count(1), threading.Lock()

_WORDS: dict[int, int] = {}
"""Pipe from each process to its watcher; a copy of a process has one of its own."""


def report_begin(call: str, seconds: float) -> str:
    """Tell that a person's code begins, which may take so long; a key for when it ends."""
    key = str(next(_KEYS))
    shown = "".join(letter if letter.isprintable() else " " for letter in call)
    _tell(f"{key} {seconds:g} {' '.join(shown.split())[:LONGEST_CALL]}")
    return key


def report_end(key: str) -> None:
    """Tell that it ended."""
    _tell(key)


def report_heard() -> None:
    """Tell that Python handles a signal; a process without a watcher needs none for that."""
    # No lock: a handler of signals may run within a block that holds it.
    words = _WORDS.get(os.getpid())
    if words is not None:
        _write(words, watcher.HEARD)


def _tell(line: str) -> None:
    if os.environ.get(MAY_BE_ENDED):
        # Threads that come at once share one watcher: another would not hear that a call ended.
        with _LOCK:
            words = _WORDS.get(os.getpid()) or _begin_watcher()
        _write(words, line)


def _write(words: int, line: str) -> None:
    """Write a line in one piece, waiting for room: signals need a pipe that does not wait."""
    encoded = f"{line}\n".encode()
    # A watcher that has ended needs no lines.
    with suppress(BrokenPipeError):
        while True:
            try:
                os.write(words, encoded)
            except BlockingIOError:
                select.select([], [words], [])
            else:
                return


def _begin_watcher() -> int:
    """Begin the watcher of this process; where to write to it."""
    read_words, words = os.pipe()
    os.set_blocking(words, False)
    # Only the first thread may; it proves a person's code before any other thread runs it.
    with suppress(ValueError):
        signal.set_wakeup_fd(words, warn_on_full_buffer=False)
    command = [sys.executable, "-I", "-S", watcher.__file__, str(os.getpid())]
    began = subprocess.Popen(command, stdin=read_words, stdout=subprocess.DEVNULL)
    # It ends with this process, which does not wait for it.
    began.returncode = 0
    os.close(read_words)
    _WORDS[os.getpid()] = words
    return words
