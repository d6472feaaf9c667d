"""Work in a process of its own, where memory and threads of other tests are not counted."""

import ctypes
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor


class MallocTotals(ctypes.Structure):
    """Totals of all arenas of glibc's malloc, the `struct mallinfo2` of its manual, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


malloc_totals = getattr(ctypes.CDLL(None), "mallinfo2", None)
"""Glibc's count of what is in use; None where the C library has none."""

if malloc_totals is not None:
    malloc_totals.restype = MallocTotals

BLOCK = 64
"""Bytes that one of Python's own small blocks takes on average; they have 16 to 512."""


def run_fresh(function, *arguments):
    """What a function of a module gives in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def live_bytes():
    """Memory that was asked for and not given back.

    What the system counts as resident depends on the moments at which threads free what they took,
    and rises by megabytes on a busy machine where nothing is kept.
    """
    totals = malloc_totals()
    return totals.uordblks + totals.hblkhd + sys.getallocatedblocks() * BLOCK
