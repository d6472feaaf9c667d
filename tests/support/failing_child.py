"""A device's process that fails on purpose: the CPU backend behind the child's frames.

Run as ``python -m tests.support.failing_child FAULT CALLS FILE``: the fault happens at the calls
to evaluate whose numbers are listed, counted over all processes in the file; for ``deadly`` they
are individuals instead, by their max_hold, and the process is killed by all calls with one of them.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from engine.backends.cpu import CpuBackend
from engine.backends.isolated.child import serve
from engine.errors import DeviceError, DeviceLostError
from engine.process import standard_pipes
from optimizer.isolated.child import Searcher


class Failing(CpuBackend):
    """Fails at the calls that were asked for."""

    fault = ""
    calls = frozenset()
    file = Path()

    def begin(self, genomes, slots, windows, out):
        """As the backend does, or as a broken device does."""
        print("a library says something on stdout")
        with self.file.open("a") as seen:
            seen.write(f"{os.getpid()}\n")
        found = self.evaluate(genomes, slots, windows)
        if self.fault == "deadly":
            if self.calls & set(genomes[:, -1].tolist()):
                os.kill(os.getpid(), signal.SIGKILL)
            out[...] = found
        elif len(self.file.read_text().splitlines()) not in self.calls:
            out[...] = found
        else:
            self.fail(found, out)
        return lambda: None

    def fail(self, found, out):
        """Do what was asked for."""
        if self.fault == "short":
            out[:-1] = found[:-1]
        if self.fault == "numberless":
            out[...] = found + np.nan
        if self.fault == "torn":
            out[: len(out) // 2] = 1.0
        if self.fault in ("killed", "torn"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "lost":
            raise DeviceLostError("the GPU failed (an illegal memory access)")
        if self.fault == "full":
            raise DeviceError("the GPU ran out of memory")
        if self.fault == "hangs":
            time.sleep(600)
        if self.fault == "defect":
            raise IndexError("list index out of range")


if __name__ == "__main__":
    Failing.fault, Failing.file = sys.argv[1], Path(sys.argv[3])
    Failing.calls = frozenset(int(number) for number in sys.argv[2].split(","))
    source, target = standard_pipes()
    serve(lambda numbers: Failing, source, target, Searcher)
