"""Oddities of bars that break no law: silence, flat bars, jumps and splits."""

import numpy as np

from data.checks import PRICES
from tests.corpus.row import bars, reads
from tests.support.series import make_columns

BACK = "times the close before and {} is back: no price, take it out"


def scaled(count, factors, wild=1.0):
    """A file of bars whose prices are times factors, and whose highs from bar 200 on are `wild`."""
    columns = {name: make_columns(count)[name] * factors for name in PRICES}
    columns["high"][200:204] *= wild
    return bars(count, **columns)


def jump(factor, count=50, first=20, last=None, wild=1.0):
    """A file of bars of which some are times a factor."""
    factors = np.ones(count)
    factors[first:last] = factor
    return scaled(count, factors, wild)


ROWS = (
    reads("an ordinary series", bars(50), quirks=()),
    reads("silence", bars(50, volume=dict.fromkeys((3, 10, 11, 12, 49), 0)),
          quirks=["5 bars without volume (10.0%), at most 3 in a row"]),
    reads("flat bars", bars(50, **dict.fromkeys(PRICES, make_columns(50)["close"])),
          quirks=["50 bars whose high is the low (100.0%)"]),
    *(reads(f"a jump to {factor:.3g}", jump(factor), quirks=[f"2024-01-01T05:00 is {words}"])
      for factor, words in (
          (2 / 3, "-33% from the close before, as a 3:2 split"),
          (1 / 1000, "0.001 times the close before, as a 1000:1 split"),
          (4.0, "+300% from the close before, as a 1:4 split"),
          (0.63, "-37% from the close before, as a split or a spin-off"))),
    *(reads(f"news, {factor}", jump(factor, 400, 200, wild=wild), quirks=words)
      for factor, wild, words in (
          (0.63, 1.2, ["is -37% from the close before\n"]),
          (0.82, 1.2, ["is -18% from the close before\n"]), (0.9, 1.0, []))),
    *(reads(f"{count} rows of no price, {factor:.3g}", jump(factor, 400, 200, 200 + count),
            quirks=[BACK.format("the next" if count == 1 else "that 3 bars later")])
      for factor, count in ((9.2e16, 1), (1 / 50, 3))),
    reads("many jumps", scaled(50, np.where(np.arange(50) % 2, 3.3, 1.0)),
          quirks=["the close before"] * 5 + ["44 more such opens\n"]),
)  # fmt: skip
