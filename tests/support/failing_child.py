"""A device's process that fails on purpose: the CPU backend behind the child's frames.

Run as ``python -m tests.support.failing_child FAULT CALLS FILE``: the fault happens at the calls
to evaluate whose numbers are listed, counted over all processes in the file.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from engine.backends.cpu import CpuBackend
from engine.backends.isolated.child import serve, standard_pipes
from engine.errors import DeviceError, DeviceLostError

FAULT, CALLS, FILE = sys.argv[1], {int(n) for n in sys.argv[2].split(",")}, Path(sys.argv[3])


class Failing(CpuBackend):
    """Fails at the calls that were asked for."""

    def evaluate(self, genomes, slots, windows):
        """As the backend does, or as a broken device does."""
        print("a library says something on stdout")
        with FILE.open("a") as seen:
            seen.write(f"{os.getpid()}\n")
        found = super().evaluate(genomes, slots, windows)
        if len(FILE.read_text().splitlines()) not in CALLS:
            return found
        if FAULT == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if FAULT == "lost":
            raise DeviceLostError("the GPU failed (an illegal memory access)")
        if FAULT == "full":
            raise DeviceError("the GPU ran out of memory")
        if FAULT == "hangs":
            time.sleep(600)
        if FAULT == "defect":
            raise IndexError("list index out of range")
        return {"short": found[:-1], "numberless": found + np.nan}[FAULT]


if __name__ == "__main__":
    source, target = standard_pipes()
    serve(Failing, source, target)
