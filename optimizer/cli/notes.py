"""Around every command: log lines as notes, signals that end it at once, and its streams."""

import contextlib
import io
import logging
import os
import re
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from optimizer.printable import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LOGGERS = ("data", "engine", "optimizer")
"""Whose lines a person wants to see."""

QUOTED = r"""\$?'[^']*'(?:"'"'[^']*')*"""
"""A word as `data.shell.quote_word` quotes it."""

COMMAND = re.compile(
    r"python -m optimizer \w+(?: (?:latest|show|list|new|check|source|tag|verify|fetch|OTHER|WORD"
    rf"|-\S+|{QUOTED}|\S*[\d/.]\S*))*|(?<![^\s(=]){QUOTED}"
)
"""A command to copy in a line for people: words, flags, and names with a digit, a dot or quotes."""

UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h|R|bp|[KMG]B)\b)")
"""The blank between a number and its unit."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

SENT_AGAIN_S = 0.01
"""Seconds until a signal is sent again that Python dropped, or would drop."""


@contextlib.contextmanager
def relay_logs() -> Iterator[None]:
    """Show each line of our logs as a note until the context ends."""
    handler = _Notes()
    watched = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in watched]
    for logger in watched:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(watched, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


class _Notes(logging.Handler):
    """Shows lines as notes; marked ones only once."""

    def __init__(self) -> None:
        super().__init__()
        self._shown_lines: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one line."""
        line = record.getMessage()
        if not (hasattr(record, "is_once") and line in self._shown_lines):
            note(line)
        self._shown_lines.add(line)


STOPPED = threading.Event()
"""Set once a signal has ended something: an error that follows may be what a library made of it."""


def stop_now(received: int, frame: FrameType | None) -> None:
    """Handle a signal by ending whatever is going on."""
    STOPPED.set()
    raise KeyboardInterrupt


def _is_compiling(frame: FrameType | None) -> bool:
    """True if the compiler of loops runs, which drops errors that are raised while it calls Python.

    The loop would be half there, and end the process when it is called.
    """
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("llvmlite."):
        frame = frame.f_back
    return frame is not None


def _send_again(
    stop: int, is_over: threading.Event, is_early: Callable[[], bool] = lambda: False
) -> None:
    """Send a signal to the main thread a little later, once it is not early, unless all is over."""

    def send() -> None:
        while is_early():
            time.sleep(SENT_AGAIN_S)
        if not is_over.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, stop)

    timer = threading.Timer(SENT_AGAIN_S, send)
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Hand signals to a handler, until the context ends; ignored ones stay so."""
    before = {stop: signal.getsignal(stop) for stop in STOPS}
    heard = [stop for stop in STOPS if before[stop] is not signal.SIG_IGN]
    is_over = threading.Event()

    def handle(received: int, frame: FrameType | None) -> None:
        if _is_compiling(frame):
            _send_again(received, is_over)
        else:
            handler(received, frame)

    try:
        for stop in heard:
            signal.signal(stop, handle)
        yield
    finally:
        is_over.set()
        for stop in heard:
            signal.signal(stop, before[stop])


@contextlib.contextmanager
def interrupt_again() -> Iterator[None]:
    """Interrupt once more after an interruption while Python freed an object.

    Python prints an error there and goes on, so that Ctrl-C would be lost.
    """
    hook = sys.unraisablehook
    is_over = threading.Event()

    def is_handling() -> bool:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and frame.f_code is not handle_unraisable.__code__:
            frame = frame.f_back
        return frame is not None

    def handle_unraisable(what: "sys.UnraisableHookArgs") -> None:
        if not issubclass(what.exc_type, KeyboardInterrupt):
            hook(what)
            return
        heard = [stop for stop in STOPS if signal.getsignal(stop) is not signal.SIG_IGN]
        if heard:
            # What is raised before this returns is printed and dropped as well.
            _send_again(heard[0], is_over, is_handling)

    sys.unraisablehook = handle_unraisable
    try:
        yield
    finally:
        is_over.set()
        sys.unraisablehook = hook


def note(*texts: str) -> None:
    """Tell a person something beside the result, a line each."""
    for text in texts:
        tell(f"note: {text}")


def tell(text: str) -> None:
    """Print a line on stderr; in a terminal no word of it is broken."""
    if sys.stderr.isatty():
        text = wrap_text(text, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def wrap_text(text: str, width: int) -> str:
    """Lines of whole words; a command to copy and a number with its unit stay whole.

    >>> print(wrap_text("it takes about 27 s", 18))
    it takes about
      27 s
    """
    whole = UNIT.sub("\0", COMMAND.sub(lambda match: match[0].replace(" ", "\0"), text))
    lines = []
    for line in whole.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines).replace("\0", " ")


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
