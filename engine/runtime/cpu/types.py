"""Array types and the small records that the compiled stages hand to each other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


NO_FINER: Floats = np.full((4, 16), np.nan)
NO_FINER_OF: Ints = np.empty((2, 0), np.int64)
"""In place of finer bars, and of those of each bar."""


class Listed(NamedTuple):
    """Trades of ledgers, each one's in their order."""

    firsts: Ints  # [P, W] place of each ledger's first trade
    counts: Ints  # [P, W] how many it has
    whole: Ints  # [K, n] whole numbers of all trades, as the loops write them
    numbers: Floats  # [K, m] their prices and results

    def in_order(self) -> tuple[Ints, Floats]:
        """Whole numbers and prices, ledger after ledger."""
        counts = self.counts.ravel()
        ends = counts.cumsum()
        trade_numbers = np.repeat(self.firsts.ravel() - (ends - counts), counts)
        trade_numbers += np.arange(len(trade_numbers))
        return self.whole[trade_numbers], self.numbers[trade_numbers]
