"""Loops compiled by another process, while this one is busy with those of the engine.

That happens once a machine. Loops are kept on disk. Either process finds the other's finished
loops, and waits for one in progress: no loop is compiled by both.
"""

import atexit
from functools import cache
from subprocess import DEVNULL

from engine.runtime.compiling.loops import is_missing
from engine.runtime.machine import available_cores
from optimizer.processes import begin
from optimizer.search.compiled.contributions import truncate


@cache
def compile_in_background(*first: str) -> None:
    """Have another process compile the loops, if none ever did and there is a core for it.

    Args:
        first: As `optimizer.first_run.main` takes it.
    """
    if not is_missing(truncate) or available_cores() < 2:
        return
    process = begin("optimizer.first_run", *first, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    atexit.register(process.kill)
