"""Trades that another program lists."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MOST_DECIMALS, LAST_BITS = 10, 1e-12
"""Decimals that are counted; numbers that are so near relatively are equal."""


@dataclass(frozen=True, eq=False)
class TradeList:
    """Trades of another program [K], in the order of their entries."""

    number: tuple[str, ...]  # [K] as the list counts them
    side: Ints  # [K] 1 for a long and -1 for a short
    entry_ns: Ints  # [K] UTC where `is_zoned`, else on the list's clock
    exit_ns: Ints  # [K]; `NO_TIME` where the list has none
    entry: Floats  # [K] price
    exit: Floats  # [K] price; NaN where the list has none
    is_open: Flags  # [K] still open at the end of the list, as far as it says so
    is_zoned: bool  # whether its times name their zone
    read_as: Mapping[str, str]  # meaning to the name of the column
    program: str = "TradingView"
    # Whether each part of a position that leaves on its own is a trade of its own.
    has_parts: bool = True

    def __len__(self) -> int:
        return len(self.side)

    @property
    def unit(self) -> float:
        """Last digit of its prices, such as 0.01; 0 where they have more than ten decimals."""
        prices = np.concatenate([self.entry, self.exit[~np.isnan(self.exit)]])
        for decimals in range(MOST_DECIMALS + 1):
            if (np.abs(np.round(prices, decimals) - prices) <= LAST_BITS * np.abs(prices)).all():
                return float(f"1e-{decimals}")
        return 0.0

    def take(self, rows: "npt.NDArray[np.intp]") -> "TradeList":
        """Some of its trades, by their places."""
        columns: Any = {
            field.name: value[rows]
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        return replace(self, number=tuple(self.number[row] for row in rows), **columns)
