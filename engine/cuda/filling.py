"""Stage 1: the launches that fill slots with rows and their codes."""

import numpy as np
import torch

from engine.compiling.launch import launch
from engine.contract import Form, Ints
from engine.cuda.market import DeviceMarket, Stretch
from engine.cuda.rows import code_kernel, ema_kernel, rolling_kernel
from engine.rows.coders import Coder

SCRATCH_BYTES = 2**28
"""Room for the sums of rolling rows that are computed together, at most."""

ROWS_TOGETHER = 512
"""Rolling rows that keep a large device busy, however short they are."""

LANES = 32
"""Blocks of a rolling row, or bars of an EMA, that a warp works on together."""

CODED_BARS = 1024
"""Bars that a program encodes."""


def fill_rows(
    market: DeviceMarket,
    form: Form,
    lengths: Ints,
    slots: Ints,
    rows: torch.Tensor,
    stretch: Stretch,
    state: torch.Tensor | None = None,
) -> None:
    """Compute rows of one form in every series, as far as a stretch reaches.

    Args:
        market: The series.
        form: Indicator and source.
        lengths: [n, L] lengths of each row.
        slots: [n] where each row goes.
        rows: [slots, bars of the stretch] receives them.
        stretch: The bars.
        state: [n, S] float64, where an EMA goes on from one stretch to the next; None when the
            stretch begins with the series.
    """
    values = market.sources[form.source]
    if form.indicator == "level":
        rows[market.to_device(slots)] = values[stretch.first : stretch.first + stretch.n_bars]
    elif form.indicator == "ema":
        for begin in range(0, len(slots), 65_535):
            part = slice(begin, begin + 65_535)
            spans = market.to_device(lengths[part, 0].astype(np.int32))
            last = values if state is None else state[part]
            launch(ema_kernel, (len(spans), len(market.starts)), values, spans,
                   market.to_device(slots[part].astype(np.int32)), market.device_starts,
                   market.device_ends, rows, last, stretch.first, stretch.n_bars, market.n_bars,
                   warps=1, CARRIES=state is not None, BARS=LANES)  # fmt: skip
    else:
        _fill_rolling(market, form, lengths[:, 0], slots, rows, stretch)


def fill_codes(
    market: DeviceMarket,
    coder: Coder,
    slots: Ints,
    rows: torch.Tensor,
    codes: torch.Tensor,
    highest: int,
    stretch: Stretch,
) -> None:
    """Encode rows.

    Args:
        market: The series.
        coder: The map.
        slots: [n] of the rows.
        rows: [slots, bars of the stretch].
        codes: The same shape, receives 0 for NaN, else 1 .. `highest`.
        highest: Highest code.
        stretch: The bars.
    """
    low, scale = (column[stretch.first :] for column in market.maps[coder])
    n_bars = stretch.n_bars
    grid = (len(slots), -(-n_bars // CODED_BARS))
    launch(code_kernel, grid, market.to_device(slots.astype(np.int32)), low, scale, rows, codes,
           n_bars, n_bars, HIGHEST=highest, BLOCK=CODED_BARS)  # fmt: skip


def scratch_bytes(n_bars: int) -> int:
    """Bytes that computing rolling rows of so many bars takes beside the rows."""
    return min(SCRATCH_BYTES, 16 * n_bars * ROWS_TOGETHER)


def _fill_rolling(
    market: DeviceMarket,
    form: Form,
    windows: Ints,
    slots: Ints,
    rows: torch.Tensor,
    stretch: Stretch,
) -> None:
    n_bars, cut = stretch.n_bars, int(stretch.is_part)
    longest = min(market.longest, n_bars)
    together = max(1, min(len(windows), scratch_bytes(n_bars) // (16 * n_bars)))
    left1 = torch.empty((together, n_bars), dtype=torch.float64, device=rows.device)
    left2 = torch.empty_like(left1)
    # Windows of about one length have about as many blocks, so that few lanes idle.
    order = np.argsort(windows, kind="stable")
    for begin in range(0, len(windows), together):
        part = order[begin : begin + together]
        of_series = -(-longest // int(windows[part].min())) + cut
        blocks = of_series * len(market.starts)
        launch(rolling_kernel, (-(-blocks // LANES), len(part)), market.sources[form.source],
               market.to_device(windows[part].astype(np.int32)),
               market.to_device(slots[part].astype(np.int32)), market.device_starts,
               market.device_ends, rows, left1, left2, stretch.first, n_bars,
               longest, cut, len(market.starts), warps=1,
               IS_ZSCORE=form.indicator == "zscore", LANES=LANES)  # fmt: skip
