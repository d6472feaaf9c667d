"""A GPU's process that writes where nothing is: the CUDA backend behind the child's frames.

Run as ``python -m tests.support.faulty_gpu_child CALLS FILE``: an illegal address is written to at
the calls to evaluate whose numbers are listed, counted over all processes in the file.
"""

import os
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

from engine.backends.cuda import CudaBackend
from engine.backends.cuda.faults import device_errors
from engine.backends.isolated.child import serve
from engine.process import standard_pipes
from optimizer.isolated.child import Searcher

FAR_AWAY = 2**44
"""Past all memory of a device."""


@triton.jit
def scribble(p_numbers, FAR: tl.constexpr):  # noqa: N803
    """Write far behind the end of a tensor."""
    tl.store(p_numbers + FAR, 1)


class Scribbling(CudaBackend):
    """Breaks its device at the calls that were asked for."""

    calls = frozenset()
    file = Path()

    @device_errors
    def begin(self, genomes, slots, windows, out):
        """As the backend does, after an illegal address where one is asked for."""
        with self.file.open("a") as seen:
            seen.write(f"{os.getpid()}\n")
        if len(self.file.read_text().splitlines()) in self.calls:
            scribble[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"), FAR_AWAY)
            torch.cuda.synchronize()
        return super().begin(genomes, slots, windows, out)


if __name__ == "__main__":
    Scribbling.calls = frozenset(int(number) for number in sys.argv[1].split(","))
    Scribbling.file = Path(sys.argv[2])
    serve(lambda numbers: Scribbling, *standard_pipes(), Searcher)
