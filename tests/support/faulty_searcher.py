"""A device's process that searches and fails on purpose: the CPU backend behind its frames.

Run as ``python -m tests.support.faulty_searcher FAULT STEPS FILE``: the fault happens at the steps
whose numbers are listed, counted over all processes in the file; for ``begun`` they are numbers of
searches that are begun. What is done is written to the file, a line each.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

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

    fault = ""
    numbers = frozenset()
    file = Path()

    def note(self, what):
        """Write down what is done; whether it was said to fail."""
        with self.file.open("a") as seen:
            seen.write(f"{os.getpid()} {what}\n")
        done = sum(line.split()[1] == what for line in self.file.read_text().splitlines())
        return done in self.numbers

    def _search(self, frame):
        """Begin, or end."""
        if self.note("search") and self.fault == "begun":
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._search(frame)

    def _step(self, frame):
        """As the search does, or as a broken one does."""
        if not self.note("step") or self.fault == "begun":
            return super()._step(frame)
        if self.fault in RAISED:
            # What is raised by a search is raised by its generator.
            self._found = (found for found in [1] if self.fail())
        if self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hangs":
            time.sleep(600)
        answer = super()._step(frame)
        if self.fault == "torn":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer if self.fault in RAISED else self.lied(answer)

    def fail(self):
        """Raise what was asked for."""
        raise RAISED[self.fault]

    def lied(self, answer):
        """The answer, with something wrong in it."""
        told = dict(answer.told)
        generation, places = dict(told["generation"]), list(told["places"])
        kind, begin, shape = places[0]
        if self.fault == "long":
            places[0] = (kind, begin, (10**6, *shape[1:]))
        if self.fault == "endless":
            told["bytes"] = 2**62
        if self.fault == "negative":
            places[0] = (kind, -8, shape)
        if self.fault == "kind":
            places[0] = ("int32", begin, shape)
        if self.fault == "narrow":
            places[0] = (kind, begin, (shape[0], shape[1] - 1))
        if self.fault == "fewer":
            places.pop()
        if self.fault == "skipped":
            generation["number"] += 1
        if self.fault == "nameless":
            generation.pop("evaluated")
        if self.fault == "numberless":
            generation["evaluated"] = "many"
        return Frame("done", {**told, "generation": generation, "places": places})


if __name__ == "__main__":
    Faulty.fault, Faulty.file = sys.argv[1], Path(sys.argv[3])
    Faulty.numbers = frozenset(np.array(sys.argv[2].split(","), np.int64).tolist())
    serve(lambda numbers: CpuBackend, *standard_pipes(), Faulty)
