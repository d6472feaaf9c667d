"""A GPU's process without a GPU, whose searches have their population on its tensors.

Run as ``python -m tests.support.interpreted_searcher FILE`` with TRITON_INTERPRET=1; FILE gets a
line for each generation that was made on the tensors.
"""

import sys
from pathlib import Path

from engine.backends.isolated.child import serve
from engine.process import standard_pipes
from optimizer.isolated.child import Searcher
from optimizer.search.device import steps
from tests.support.device_breeding import shape_blocks
from tests.support.device_survival import retile
from tests.support.interpreted import Interpreted


class Housing(Interpreted):
    """The CUDA backend on tensors of the host, on which others may keep theirs."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.torch_device = "cpu"


class Watched(steps.DeviceSteps):
    """Waits for the device, and writes down what was made there."""

    def __init__(self, *arguments):
        super().__init__(*arguments, is_patient=True)

    def step(self, state, number):
        """Make a generation."""
        step = super().step(state, number)
        if self._held is step.state:
            with Path(sys.argv[1]).open("a") as file:
                file.write(f"{number}\n")
        return step


if __name__ == "__main__":
    steps.DeviceSteps = Watched
    retile()
    shape_blocks(512, 128, 64)
    serve(lambda numbers: Housing, *standard_pipes(), Searcher)
