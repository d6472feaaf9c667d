"""The one memory plan: how much may be taken of a device or a host, what for, and in which parts.

`docs/design/engine.md` says when work is cut, and how.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

from data.bars import Bars
from engine.accounts.ledger import ACCUMULATORS
from engine.errors import MemoryPlanError
from engine.runtime.free_memory import free_host_bytes

BESIDE_SHARE = 0.25
"""Share of free memory beside an engine: for bars that are read, folds beside a run."""

WORD_SHARES, MOST_WORD_BYTES = 3, 2**33
"""On a GPU rows, conditions and lists have a part each; conditions and lists so much at most, and
rows the rest."""

GRAPH_BYTES, GRAPH_SHARE = 2**32, 2
"""Of that part, the most for conditions or lists of a call, and the number of its parts, shared by
lanes: all graphs of a lane use the same, beside the memory of calls that list trades."""

N_LANES = 2
"""Ways to a GPU: one for its work, one for the next individuals from the host."""

MOST_ROWS = 2**14
"""Rows of which a plan knows."""

HOST_ROW_BYTES = 2**30
"""Rows that the host of a GPU keeps, for others that are made of them or while they are ranked."""


class MemoryShares(NamedTuple):
    """How backends of one kind share memory."""

    of_free: float  # share of free memory that is taken by default
    holds_series: bool = False  # whether series lie in the same memory

    def leave_work(self, memory_bytes: int, series_bytes: int) -> int:
        """Bytes for work in an amount of memory, beside series if it holds them."""
        return max(memory_bytes - series_bytes * self.holds_series, 0)


HOST = MemoryShares(0.5)
"""Cores: rows come and go with the work."""

GPU_WORDS = MemoryShares(0.65, holds_series=True)
"""A GPU: rows come and go with the work."""


class MemoryTaker(Protocol):
    """Taker of a device's memory: a maker of backends.

    Attributes:
        shares: How it shares its memory.
    """

    shares: MemoryShares

    def row_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that one row takes over all series, with its codes."""

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows, with what computing a row needs."""

    def free_bytes(self) -> int:
        """Bytes that are free on the device now."""


@dataclass(frozen=True)
class MemoryPlan:
    """Memory that a population will take, known before any work."""

    work_bytes: int  # bytes that a device may take for rows and individuals
    all_row_bytes: int  # bytes of all rows that searches can ask for
    series_bytes: int  # bytes of the series themselves
    bars: int  # bars of all series
    measure_free_bytes: Callable[[], int]  # bytes that were free on the device, measured once
    individuals: int = 1  # P
    n_windows: int = 1  # W

    @property
    def free_bytes(self) -> int:
        """Bytes that were free on the device."""
        return self.measure_free_bytes()

    @property
    def result_bytes(self) -> int:
        """Bytes of the accumulators [P, W, A]."""
        return self.individuals * self.n_windows * len(ACCUMULATORS) * 8

    @property
    def leaves_room_beside(self) -> bool:
        """True if an engine takes so little that another may take as much beside it."""
        work = min(WORD_SHARES * self.all_row_bytes + N_LANES * GRAPH_BYTES, self.work_bytes)
        return self.series_bytes + work <= BESIDE_SHARE * self.free_bytes

    def __str__(self) -> str:
        work, series, results, free = (
            _format_bytes(count)
            for count in (self.work_bytes, self.series_bytes, self.result_bytes, self.free_bytes)
        )
        return (
            f"{self.individuals:,} individuals on {self.bars:,} bars: rows and lists up to {work} "
            f"of {free} free, series {series}, results {results}"
        )


def allow_host_bytes(asked: int | None = None) -> int:
    """Bytes that may be taken on this host: the requested ones, or half of the free memory."""
    return asked or int(HOST.of_free * free_host_bytes())


def allow_bytes(taker: MemoryTaker, asked: int | None) -> int:
    """Bytes that engines may take on a device: the requested ones, or a share of free memory."""
    return asked or int(taker.shares.of_free * taker.free_bytes())


def plan_memory(
    taker: MemoryTaker, series: Sequence[Bars], n_rows: int, asked: int | None
) -> MemoryPlan:
    """Plan of an engine that holds series together.

    Args:
        taker: Its maker.
        series: Bars.
        n_rows: Rows that searches can ask for.
        asked: Bytes that it may take; a share of what is free when None.
    """
    series_bytes, measure = taker.series_bytes(series), cache(taker.free_bytes)
    allowed = int(taker.shares.of_free * measure()) if asked is None else asked
    work = taker.shares.leave_work(allowed, series_bytes)
    all_row_bytes = n_rows * taker.row_bytes(series)
    bars = sum(len(one) for one in series)
    return MemoryPlan(work, all_row_bytes, series_bytes, bars, measure)


def fit_rows(room: int, least: int, row_bytes: int) -> int:
    """Rows that have room, in bytes.

    Raises:
        MemoryPlanError: When those of one individual do not.
    """
    if room < least * row_bytes:
        raise MemoryPlanError(
            f"one individual needs {least} rows of {row_bytes:,} bytes each, "
            f"{room:,} bytes are allowed for rows; {least * row_bytes:,} are needed at least"
        )
    return room // row_bytes


def cut_series(
    taker: MemoryTaker, series: Sequence[Bars], n_rows: int, asked: int | None
) -> tuple[list[int], int]:
    """Borders of parts of series; memory holds one part; and bytes for each.

    All are one part where memory holds them and some rows. Else series take half of it at most, and
    the rows of a part half, whatever is free when the next part is made; more where a part is one
    series with rows that need more.
    """

    def count_bytes(some: Sequence[Bars]) -> int:
        return taker.series_bytes(some) + n_rows * taker.row_bytes(some)

    allowed = allow_bytes(taker, asked)
    if count_bytes(series) <= allowed:
        return [0, len(series)], allowed
    borders, left = [0], allowed // 2
    for number, bars in enumerate(series):
        taken = count_bytes([bars])
        if taken > left and number > borders[-1]:
            borders.append(number)
            left = allowed // 2
        left -= taken
    most = max(taker.row_bytes([bars]) for bars in series) * n_rows
    return [*borders, len(series)], asked or max(allowed // 2, min(most, allowed))


def count_apart(taker: MemoryTaker, series: Sequence[Bars], n_rows: int, asked: int | None) -> int:
    """How often a device has room for series as long as these, with so many rows each time.

    Rows that have no place are made again and again.
    """
    of_one = sum(taker.series_bytes([bars]) + n_rows * taker.row_bytes([bars]) for bars in series)
    return allow_bytes(taker, asked) // WORD_SHARES // of_one


def _format_bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
