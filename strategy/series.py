"""Columns that rows are computed from: those of one series, and those of its higher bars."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from data.bars import Bars, hash_of_columns
from data.checks import COLUMNS
from data.resample import FIRST_MONDAY_NS
from data.timeframe import MINUTE_NS
from strategy.genes import Floats, Ints


@dataclass(frozen=True, eq=False)
class Series:
    """Columns of one series, read-only, for own indicators."""

    timestamp: Ints  # [T], int64 nanoseconds UTC, a bar's open
    open: Floats  # [T], price, as are high, low and close
    high: Floats  # [T]
    low: Floats  # [T]
    close: Floats  # [T]
    volume: Floats  # [T], units
    timeframe_ns: int  # duration of a bar, nanoseconds
    extra: Mapping[str, Floats] = field(default_factory=dict)  # extra columns by name, each [T]

    def __post_init__(self) -> None:
        for name in COLUMNS:
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        extra = {name: _read_only(column) for name, column in self.extra.items()}
        object.__setattr__(self, "extra", extra)

    def __len__(self) -> int:
        return len(self.timestamp)

    @classmethod
    def of(cls, bars: Bars) -> "Series":
        """The columns of bars."""
        columns = {name: getattr(bars, name) for name in COLUMNS}
        return cls(**columns, timeframe_ns=bars.timeframe_ns, extra=bars.extra)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, hexadecimal, of all columns, as that of the bars that they came from."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return hash_of_columns(self.timeframe_ns, columns, self.extra)

    def copy(self) -> "Series":
        """A copy of the bars in memory of its own."""
        return self.map_columns(np.copy)

    def until(self, end: int) -> "Series":
        """Bars [0, end), nothing after them."""
        return self.map_columns(lambda column: column[:end])

    def map_columns(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> "Series":
        """The series with each column as `change` makes it."""
        columns: dict[str, Any] = {name: change(getattr(self, name)) for name in COLUMNS}
        extra = {name: change(column) for name, column in self.extra.items()}
        return replace(self, **columns, extra=extra)


def higher_series(
    series: Series, minutes: int, offset: int, run: Callable[..., Callable[..., Floats]]
) -> tuple[Series, Ints]:
    """Bars of so many minutes, and the newest that is over with each bar, [T]; below 0 without one.

    Two buckets are left out: that of bar 0, with first bars that the file may lack, and one
    without a bar. A higher bar ends with the bar that lasts to the end of its bucket. If the next
    one opens in it all the same, as on the day of a clock put forward, that one begins another.
    """
    span, shift = minutes * MINUTE_NS, offset * MINUTE_NS
    buckets = (series.timestamp + shift - FIRST_MONDAY_NS) // span
    edges = FIRST_MONDAY_NS + buckets * span - shift
    is_end = series.timestamp + series.timeframe_ns >= edges + span
    is_same = buckets[1:] == buckets[:-1]
    is_first = np.append(False, ~is_same | is_end[:-1])
    begins = np.flatnonzero(is_first)
    after = np.append(begins, len(series))
    last = after[1:] - 1
    higher = Series(
        timestamp=np.where(is_same[begins - 1], series.timestamp[begins], edges[begins]),
        open=series.open[begins],
        high=run(largest_of_buckets)(series.high, after),
        low=-run(largest_of_buckets)(-series.low, after),
        close=series.close[last],
        volume=run(sums_of_buckets)(series.volume, after),
        timeframe_ns=span,
    )
    return higher, is_first.cumsum() - 1 - ~is_end


def largest_of_buckets(values: Floats, begins: Ints) -> Floats:
    """Largest value of bars [begins[k], begins[k + 1]), [K] for K + 1 numbers."""
    largest = np.empty(len(begins) - 1)
    for k in range(len(largest)):
        peak = values[begins[k]]
        for t in range(begins[k] + 1, begins[k + 1]):
            peak = max(peak, values[t])
        largest[k] = peak
    return largest


def sums_of_buckets(values: Floats, begins: Ints) -> Floats:
    """Sum of bars [begins[k], begins[k + 1]), oldest first, [K] for K + 1 numbers."""
    sums = np.empty(len(begins) - 1)
    for k in range(len(sums)):
        total = values[begins[k]]
        for t in range(begins[k] + 1, begins[k + 1]):
            total = total + values[t]
        sums[k] = total
    return sums


def _read_only(column: Floats | Ints) -> Floats | Ints:
    shut = column.view()
    shut.flags.writeable = False
    return shut
