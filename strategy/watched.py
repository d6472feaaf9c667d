"""This process as `strategy.watcher` sees it, beside commands and their workers.

A notebook has none: it would lose what it holds.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache

from strategy import watcher

MAY_BE_ENDED = "OPTIMIZER_MAY_BE_ENDED"
"""In the environment of processes that may be ended: of a command, and so of what it begins."""

LONGEST_CALL = 1000
"""Characters of a call; a line of a pipe that is not too long is written in one piece."""

_KEYS, _LOCK = itertools.count(1), threading.Lock()


def report_begin(call: str, seconds: float) -> str:
    """Tell that a person's code begins, which may take so long; a key for when it ends."""
    key = str(next(_KEYS))
    _tell(f"{key} {seconds:g} {' '.join(call.split())[:LONGEST_CALL]}")
    return key


def report_end(key: str) -> None:
    """Tell that it ended."""
    _tell(key)


def report_alive() -> None:
    """Tell that Python runs, and hears signals."""
    _tell("")


def _tell(line: str) -> None:
    if os.environ.get(MAY_BE_ENDED):
        # Threads that come at once share one watcher: another would not hear that a call ended.
        with _LOCK:
            words = _words_to_watcher(os.getpid())
        # Who is not there any more needs no words.
        with suppress(OSError):
            os.write(words, f"{line}\n".encode())


@cache
def _words_to_watcher(process: int) -> int:
    """Begin the watcher of this process; where to write to it."""
    read_signals, signals = os.pipe()
    read_words, words = os.pipe()
    os.set_blocking(signals, False)
    # Only the first thread may; it proves a person's code before any other thread runs it.
    with suppress(ValueError):
        signal.set_wakeup_fd(signals, warn_on_full_buffer=False)
    command = [sys.executable, "-I", "-S", watcher.__file__, str(process), str(read_signals)]
    began = subprocess.Popen(
        command, stdin=read_words, stdout=subprocess.DEVNULL, pass_fds=[read_signals]
    )
    # It ends with this process; nobody waits for it.
    began.returncode = 0
    os.close(read_signals)
    os.close(read_words)
    return words
