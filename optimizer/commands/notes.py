"""Lines of the log that are meant for people: on stderr, as notes."""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence

LOGGERS = ("data.vendor", "engine.compiling.forms")
"""Whose lines a person wants to see."""


@contextlib.contextmanager
def telling(loggers: Sequence[str], tell: Callable[[str], None]) -> Iterator[None]:
    """Hand on each line of some logs until the context ends.

    Args:
        loggers: Their names.
        tell: What to do with a line.
    """
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


@contextlib.contextmanager
def showing_notes() -> Iterator[None]:
    """Show what people want to see until the context ends."""
    with telling(LOGGERS, _note):
        yield


def _note(text: str) -> None:
    sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()


class _Teller(logging.Handler):
    """Hands lines on.

    Args:
        tell: What to do with a line.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on one line."""
        self._tell(record.getMessage())
