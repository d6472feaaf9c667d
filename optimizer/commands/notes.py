"""Lines of the log that are meant for people: on stderr, as notes."""

import contextlib
import logging
import sys
from collections.abc import Iterator

LOGGERS = ("data.vendor",)
"""Whose lines a person wants to see."""


@contextlib.contextmanager
def showing_notes() -> Iterator[None]:
    """Show such lines until the context ends."""
    handler = _ToStderr()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"note: {record.getMessage()}\n")
        sys.stderr.flush()
