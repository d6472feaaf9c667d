"""Limits for a person's code: an endless loop ends, and the process stays in its folder."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_S = 120.0
"""Seconds that a person's own code may take at once."""

AGAIN_S = 1.0
"""Seconds until the next interruption, where a bare `except:` held one back."""

_LOCK, _FOLDERS = threading.Lock(), list[str]()
"""Folders to go back to, one for each block of `own_code` that runs."""


class TooLongError(BaseException):
    """A person's code took too long; no `except Exception` of its own holds this back."""


@contextmanager
def own_code() -> Iterator[None]:
    """Run a person's own code: for `LONGEST_S` at most, and in this folder again afterwards.

    Raises:
        TooLongError: Inside this block, as `time_limit`.
    """
    with _LOCK:
        # A process has one folder: while others run, it is where the first of them began.
        _FOLDERS.append(_FOLDERS[0] if _FOLDERS else os.getcwd())
    try:
        with time_limit(LONGEST_S):
            yield
    finally:
        with _LOCK:
            # Paths of a run may be relative.
            os.chdir(_FOLDERS.pop())


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` inside this block, in this thread, once it has taken so long.

    It ends Python's own loops; compiled code that never returns holds it back.
    """
    lock, is_done = threading.Lock(), threading.Event()

    def interrupt(thread: int) -> None:
        # Steps are counted: a process that is stopped, as by Ctrl-Z, has the rest of its time.
        left = seconds
        while not is_done.wait(pause := min(AGAIN_S, left)):
            left -= pause
            if left > 0:
                continue
            with lock:
                if not is_done.is_set():
                    error = ctypes.py_object(TooLongError)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
            left = AGAIN_S

    threading.Thread(target=interrupt, args=(threading.get_ident(),), daemon=True).start()
    try:
        try:
            yield
        finally:
            with lock:
                is_done.set()
    except TooLongError:
        # It may come while this block is left.
        is_done.set()
        raise
