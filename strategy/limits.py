"""A limit of time for what a person wrote: an endless loop ends with the line that runs."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_S = 120.0
"""Seconds that a person's own code may take at once."""

AGAIN_S = 1.0
"""Seconds until the next interruption, where a bare `except:` held one back."""


class TooLongError(BaseException):
    """It took too long; no `except Exception` of a person's own holds it back."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` inside this block, in this thread, once it has taken so long.

    It ends Python's own loops; a library's call that never returns is not ended.
    """
    lock, is_done = threading.Lock(), threading.Event()

    def interrupt(thread: int) -> None:
        pause = seconds
        while not is_done.wait(pause):
            with lock:
                if not is_done.is_set():
                    error = ctypes.py_object(TooLongError)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
            pause = AGAIN_S

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
