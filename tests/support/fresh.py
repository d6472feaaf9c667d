"""Work in a process of its own, where memory and threads of other tests are not counted."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

STATM = Path("/proc/self/statm")
"""Where Linux counts the memory of a process."""


def run_fresh(function, *arguments):
    """What a function of a module gives in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def resident_bytes():
    """Memory that this process holds."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
