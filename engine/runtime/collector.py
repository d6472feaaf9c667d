"""The collector of reference cycles, which walks all objects again and again as they become more.

Modules, classes and compiled loops stay until the end: to walk them takes a twentieth of a run.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOCK = Lock()
_PAUSES: list[bool] = []
"""State of the collector before each pause that has not ended."""


@contextmanager
def pause_collector(*, is_program: bool = False) -> Iterator[None]:
    """Collect no cycles while much is made that stays, or while nothing may be freed.

    Pauses of several threads may overlap: the collector works again when the last has ended.
    In a program of our own (`is_program`) what there is afterwards is not walked any more.
    """
    with _LOCK:
        _PAUSES.append(gc.isenabled() or any(_PAUSES))
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            if is_program:
                gc.freeze()
            if _PAUSES.pop() and not _PAUSES:
                gc.enable()
