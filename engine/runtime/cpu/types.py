"""Array types and the small records that the compiled stages hand to each other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


class Listed(NamedTuple):
    """Where the trades of ledgers go.

    Args:
        firsts: [P, W] place of each ledger's first trade; [0, 0] where no ledgers are wanted.
        whole: [K, n] whole numbers of all trades, as the loops write them.
        numbers: [K, m] their prices and results.
    """

    firsts: Ints
    whole: Ints
    numbers: Floats

    @classmethod
    def of_counts(cls, counts: Ints, n_whole: int, n_numbers: int) -> "Listed":
        """Room for so many trades [P, W] of each ledger, and for so many numbers of a trade."""
        ends = counts.cumsum().reshape(counts.shape)
        n = int(counts.sum())
        return cls(ends - counts, np.empty((n, n_whole), np.int64), np.empty((n, n_numbers)))

    def at(self, places: Ints) -> "Listed":
        """The same for some of the windows."""
        if not self.firsts.size:
            return self
        return self._replace(firsts=np.ascontiguousarray(self.firsts[:, places]))


NO_TRADES: Ints = np.empty((0, 0), np.int64)
"""Counts of trades where no ledgers are wanted."""


class Market(NamedTuple):
    """One series on the device.

    Args:
        open: [T].
        high: [T].
        low: [T].
        close: [T].
        rows: [slots, T] float64, the bank's rows.
        codes: [slots, T] uint8, codes of the rows that the entry compares.
        warm_ups: [slots] bars before the first that may signal, of each row.
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    rows: Floats
    codes: Codes
    warm_ups: Ints
