"""Searches whose population lives on a device, against the same searches on the host.

    python -m tests.support.device_steps cpu|cuda

On ``cpu`` with TRITON_INTERPRET=1. Prints what was compared; ends with an assertion where bits
differ.
"""

import sys
from itertools import pairwise

import numpy as np

from optimizer.search import evolve
from optimizer.search.device.steps import DeviceSteps
from optimizer.search.steps import HostSteps
from strategy import STRATEGIES
from tests.support.device_breeding import shape_blocks
from tests.support.device_survival import retile
from tests.support.searches import (
    Analytic,
    HalfForbidden,
    bits,
    float_layout,
    int_layout,
    settings,
)

SELLER = STRATEGIES["seller_exhaustion"].layout


class Rounded(Analytic):
    """The distances of `Analytic` in few steps: many are equal."""

    def objectives_of(self, genomes):
        """Rounded distances [P, 3]."""
        return np.rint(super().objectives_of(genomes) * 4.0)


class Huge(Analytic):
    """The distances of `Analytic`, at times too large to be subtracted."""

    def objectives_of(self, genomes):
        """Distances, those of a few individuals enormous, [P, 3]."""
        found = super().objectives_of(genomes)
        low, high = self.layout.low[0], self.layout.high[0]
        found[genomes[:, 0] > low + 0.9 * (high - low)] *= 2.0**1002
        return found


class Blinking(HalfForbidden):
    """Nobody is feasible in some of the calls."""

    def objectives_of(self, genomes):
        """Distances, or NaN, [P, 3]."""
        found = super().objectives_of(genomes)
        return found * np.nan if len(self.asked) % 4 == 3 else found


class Watched(DeviceSteps):
    """Counts the generations that the device made."""

    made = 0

    def step(self, state, number):
        """Make a generation."""
        step = super().step(state, number)
        self.made += self._held is step.state
        return step


def ints():
    """Whole genes, one frozen, one below another."""
    return int_layout((1, 60), (2, 70), (0, 40), (3, 3), ordered=True)


def cases():
    """Name, problem, settings, and how many generations the device has to make at least."""
    few = int_layout((0, 4), (0, 5), (0, 3))
    yield "floats", Analytic(float_layout(5), 3), settings(16, 5, archive=18, elite=0.25), 5
    yield "strategy", HalfForbidden(SELLER, 3), settings(17, 4, archive=12, immigrants=0.1), 4
    yield "used up", Rounded(few, 3), settings(16, 6, archive=200), 1
    yield "enormous", Huge(float_layout(4), 3), settings(12, 4, archive=40), 1
    yield "blinking", Blinking(SELLER, 3), settings(16, 6, archive=20, adapt=False), 5
    anew = {"patience": 1, "on_stagnation": "restart"}
    yield "new start", Rounded(ints(), 3), settings(10, 8, archive=9, **anew), 3
    yield "two", Analytic(float_layout(2), 3), settings(2, 4, archive=1), 2


def on_gpu():
    """Cases for a GPU: a compiler takes long for each layout, a device nothing for each case."""
    anew = {"patience": 1, "on_stagnation": "restart"}
    yield "strategy", HalfForbidden(SELLER, 3), settings(32, 20, archive=32, elite=0.25), 20
    yield "enormous", Huge(SELLER, 3), settings(32, 6, archive=32), 1
    yield "blinking", Blinking(SELLER, 3), settings(32, 10, archive=32, adapt=False), 8
    yield "new start", Rounded(SELLER, 3), settings(32, 30, archive=32, **anew), 3
    yield "512", HalfForbidden(SELLER, 3), settings(512, 60, elite=0.25), 60
    yield "2,560", Rounded(SELLER, 3), settings(2560, 8, elite=0.25, archive=704), 8
    yield "32,768", Analytic(SELLER, 3), settings(32_768, 5, archive=1600), 5


def compare(device, name, problem, wanted, at_least):
    """All generations of one search, and some of them taken up in the middle."""
    expected = list(evolve(problem, wanted))
    problem.asked.clear()
    steps = Watched(problem, wanted, device, is_patient=True)
    found = list(evolve(problem, wanted, steps=steps))
    for one, other in zip(bits(expected), bits(found), strict=True):
        assert one == other, (name, one[0], [a == b for a, b in zip(one, other, strict=True)])
    assert steps.made >= at_least, (name, steps.made)
    problem.asked.clear()
    if name in ("floats", "strategy", "512"):
        middle = len(found) // 2
        again = DeviceSteps(problem, wanted, device, is_patient=True)
        rest = list(evolve(problem, wanted, steps=again, resume_from=found[middle]))
        assert bits(rest) == bits(expected[middle + 1 :]), name
    print(f"{name}: {len(found)} generations, {steps.made} on the device, every bit equal")


def compare_changing_places(device):
    """Host and device take turns within a search."""
    problem, wanted = HalfForbidden(SELLER, 3), settings(16, 7, archive=16, elite=0.25)

    class Turns:
        """Every third generation on the host."""

        def __init__(self):
            self.there = DeviceSteps(problem, wanted, device, is_patient=True)
            self.here = HostSteps(problem, wanted)

        def step(self, state, number):
            """Make a generation here or there."""
            return (self.here if number % 3 == 2 else self.there).step(state, number)

    found = bits(list(evolve(problem, wanted, steps=Turns())))
    assert found == bits(list(evolve(problem, wanted)))
    assert all(a[0] + 1 == b[0] for a, b in pairwise(found))
    print("in turns: every bit equal")


def main(device):
    """Compare on a device."""
    if device == "cpu":
        retile()
        shape_blocks(512, 128, 64)
    for case in cases() if device == "cpu" else on_gpu():
        compare(device, *case)
    compare_changing_places(device)


if __name__ == "__main__":
    main(sys.argv[1])
