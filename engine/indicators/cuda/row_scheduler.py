"""Rows of a fast case, and their codes: steps over all series of a market, filled into slots."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.backend import Ints, RowForm, RowRequest
from engine.indicators.coders import Coder
from engine.indicators.cuda.market import HIGHEST_CODE, DeviceMarket, Stretch
from engine.indicators.cuda.row_kernels import LINES, code_kernel
from engine.indicators.cuda.row_launches import (
    VALUE_BYTES,
    count_tail_bytes,
    cut_chains,
    launch_chains,
    launch_windows,
    send,
    share_blocks,
)
from engine.runtime.compiling.launch import launch

FORMS = ("level", "ema", "sma", "zscore")
"""Indicators that rows of a fast case have."""

CODED_ROWS, CODED_BARS = 8, 1024
"""Rows and bars that a program encodes."""

NO_SLOT = -1
"""Slot of fillers in a group of rows."""

SCRATCH_BYTES = 2**28
"""Room for the sums of windows that are made together, at most."""

ROWS_TOGETHER = 512
"""Windows that keep a large device busy, however short they are."""


class FormRows(NamedTuple):
    """Rows of one form, the shortest first."""

    lengths: Ints  # [n] bars
    slots: Ints  # [n]
    sources: Ints  # [n] numbers of sources


class DeviceRowPlan(NamedTuple):
    """Rows to compute."""

    forms: dict[str, FormRows]
    coded: torch.Tensor  # [2, n] int64 on the device, as `code_kernel` reads it
    n_coded: int


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

    def plan(self, requests: Sequence[RowRequest]) -> DeviceRowPlan:
        """Rows that are made together, with coded ones on the device."""
        forms = {}
        for name in FORMS:
            some = [request for request in requests if request.form.indicator == name]
            if some:
                forms[name] = self._join(some)
        coded = lay_out_coded(requests, self._coders)
        (there,) = send([coded], self._market.device)
        return DeviceRowPlan(forms, there, coded.shape[1])

    def allocate_state(self, plan: DeviceRowPlan) -> torch.Tensor:
        """Room for the value of each EMA before the next part of the bars."""
        n = len(plan.forms["ema"].slots) if "ema" in plan.forms else 0
        shape = 2, n * len(self._market.starts), 1
        return torch.zeros(shape, dtype=torch.float64, device=self._market.device)

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
        try:
            with torch.cuda.stream(self._beside):
                if "ema" in plan.forms:
                    self._average(plan.forms["ema"], rows, stretch, state)
            for name in ("sma", "zscore"):
                if name in plan.forms:
                    self._make_windows(name, plan.forms[name], rows, stretch)
            if "level" in plan.forms:
                _, slots, sources = plan.forms["level"]
                for slot, source in zip(slots.tolist(), sources.tolist(), strict=True):
                    begin = source * market.n_bars + stretch.first
                    rows[slot].copy_(market.columns[begin : begin + stretch.n_bars])
        finally:
            # Also where memory ran out: others take the slots then.
            if self._beside is not None:
                torch.cuda.current_stream(market.device).wait_stream(self._beside)
        if plan.n_coded:
            grid = (-(-stretch.n_bars // CODED_BARS), plan.n_coded // CODED_ROWS)
            launch(code_kernel, grid, market.maps, plan.coded, rows, codes, stretch.first,
                   stretch.n_bars, market.n_bars, HIGHEST=HIGHEST_CODE, ROWS=CODED_ROWS,
                   BARS=CODED_BARS)  # fmt: skip

    def _join(self, requests: Sequence[RowRequest]) -> FormRows:
        lengths = [
            r.parameters[:, 0].astype(np.int64) if r.parameters.shape[1] else 0 * r.slots
            for r in requests
        ]
        sources = [
            np.full(len(r.slots), self._market.source_numbers[r.form.source]) for r in requests
        ]
        rows = FormRows(
            np.concatenate(lengths),
            np.concatenate([r.slots for r in requests]),
            np.concatenate(sources),
        )
        order = np.argsort(rows.lengths, kind="stable")
        return FormRows(*(column[order] for column in rows))

    def _average(
        self, some: FormRows, rows: torch.Tensor, stretch: Stretch, state: torch.Tensor | None
    ) -> None:
        weights = np.tile(2.0 / (some.lengths + 1.0), len(self._market.starts))
        table = self._build_table(some, rows, stretch, operands=3)
        table[3], table[4] = 1, table[3] - 1
        table[LINES + 1] = table[LINES]
        # What goes on from one part of the bars to the next is one chain in each.
        cut = cut_chains(weights, self._market.longest, is_whole=state is not None)
        base = self._market.columns

        def settle(there: list[torch.Tensor]) -> None:
            first = (there[2].data_ptr() - base.data_ptr()) // VALUE_BYTES
            table[LINES + 2] = first + np.arange(len(weights))

        tables = send([table, cut, weights.view(np.int64)], base.device, settle)
        width = -(-self._market.longest // int(cut[0].min()))
        launch_chains(base, tables[0], tables[1], width, is_weighed=False, carried=state)

    def _make_windows(
        self, name: str, some: FormRows, rows: torch.Tensor, stretch: Stretch
    ) -> None:
        longest = min(self._market.longest, stretch.n_bars)
        table = self._build_table(some, rows, stretch, operands=1)
        windows = table[3]
        shares = table[4] = share_blocks(windows, longest)
        (there,) = send([table], rows.device)
        step = max(1, scratch_bytes(stretch.n_bars) // count_tail_bytes(longest))
        for begin in range(0, len(windows), step):
            part = slice(begin, begin + step)
            launch_windows(
                name, self._market.columns, there.view(table.shape)[:, part].contiguous(),
                windows[part], shares[part], longest,
            )  # fmt: skip

    def _build_table(
        self, some: FormRows, rows: torch.Tensor, stretch: Stretch, *, operands: int
    ) -> Ints:
        """A table of rows in each series, all rows of one after those of another."""
        market, n = self._market, len(some.slots)
        starts, ends = market.starts.repeat(n), market.ends.repeat(n)
        lengths, slots, sources = (np.tile(column, len(market.starts)) for column in some)
        table = np.zeros((LINES + operands, len(starts)), np.int64)
        origin = (rows.data_ptr() - market.columns.data_ptr()) // VALUE_BYTES - stretch.first
        table[0] = origin + slots.astype(np.int64) * stretch.n_bars + starts
        table[1] = np.maximum(stretch.first - starts, 0)
        stop = np.minimum(ends, stretch.first + stretch.n_bars)
        table[2] = np.maximum(stop - starts, 0)
        table[3] = lengths
        table[LINES] = sources * market.n_bars + starts
        return table


def lay_out_coded(requests: Sequence[RowRequest], coders: Mapping[RowForm, int]) -> Ints:
    """Lay rows out for `code_kernel`: [2, n] slot and coder.

    They come in groups of `CODED_ROWS` rows of one coder; `coders` gives the number of a form's
    coder, if compared.
    """
    slots: dict[int, list[Ints]] = {}
    for request in requests:
        if request.form in coders:
            slots.setdefault(coders[request.form], []).append(request.slots)
    groups = [np.zeros((2, 0), np.int64)]
    for number, parts in sorted(slots.items()):
        of_coder = np.concatenate(parts)
        group = np.full((2, -(-len(of_coder) // CODED_ROWS) * CODED_ROWS), NO_SLOT, np.int64)
        group[0, : len(of_coder)], group[1] = of_coder, number
        groups.append(group)
    return np.concatenate(groups, axis=1)


def scratch_bytes(n_bars: int) -> int:
    """Bytes that computing rolling rows of so many bars takes beside the rows."""
    each = count_tail_bytes(n_bars)
    return max(each, min(SCRATCH_BYTES, each * ROWS_TOGETHER))
