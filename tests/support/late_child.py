"""A device's process that works only when it is waited for: the CPU backend behind its frames.

Run as ``python -m tests.support.late_child FILE KILLED``: what it is asked is written to the file,
a line each, and at the waits whose numbers are listed, counted over all processes, it is killed.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np

from engine.backends.contract import Form
from engine.backends.cpu import CpuBackend
from engine.backends.isolated.child import serve
from engine.process import standard_pipes

FEWEST_TRIED = 8
"""Individuals whose rows it looks up itself."""

DEADLY_HOLD = 7
"""An individual with this max_hold kills the process."""


class Late(CpuBackend):
    """Reads genomes and slots, and writes accumulators, as late as it may."""

    file = Path()
    killed = frozenset()

    def __init__(self, spec, *arguments, **options):
        super().__init__(spec, *arguments, **options)
        self._spec, self._rows, self._pending = spec, {}, 0

    def fill(self, form, lengths, slots):
        """Compute rows; whoever asks for that has waited for all that reads others."""
        self.note("fill")
        assert not self._pending
        taken = set(slots.tolist())
        self._rows = {row: slot for row, slot in self._rows.items() if slot not in taken}
        for row, slot in zip(lengths.tolist(), slots.tolist(), strict=True):
            self._rows[(form, *row)] = slot
        super().fill(form, lengths, slots)

    def begin(self, genomes, slots, windows, out):
        """Do nothing yet."""
        self.note(f"begin {len(genomes)}")
        self._pending += 1

        def wait():
            self._pending -= 1
            self.waited_for()
            if DEADLY_HOLD in genomes[:, -1]:
                os.kill(os.getpid(), signal.SIGKILL)
            out[...] = self.evaluate(genomes, slots, windows)

        return wait

    def try_begin(self, genomes, windows, out):
        """The same, with rows looked up by then."""
        if len(genomes) < FEWEST_TRIED:
            self.note("decline")
            return None
        self.note(f"try {len(genomes)}")
        self._pending += 1

        def wait():
            self._pending -= 1
            self.waited_for()
            if DEADLY_HOLD in genomes[:, -1]:
                os.kill(os.getpid(), signal.SIGKILL)
            slots = self.slots_of(genomes)
            if (slots < 0).any():
                out[...] = 1.0
                return False
            out[...] = self.evaluate(genomes, slots, windows)
            return True

        return wait

    def slots_of(self, genomes):
        """Slots [P, R], -1 where a row is not there."""
        layout = self._spec.layout
        columns = [(Form.of(row), list(map(layout.index, row.lengths))) for row in self._spec.rows]
        found = [
            [self._rows.get((form, *map(int, genome[of_row])), -1) for form, of_row in columns]
            for genome in genomes
        ]
        return np.array(found, np.int32)

    def note(self, line):
        """Write down what was asked."""
        with self.file.open("a") as seen:
            seen.write(f"{os.getpid()} {line}\n")

    def waited_for(self):
        """Write it down, and end where that was asked for."""
        self.note("wait")
        if self.file.read_text().count("wait") in self.killed:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Late.file = Path(sys.argv[1])
    Late.killed = frozenset(int(number) for number in sys.argv[2].split(","))
    serve(lambda numbers: Late, *standard_pipes())
