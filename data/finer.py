"""Finer bars of the same market: what happened within each bar, in its order."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from data.checks import Floats, Ints


@dataclass(frozen=True, eq=False)
class FinerBars:
    """Times and prices of finer bars, oldest first; there may be none."""

    timestamp: Ints  # [K] nanoseconds UTC at which they open, ascending
    prices: Floats  # [4, K] open, high, low and close
    timeframe_ns: int  # duration of one
    source: str = ""

    def __len__(self) -> int:
        return len(self.timestamp)

    @property
    def n_bytes(self) -> int:
        """Bytes that all columns take."""
        return self.timestamp.nbytes + self.prices.nbytes

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, hexadecimal, of times, prices and duration; the source does not count."""
        digest = hashlib.sha256(f"finer 1 timeframe_ns={self.timeframe_ns}\n".encode())
        digest.update(self.timestamp.astype("<i8", copy=False).tobytes())
        digest.update(self.prices.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()

    def between(self, first_ns: int, end_ns: int) -> "FinerBars":
        """Bars that open from a time on and before another."""
        first, end = np.searchsorted(self.timestamp, [first_ns, end_ns])
        return FinerBars(
            self.timestamp[first:end], self.prices[:, first:end], self.timeframe_ns, self.source
        )


def find_spans(
    timestamp: Ints, over_ns: Ints, prices: Mapping[str, Floats], finer: FinerBars
) -> Ints:
    """First finer bar of each bar, and one past its last, [2, T]; the same for those of none.

    A bar is made up of the finer bars that open from its own opening time on and before it is
    over, if first open, largest high, smallest low and last close are its own in every bit.

    Args:
        timestamp: [T] when bars open, nanoseconds UTC.
        over_ns: [T] when they are over.
        prices: Their columns by name, each [T].
        finer: Of the same market.
    """
    first, end = (np.searchsorted(finer.timestamp, times) for times in (timestamp, over_ns))
    some = np.flatnonzero(end > first)
    spans = np.stack([first, first]).astype(np.int64)
    if len(some):
        start, stop = first[some], end[some]
        edges = np.stack([start, stop], axis=1).reshape(-1)
        opens, highs, lows, closes = np.pad(finer.prices, ((0, 0), (0, 1)))
        is_whole = opens[start] == prices["open"][some]
        is_whole &= np.maximum.reduceat(highs, edges)[::2] == prices["high"][some]
        is_whole &= np.minimum.reduceat(lows, edges)[::2] == prices["low"][some]
        is_whole &= closes[stop - 1] == prices["close"][some]
        spans[1, some[is_whole]] = stop[is_whole]
    return spans
