"""Around every command: log lines for people as notes, and signals that end it at once."""

import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

LOGGERS = ("data.vendor", "engine.compiling.forms", "optimizer.runs.writer")
"""Whose lines a person wants to see."""

COMPILES = "engine.compiling.loops"
"""The log that says when loops are compiled, which is a long silence where nobody says so."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def telling(loggers: Sequence[str], tell: Callable[[str], None]) -> Iterator[None]:
    """Hand on each line of some logs until the context ends."""
    handler = _Teller(tell)
    found = [logging.getLogger(name) for name in loggers]
    before = [logger.level for logger in found]
    for logger in found:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(found, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


class _Teller(logging.Handler):
    """Hands lines on."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on one line."""
        self._tell(record.getMessage())


def stop_now(received: int, frame: FrameType | None) -> None:
    """Handle a signal by ending whatever is going on."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def heard_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Hand signals to a handler, until the context ends; those that are ignored stay so."""
    before = {stop: signal.getsignal(stop) for stop in STOPS}
    heard = [stop for stop in STOPS if before[stop] is not signal.SIG_IGN]
    try:
        for stop in heard:
            signal.signal(stop, handler)
        yield
    finally:
        for stop in heard:
            signal.signal(stop, before[stop])


def note(text: str) -> None:
    """Tell a person something beside the result."""
    sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()
