"""The collector of reference cycles, which walks all objects again and again as they become more.

Modules, classes and compiled loops stay until the end: to walk them takes a twentieth of a run.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector(*, is_program: bool = False) -> Iterator[None]:
    """Collect no cycles while much is made that stays, such as imported code.

    In a program of our own (`is_program`) what there is afterwards is not walked any more.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_program:
            gc.freeze()
        if was_enabled:
            gc.enable()
