"""Stage 1: the launches that fill slots with rows and their codes."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch

from engine.backend import Ints, RowForm, RowRequest
from engine.indicators.coders import Coder
from engine.indicators.cuda import tables
from engine.indicators.cuda.market import HIGHEST_CODE, DeviceMarket, Stretch
from engine.indicators.cuda.rows import code_kernel, ema_kernel, mend_kernel, rolling_kernel
from engine.runtime.compiling.launch import launch

MENDED_BARS = 32
"""Bars of an EMA that are computed again before they are compared."""

FORMS = ("level", "ema", *tables.ROLLING)
"""Indicators that there are kernels for."""

LANES = 32
"""Blocks of a rolling row that a warp works on together."""

CODED_BARS = 1024
"""Bars that a program encodes."""

SCRATCH_BYTES = 2**28
"""Room for the sums of rolling rows that are computed together, at most."""

ROWS_TOGETHER = 512
"""Rolling rows that keep a large device busy, however short they are."""


class Rolling(NamedTuple):
    """Rolling rows of one launch."""

    table: torch.Tensor  # [5, n] int32 on the device, as `rolling_kernel` reads it
    shortest: int  # their shortest window
    shares: int  # in which the bars of a block are finished, at most


class DeviceRowPlan(NamedTuple):
    """Rows to compute, on the device."""

    # Number of the source and slot of each row that is a source itself.
    levels: list[tuple[int, int]]
    averages: torch.Tensor  # [5, n] int32, as `ema_kernel` reads it
    shortest: int  # bars of a segment of an EMA, at least
    segments: int  # of an EMA in the longest series, at most
    rolling: list[Rolling]  # launch after launch
    coded: torch.Tensor  # [2, n] int32, as `code_kernel` reads it


class DeviceRowFiller:
    """Computes rows and their codes on one device; the host never waits for it.

    Args:
        market: The series.
        coders: Form to its coder, where it is compared.
    """

    def __init__(self, market: DeviceMarket, coders: Mapping[RowForm, Coder]) -> None:
        self._market = market
        self._coders = {form: market.coder_numbers[coder] for form, coder in coders.items()}
        is_cuda = market.device.type == "cuda"
        self._beside = torch.cuda.Stream(market.device) if is_cuda else None  # type: ignore[no-untyped-call]

    def upload_plan(self, requests: Sequence[RowRequest], stretch: Stretch) -> DeviceRowPlan:
        """Bring what is to be computed to the device.

        `stretch` is the bars, or the first of several parts.
        """
        market, numbers = self._market, self._market.source_numbers
        averages = [r for r in requests if r.form.indicator == "ema"]
        # What goes on from one part of the bars to the next is one chain in each.
        shortest = market.n_bars if stretch.is_part else tables.SHORTEST_SEGMENT
        laid_out = tables.lay_out_averages(averages, numbers, market.longest, shortest)
        rolling = tables.lay_out_rolling(
            [r for r in requests if r.form.indicator in tables.ROLLING],
            numbers,
            stretch.n_bars,
            scratch_bytes(stretch.n_bars) // _tail_bytes(stretch.n_bars),
        )
        coded = tables.lay_out_coded(requests, self._coders)
        on_device = _upload_arrays([laid_out, coded, *rolling], market.device)
        return DeviceRowPlan(
            [
                (numbers[form.source], slot)
                for form, _, slots in requests
                if form.indicator == "level"
                for slot in slots.tolist()
            ],
            on_device[0],
            shortest,
            int((-(-market.longest // laid_out[3])).max(initial=1)),
            [
                Rolling(table, int(host[0].min()), int(host[4].max()))
                for table, host in zip(on_device[2:], rolling, strict=True)
            ],
            on_device[1],
        )

    def allocate_state(self, plan: DeviceRowPlan) -> torch.Tensor:
        """Room for the value of each EMA before each of its segments, or before the next part."""
        market = self._market
        width = market.n_bars // plan.shortest + len(market.starts)
        shape = (plan.averages.shape[1], width)
        return torch.empty(shape, dtype=torch.float64, device=market.device)

    def run(
        self,
        plan: DeviceRowPlan,
        rows: torch.Tensor,
        codes: torch.Tensor,
        stretch: Stretch,
        state: torch.Tensor | None = None,
    ) -> None:
        """Compute rows as far as a stretch of bars reaches.

        Args:
            plan: What to compute.
            rows: [slots, bars of the stretch] receives them.
            codes: The same shape, receives 0 for NaN, else 1 .. highest.
            stretch: The bars.
            state: As the part before left it, or as `allocate_state` gave it; None for all bars.
        """
        market = self._market
        # An average waits for itself; sums of blocks keep the device busy beside it.
        if self._beside is not None:
            self._beside.wait_stream(torch.cuda.current_stream(market.device))
        with torch.cuda.stream(self._beside):
            if plan.averages.numel():
                self._averages(plan, rows, stretch, state)
        self._rolling(plan.rolling, rows, stretch)
        for source, slot in plan.levels:
            begin = source * market.n_bars + stretch.first
            rows[slot].copy_(market.columns[begin : begin + stretch.n_bars])
        if self._beside is not None:
            torch.cuda.current_stream(market.device).wait_stream(self._beside)
        if plan.coded.numel():
            grid = (-(-stretch.n_bars // CODED_BARS), plan.coded.shape[1] // tables.CODED_ROWS)
            launch(code_kernel, grid, market.maps, plan.coded, rows, codes, stretch.first,
                   stretch.n_bars, market.n_bars, HIGHEST=HIGHEST_CODE, ROWS=tables.CODED_ROWS,
                   BARS=CODED_BARS)  # fmt: skip

    def _averages(
        self, plan: DeviceRowPlan, rows: torch.Tensor, stretch: Stretch, state: torch.Tensor | None
    ) -> None:
        market, n = self._market, plan.averages.shape[1]
        n_series = len(market.starts)
        state = self.allocate_state(plan) if state is None else state
        # Grids end at 65,535 programs on their second and third axes.
        launch(ema_kernel, (plan.segments, n // tables.AVERAGES, n_series), market.columns,
               plan.averages, market.device_starts, market.device_ends, rows, state,
               stretch.first, stretch.n_bars, market.n_bars, state.shape[1], plan.shortest, warps=1,
               ROWS=tables.AVERAGES)  # fmt: skip
        if plan.segments > 1:
            launch(mend_kernel, (n, n_series), market.columns, plan.averages, market.device_starts,
                   market.device_ends, rows, state, n, market.n_bars, state.shape[1],
                   plan.shortest, warps=1, SEGMENTS=tables.MOST_SEGMENTS,
                   BARS=MENDED_BARS)  # fmt: skip

    def _rolling(self, launches: Sequence[Rolling], rows: torch.Tensor, stretch: Stretch) -> None:
        market, n_series = self._market, len(self._market.starts)
        longest, cut = min(market.longest, stretch.n_bars), int(stretch.is_part)
        most = max((len(table[0]) for table, _, _ in launches), default=0)
        words = most * _tail_bytes(stretch.n_bars) // 8
        tails = torch.empty(words, dtype=torch.float64, device=rows.device)
        for table, shortest, shares in launches:
            blocks = (-(-longest // shortest) + cut) * n_series
            launch(rolling_kernel, (-(-blocks // LANES), len(table[0]), shares), market.columns,
                   table, market.device_starts, market.device_ends, rows, tails, stretch.first,
                   stretch.n_bars, market.n_bars, longest, cut, n_series, warps=1,
                   LANES=LANES)  # fmt: skip


def scratch_bytes(n_bars: int) -> int:
    """Bytes that computing rolling rows of so many bars takes beside the rows."""
    each = _tail_bytes(n_bars)
    return max(each, min(SCRATCH_BYTES, each * ROWS_TOGETHER))


def _tail_bytes(n_bars: int) -> int:
    """Two sums of every eighth bar, and one before the first."""
    return 2 * 8 * (n_bars // 8 + 1)


def _upload_arrays(arrays: Sequence[Ints], device: torch.device) -> list[torch.Tensor]:
    """Copies of arrays as int32 on the device, in one go that the host does not wait for."""
    # Each begins at a whole vector.
    ends = list(accumulate(-(-array.size // 4) * 4 for array in arrays))
    begins = [0, *ends[:-1]]
    host = torch.empty(ends[-1], dtype=torch.int32, pin_memory=device.type == "cuda")
    for array, begin in zip(arrays, begins, strict=True):
        host.numpy()[begin : begin + array.size] = array.reshape(-1)
    there = host.to(device, non_blocking=True)
    return [
        there[begin : begin + array.size].view(array.shape)
        for array, begin in zip(arrays, begins, strict=True)
    ]
