"""A device's process that searches and fails on purpose: the CPU backend behind its frames.

Run as ``python -m tests.support.faulty_searcher FAULTS STEPS FILE``: faults happen in turn at the
steps whose numbers are listed, counted over all processes in the file; for ``begun`` they are
numbers of searches that are begun. What is done is written to the file, a line each.
"""

import os
import signal
import sys
import time
from pathlib import Path

from engine.backends.cpu import CpuBackend
from engine.backends.isolated.child import serve
from engine.errors import DeviceError, DeviceLostError, GenomeError
from engine.process import standard_pipes
from engine.wire import Frame
from optimizer.errors import OptimizerError
from optimizer.isolated.child import Searcher

RAISED = {
    "lost": DeviceLostError("the GPU failed (an illegal memory access)"),
    "full": DeviceError("the GPU ran out of memory"),
    "defect": IndexError("list index out of range"),
    "contradiction": OptimizerError("the evaluation contradicts itself"),
    "illegal": GenomeError("individual 3 is not legal"),
}


class Faulty(Searcher):
    """Fails at the steps that were asked for."""

    faults = ()
    numbers = ()
    file = Path()

    def note(self, what):
        """Write down what is done; the fault that was asked for, empty for none."""
        with self.file.open("a") as seen:
            seen.write(f"{os.getpid()} {what}\n")
        done = sum(line.split()[1] == what for line in self.file.read_text().splitlines())
        if done not in self.numbers:
            return ""
        return self.faults[self.numbers.index(done) % len(self.faults)]

    def _search(self, frame):
        """Begin, or end."""
        if self.note("search") == "begun":
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._search(frame)

    def _step(self, frame):
        """As the search does, or as a broken one does."""
        fault = self.note("step")
        if fault in RAISED:
            self._found = failing(fault)
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hangs":
            time.sleep(600)
        answer = super()._step(frame)
        if fault == "torn":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.lied(answer, fault) if "generation" in answer.told else answer

    def lied(self, answer, fault):
        """The answer, with something wrong in it where that was asked for."""
        told = dict(answer.told)
        generation, places = dict(told["generation"]), list(told["places"])
        kind, begin, shape = places[0]
        if fault == "long":
            places[0] = (kind, begin, (10**6, *shape[1:]))
        if fault == "endless":
            told["bytes"] = 2**62
        if fault == "negative":
            places[0] = (kind, -8, shape)
        if fault == "kind":
            places[0] = ("int32", begin, shape)
        if fault == "narrow":
            places[0] = (kind, begin, (shape[0], shape[1] - 1))
        if fault == "fewer":
            places.pop()
        if fault == "skipped":
            generation["number"] += 1
        if fault == "nameless":
            generation.pop("evaluated")
        if fault == "numberless":
            generation["evaluated"] = "many"
        return Frame("done", {**told, "generation": generation, "places": places})


def failing(fault):
    """A search that raises what was asked for."""
    raise RAISED[fault]
    yield


if __name__ == "__main__":
    Faulty.faults, Faulty.file = sys.argv[1].split("+"), Path(sys.argv[3])
    Faulty.numbers = [int(number) for number in sys.argv[2].split(",")]
    serve(lambda numbers: CpuBackend, *standard_pipes(), Faulty)
