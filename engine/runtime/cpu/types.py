"""Array types and the small records that the compiled stages hand to each other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


class Listed(NamedTuple):
    """Trades of ledgers, each one's in their order.

    Args:
        firsts: [P, W] place of each ledger's first trade.
        counts: [P, W] how many it has.
        whole: [K, n] whole numbers of all trades, as the loops write them.
        numbers: [K, m] their prices and results.
    """

    firsts: Ints
    counts: Ints
    whole: Ints
    numbers: Floats

    def in_order(self) -> tuple[Ints, Floats]:
        """Whole numbers and prices, ledger after ledger."""
        counts = self.counts.ravel()
        ends = counts.cumsum()
        trade_numbers = np.repeat(self.firsts.ravel() - (ends - counts), counts)
        trade_numbers += np.arange(len(trade_numbers))
        return self.whole[trade_numbers], self.numbers[trade_numbers]


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
