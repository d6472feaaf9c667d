"""Payments of a market, each at its own time: funding that an exchange settles by the clock."""

from dataclasses import dataclass

import numpy as np

from data.checks import Floats, Ints


@dataclass(frozen=True, eq=False)
class Payments:
    """Times and rates of payments, oldest first; there may be none."""

    timestamp: Ints  # [N] nanoseconds UTC, on the minute
    rates: Floats  # [N] fraction of the price, finite

    def __post_init__(self) -> None:
        for name, kind in (("timestamp", np.int64), ("rates", np.float64)):
            column = np.ascontiguousarray(getattr(self, name), kind).view()
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def between(self, first_ns: int, last_ns: int) -> "Payments":
        """Payments after a time and up to another: a series pays no other, for it begins at 0."""
        first, end = np.searchsorted(self.timestamp, [first_ns, last_ns], side="right")
        return Payments(self.timestamp[first:end], self.rates[first:end])

    def find_bars(self, opens: Ints) -> Ints:
        """First bar of each payment [N] that opens no earlier, of bars that open at `opens` [T]."""
        return np.searchsorted(opens, self.timestamp).astype(np.int64)

    def describe(self) -> bytes:
        """Bytes that tell these payments from others."""
        rates = (self.rates + 0.0).astype("<f8", copy=False)
        return self.timestamp.astype("<i8", copy=False).tobytes() + rates.tobytes()
