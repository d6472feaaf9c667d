"""Streams of a command: JSON alone on stdout, and a stderr that ends nothing where it is full."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_KEPT: ContextVar[TextIO | None] = ContextVar("stdout", default=None)
"""Our own output while other words go elsewhere."""


class _Spoken(io.FileIO):
    """Stderr; words that a full disk does not take are dropped."""

    def write(self, words: "ReadableBuffer", /) -> int:
        """Write, or forget."""
        try:
            return super().write(words)
        except OSError as error:
            # Only here: without an error none of it is needed.
            from data.errors import is_full_disk

            if not is_full_disk(error):
                raise
            return memoryview(words).nbytes


def prepare_streams(*, is_ours: bool) -> None:
    """Let no terminal, no full disk under stderr and no closed stream end a command.

    With `is_ours` the process is this program's, and its stderr may be replaced.
    """
    for name in ("stdout", "stderr"):
        # Else the next file that is opened gets the descriptor, and what is meant for a person.
        stream: TextIO = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if is_ours and stream is sys.__stderr__:
            raw = io.BufferedWriter(_Spoken(2, "w", closefd=False))
            stream = io.TextIOWrapper(raw, encoding=stream.encoding, line_buffering=True)
        if isinstance(stream, io.TextIOWrapper):
            # A terminal may lack a sign.
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def find_own_stdout() -> TextIO:
    """The stream of results, also while other words are led elsewhere."""
    return _KEPT.get() or sys.stdout


@contextlib.contextmanager
def keep_for_json(is_kept: bool) -> Iterator[None]:
    """Keep stdout for `print_json` alone: whatever else is printed goes to stderr.

    Libraries print where they like, those in C past Python's streams, so the descriptor is led
    elsewhere too.
    """
    original = sys.stdout
    if not is_kept:
        yield
        return
    original.flush()
    kept = original
    is_first = _is_stdout(original)
    if is_first:
        kept = open(os.dup(1), "w", encoding=original.encoding, errors=original.errors)  # noqa: SIM115
        os.dup2(2, 1)
    token = _KEPT.set(kept)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = original
        _KEPT.reset(token)
        if is_first:
            os.dup2(kept.fileno(), 1)
            # What could not be written was an error of the body.
            with contextlib.suppress(OSError):
                kept.close()


def _is_stdout(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):
        return False
