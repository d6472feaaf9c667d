"""Extra columns: numbers that stand beside the bars, and when each of them could be read."""

import math
from dataclasses import dataclass

import numpy as np

from data.bars import Bars
from strategy.errors import StrategyError
from strategy.genes import Floats, Ints
from strategy.series import MINUTE_NS, check_column


@dataclass(frozen=True, eq=False)
class DatedColumn:
    """A table of numbers, each with the time from which it could be read.

    Args:
        known_at: [N], int64 nanoseconds UTC, ascending: when a number could be read, never the
            period that it describes.
        values: [N], finite or NaN.
        max_age: Minutes after which a number is not known any more; None for never.

    Raises:
        StrategyError: When times descend, lengths differ, or a value is infinite.
    """

    known_at: Ints
    values: Floats
    max_age: float | None = None

    def __post_init__(self) -> None:
        if self.known_at.dtype != np.int64 or self.known_at.shape != self.values.shape:
            raise StrategyError("a dated column needs one int64 time, nanoseconds UTC, a value")
        if (self.known_at[1:] < self.known_at[:-1]).any():
            first = int((self.known_at[1:] < self.known_at[:-1]).argmax()) + 1
            raise StrategyError(f"a dated column needs ascending times; entry {first} is earlier")
        if self.max_age is not None and not self.max_age > 0:
            raise StrategyError(f"max_age must be above 0 minutes, got {self.max_age}")
        check_column("dated", self.values, len(self.known_at))

    def at(self, bars: Bars) -> Floats:
        """The newest number known at each bar's close, [T]; NaN before the first and when old."""
        closes = bars.timestamp + bars.timeframe_ns
        newest = np.searchsorted(self.known_at, closes, side="right") - 1
        if not len(self.values):
            return np.full(len(bars), math.nan)
        found = np.where(newest < 0, math.nan, self.values[np.maximum(newest, 0)])
        if self.max_age is not None:
            age = closes - self.known_at[np.maximum(newest, 0)]
            found[age > self.max_age * MINUTE_NS] = math.nan
        return found
