"""Series on the device: prices bar by bar, and their extremes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from data.bars import Bars, has_finer
from engine.backend import Floats
from engine.errors import DeviceError
from engine.runtime.cuda.watchdog import to_device

PADDED_BARS = 1024
"""Series are padded to whole blocks of this many bars."""

MOST_BARS = 2**28
"""Bars of a series, so that the offsets of prices and extremes fit 32 bits."""

PRICE_BYTES = 4 * 8 + 4 * 2 * 4 + 2 * 2 * 8
"""Bytes of a bar: prices, the pyramid's four levels, and blocks."""

LEVELS = 4
"""Levels of the pyramid: extremes of 1, 4, 16 and 64 bars."""


class SeriesPrices(NamedTuple):
    """Prices of one series in each of M markets, bar by bar, with their extremes."""

    market: torch.Tensor  # [M, B, 4] low, high, open, close; B is T padded to whole blocks
    pyramid: torch.Tensor  # [M, LEVELS, B] as of `build_pyramid`
    blocks: torch.Tensor  # [M, b, 2] low and high of blocks of 4**l bars, for each level l
    finer: torch.Tensor  # [K, 4] open, high, low, close of finer bars; [1, 4] without any
    finer_of: torch.Tensor  # [M * B, 2] int32 as `lay_out_finer` gives it; [1, 2] without any
    has_finer: bool

    @property
    def n_padded(self) -> int:
        """B."""
        return self.market.shape[1]


def upload_prices(markets: Sequence[Bars], device: torch.device) -> SeriesPrices:
    """The prices of a series on a device, in markets that have as many bars each.

    Raises:
        DeviceError: When bars of a market, or finer bars of all, are too many.
    """
    n_bars = len(markets[0])
    if n_bars >= MOST_BARS:
        raise DeviceError(f"{n_bars:,} bars are too many for one device")
    n_padded = round_up_bars(n_bars)
    starts = [market * n_padded for market in range(len(markets))]
    finer, finer_of = lay_out_finer(markets, starts, n_padded * len(markets))
    prices, pyramids, blocks = [], [], []
    for bars in markets:
        columns = (bars.low, np.inf), (bars.high, -np.inf), (bars.open, 1.0), (bars.close, 1.0)
        columns_there = [to_device(_filled_up(*column), device) for column in columns]
        prices.append(torch.stack(columns_there, 1))
        lows, highs = columns_there[:2]
        pyramids.append(build_pyramid(lows, highs))
        levels = [
            torch.stack((lows.view(-1, 4**level).amin(1), highs.view(-1, 4**level).amax(1)), 1)
            for level in range(LEVELS)
        ]
        blocks.append(torch.cat(levels))
    return SeriesPrices(
        torch.stack(prices), torch.stack(pyramids), torch.stack(blocks),
        to_device(finer, device), to_device(finer_of, device), has_finer(markets),
    )  # fmt: skip


def lay_out_finer(
    series: Sequence[Bars], starts: Sequence[int], n_bars: int
) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Finer bars of series that begin at bars of an axis of so many, [K, 4] and [n_bars, 2].

    Open, high, low and close of each; of each bar of the axis the first of its finer bars,
    and their number: -1 if the finer bars of its series do not make it up, 0 without any.

    Raises:
        DeviceError: When they are too many.
    """
    prices = [bars.finer.prices.T for bars in series if bars.finer is not None]
    if not prices:
        return np.zeros((1, 4)), np.zeros((1, 2), np.int32)
    finer, finer_of, begin = np.concatenate(prices), np.zeros((n_bars, 2), np.int32), 0
    if len(finer) >= MOST_BARS:
        raise DeviceError(f"{len(finer):,} finer bars are too many for one device")
    for start, bars in zip(starts, series, strict=True):
        if bars.finer is not None:
            first, end = bars.finer_spans
            some = finer_of[start : start + len(bars)]
            some[:, 0], some[:, 1] = begin + first, np.where(end > first, end - first, -1)
            begin += len(bars.finer)
    return finer, finer_of


def count_finer_bytes(series: Sequence[Bars], n_bars: int) -> int:
    """Bytes that finer bars of series take on a device, on an axis of so many bars."""
    counts = [len(bars.finer) for bars in series if bars.finer is not None]
    return 4 * 8 * sum(counts) + 2 * 4 * n_bars if counts else 0


def round_up_bars(n_bars: int) -> int:
    """Bars of whole blocks that hold so many."""
    return -(-n_bars // PADDED_BARS) * PADDED_BARS


def build_pyramid(lows: torch.Tensor, highs: torch.Tensor) -> torch.Tensor:
    """Extremes [LEVELS, B] of lows and highs [B], int64.

    For each level l groups of four lows and four highs of blocks of 4**l bars, the upper halves of
    their float64, two a word.
    """
    words = torch.zeros((LEVELS, 2 * len(lows)), dtype=torch.int32, device=lows.device)
    for level in range(LEVELS):
        least = lows.view(-1, 4**level).amin(1).view(-1, 4)
        most = highs.view(-1, 4**level).amax(1).view(-1, 4)
        groups = torch.cat((least, most), 1).view(torch.int64) >> 32
        words[level, : groups.numel()] = groups.reshape(-1).to(torch.int32)
    return words.view(torch.int64)


def _filled_up(column: Floats, filler: float) -> Floats:
    """A column, with what no search finds behind it."""
    padded = np.full(round_up_bars(len(column)), filler)
    padded[: len(column)] = column
    return padded
