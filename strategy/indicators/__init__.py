"""Indicators: each family in one file, with its formulas, sources and readable loops.

The loops here are the oracle's: one bar at a time, causal, as they read in plain Python and in the
same words compiled. Fast forms live beside the other rows of each engine backend and must equal
these bit for bit; an indicator without one is computed by its loop everywhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from strategy.genes import Floats

Loop = Callable[..., Floats]

ANY = -(2.0**31)
"""Least of a parameter that may be any number, also a negative one."""

PERCENT = 100

ABOVE_ZERO = math.ulp(0.0)
"""The smallest positive number, for what must be positive."""


@dataclass(frozen=True)
class Parameter:
    """A number that an indicator takes."""

    name: str  # for messages
    least: float = 1  # smallest legal value
    # Whether only whole values are legal; the loop then takes an int, else a float.
    is_whole: bool = True
    most: float = math.inf  # largest legal value

    @property
    def wanted(self) -> str:
        """Demands on a value, in words."""
        least = "above 0" if self.least == ABOVE_ZERO else f"at least {self.least:g}"
        most = "" if self.most == math.inf else f"at most {self.most:g}"
        words = "whole" if self.is_whole else "", "" if self.least == ANY else least, most
        return " and ".join(filter(None, words))

    def explain(self, value: float) -> str:
        """End of a message about a value that is none of 0 to 1 where it had to be.

        >>> Parameter("share", least=0, is_whole=False, most=1).explain(50)
        '; 50 % is 0.5'
        """
        is_percent = self.most == 1 and not self.is_whole and 1 < value <= PERCENT
        return f"; {value:g} % is {value / PERCENT:g}" if is_percent else ""

    def admits(self, value: float) -> bool:
        """Whether a value is finite, large enough, and whole where it must be."""
        is_number = self.least <= value <= self.most and math.isfinite(value)
        return is_number and (value % 1 == 0 or not self.is_whole)


def one_less(bars: int) -> int:
    """Warm-up of a window: it is known with its last bar."""
    return bars - 1
