"""Series on the device: columns one after the other, prices bar by bar, and their extremes."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from data.bars import Bars, Window, has_finer
from engine.backend import Floats, Ints
from engine.errors import DeviceError
from engine.fast_case import SOURCES
from engine.indicators.coders import Coder, coder_maps
from engine.indicators.cpu.trends import build_series_rows
from engine.runtime.cuda.watchdog import overwrite, to_device
from strategy.expressions import Column

ALIGNED_BARS = 64
"""Series begin at whole groups of the pyramid's upper levels."""

INDEX_BARS = 1024
"""All series together are padded to whole blocks of this many bars."""

HIGHEST_CODE = 126
"""Codes of rows have seven bits, so that four of them can be compared in one word."""

MOST_BARS = 2**28
"""Bars of all series together, so that the offsets of prices and extremes fit 32 bits."""

PRICE_BYTES = 4 * 8 + 4 * 2 * 4
"""Bytes of a bar: prices, and the pyramid's four levels."""

BYTES_OF_A_BAR = 7 * 8 + PRICE_BYTES + 2 * 2 * 8 + 8
"""Columns, prices and their pyramid, the maps of two coders, and times."""

LEVELS = 4
"""Levels of the pyramid: extremes of 1, 4, 16 and 64 bars."""


class Stretch(NamedTuple):
    """Bars of the common axis that rows hold."""

    first: int  # the first of them, a multiple of `INDEX_BARS`
    n_bars: int  # how many, likewise
    is_part: bool = False  # whether what comes before and after them is held at other times


class DeviceMarket:
    """All series on one axis of bars, [B].

    Args:
        series: Bars that windows refer to by number.
        coders: Maps of codes that rows need.
        device: Where tensors lie.

    Attributes:
        device: Where tensors lie.
        starts: [S] first bar of each series on the axis; on the host.
        ends: [S] one past its last.
        n_bars: B.
        longest: Bars of the longest series.
        device_starts, device_ends: The same as tensors, int32.
        source_numbers: Name to number of a source.
        columns: All sources [B] one after the other, and a few bars that may be read past them.
        prices: [B, 4] low, high, open, close.
        pyramid: [LEVELS, B] int64; for each level l, groups of four lows and four highs of blocks
            of 4**l bars, the upper halves of their float64, two a word.
        finer, finer_of: Finer bars of all series, as `lay_out_finer` gives them.
        has_finer: Whether there are some.
        coder_numbers: Coder to its number.
        maps: [coders, 2, B] where code 1 begins, and codes per unit.
        opened_ns: [B] when bars open; on the host.
        opening_ranks: [B] int64, in the upper halves ranks of these times, of equal ones the same.

    Raises:
        DeviceError: When the bars of all series together are too many, or their finer bars.
    """

    def __init__(self, series: Sequence[Bars], coders: set[Coder], device: torch.device) -> None:
        lengths = np.array([len(bars) for bars in series], np.int64)
        self.starts, self.n_bars = lay_out_axis(lengths)
        if self.n_bars >= MOST_BARS:
            raise DeviceError(f"{self.n_bars:,} bars are too many for one device")
        self.ends = self.starts + lengths
        self.longest = int(lengths.max())
        self.device = device
        self.device_starts = self.to_device(self.starts.astype(np.int32))
        self.device_ends = self.to_device(self.ends.astype(np.int32))
        all_sources = [
            {name: rows.values(Column(name), {}) for name in SOURCES}
            for rows in build_series_rows(series, 0)
        ]
        self.source_numbers = {name: number for number, name in enumerate(all_sources[0])}
        self.columns = self._in_a_row(all_sources)
        columns = self.columns[:-ALIGNED_BARS].view(-1, self.n_bars)
        names = ("low", "high", "open", "close")
        prices = [columns[self.source_numbers[name]] for name in names]
        self.prices = torch.stack(prices, 1).contiguous()
        lows = self._fill_around(columns[self.source_numbers["low"]], np.inf)
        highs = self._fill_around(columns[self.source_numbers["high"]], -np.inf)
        self.pyramid = build_pyramid(lows, highs)
        finer, finer_of = lay_out_finer(series, self.starts.tolist(), self.n_bars)
        self.has_finer = has_finer(series)
        self.finer, self.finer_of = self.to_device(finer), self.to_device(finer_of)
        self.coder_numbers = {coder: number for number, coder in enumerate(coders)}
        self.maps = self._build_maps(all_sources)
        self.opened_ns = np.zeros(self.n_bars, np.int64)
        for start, end, bars in zip(self.starts, self.ends, series, strict=True):
            self.opened_ns[start:end] = bars.timestamp
        _, ranks = torch.unique(self.to_device(self.opened_ns), return_inverse=True)
        self.opening_ranks = ranks << 32

    @property
    def whole(self) -> Stretch:
        """All bars."""
        return Stretch(0, self.n_bars)

    def to_device(self, array: npt.NDArray[np.generic]) -> torch.Tensor:
        """A copy of an array on the device."""
        return to_device(array, self.device)

    def windows(self, windows: Sequence[Window]) -> torch.Tensor:
        """Windows [W, 3] int32: first bar of the series, of the window, and one past its last."""
        table = [
            (start, start + window.start, start + window.end)
            for window in windows
            for start in (int(self.starts[window.series]),)
        ]
        return self.to_device(np.array(table, np.int32))

    def _in_a_row(self, all_sources: list[dict[str, Floats]]) -> torch.Tensor:
        """All sources of all series, and bars that may be read past the last."""
        n = len(self.source_numbers)
        shape = n * self.n_bars + ALIGNED_BARS
        row = torch.zeros(shape, dtype=torch.float64, device=self.device)
        self._write_columns(row[:-ALIGNED_BARS], (sources.values() for sources in all_sources))
        return row

    def _build_maps(self, all_sources: list[dict[str, Floats]]) -> torch.Tensor:
        """The maps of all coders, 1 where there is no bar."""
        shape = len(self.coder_numbers), 2, self.n_bars
        maps = torch.ones(shape, dtype=torch.float64, device=self.device)
        of_series = (
            chain.from_iterable(
                coder_maps(coder, some, HIGHEST_CODE) for coder in self.coder_numbers
            )
            for some in all_sources
        )
        self._write_columns(maps, of_series)
        return maps

    def _write_columns(self, table: torch.Tensor, of_series: Iterable[Iterable[Floats]]) -> None:
        """Write columns [T] of each series into a table [columns * B] on the device."""
        # One column at a time: the host takes no pages for all of them.
        host, rows = np.empty(self.longest), table.view(-1, self.n_bars)
        for start, columns in zip(self.starts.tolist(), of_series, strict=True):
            for row, column in zip(rows, columns, strict=True):
                host[: len(column)] = column
                overwrite(row[start : start + len(column)], host[: len(column)])

    def _fill_around(self, column: torch.Tensor, filler: float) -> torch.Tensor:
        """A column [B] with a filler where there is no bar."""
        filled = torch.full_like(column, filler)
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            filled[start:end] = column[start:end]
        return filled


class SeriesPrices(NamedTuple):
    """Prices of one series in each of M markets, bar by bar, with their extremes."""

    market: torch.Tensor  # [M, B, 4] low, high, open, close; B is T padded to whole blocks
    pyramid: torch.Tensor  # [M, LEVELS, B] as in `DeviceMarket`
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
    prices, pyramids = [], []
    for bars in markets:
        columns = (bars.low, np.inf), (bars.high, -np.inf), (bars.open, 1.0), (bars.close, 1.0)
        columns_there = [to_device(_filled_up(*column), device) for column in columns]
        prices.append(torch.stack(columns_there, 1))
        pyramids.append(build_pyramid(*columns_there[:2]))
    return SeriesPrices(
        torch.stack(prices), torch.stack(pyramids), to_device(finer, device),
        to_device(finer_of, device), has_finer(markets),
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
    return -(-n_bars // INDEX_BARS) * INDEX_BARS


def lay_out_axis(lengths: Ints) -> tuple[Ints, int]:
    """First bar [S] of series of so many bars [S] on the common axis, and the axis' length B."""
    aligned = -(-lengths // ALIGNED_BARS) * ALIGNED_BARS
    starts = np.concatenate(([0], np.cumsum(aligned)[:-1])).astype(np.int64)
    return starts, round_up_bars(int(aligned.sum()))


def build_pyramid(lows: torch.Tensor, highs: torch.Tensor) -> torch.Tensor:
    """Extremes [LEVELS, B] of lows and highs [B], as `DeviceMarket` describes them."""
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
