"""Prices of one series on the device, bar by bar, with their extremes."""

from typing import NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.cuda.market import INDEX_BARS, MOST_BARS, Floats, pyramid_of
from engine.cuda.waiting import to_device
from engine.errors import DeviceError

BYTES_OF_A_BAR = 4 * 8 + 4 * 2 * 4
"""Prices, and the pyramid's four levels."""


class SeriesPrices(NamedTuple):
    """One series.

    Args:
        market: [B, 4] open, high, low, close; B is T padded to whole blocks.
        pyramid: [LEVELS, 2 B] as in `engine.cuda.market`.
    """

    market: torch.Tensor
    pyramid: torch.Tensor

    @property
    def n_padded(self) -> int:
        """B."""
        return len(self.market)


def prices_of(bars: Bars, device: torch.device) -> SeriesPrices:
    """The prices of a series on a device.

    Raises:
        DeviceError: When its bars are too many.
    """
    if len(bars) >= MOST_BARS:
        raise DeviceError(f"{len(bars):,} bars are too many for one device")
    columns = (bars.open, 1.0), (bars.high, -np.inf), (bars.low, np.inf), (bars.close, 1.0)
    opened, high, low, close = (to_device(_filled_up(*column), device) for column in columns)
    return SeriesPrices(torch.stack((opened, high, low, close), 1), pyramid_of(low, high))


def padded(n_bars: int) -> int:
    """Bars of whole blocks that hold so many."""
    return -(-n_bars // INDEX_BARS) * INDEX_BARS


def _filled_up(column: Floats, filler: float) -> Floats:
    """A column, with what no search finds behind it."""
    found = np.full(padded(len(column)), filler)
    found[: len(column)] = column
    return found
