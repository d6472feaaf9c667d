"""Stage 1: the launches that fill slots with rows and their codes."""

import numpy as np
import torch

from engine.backends.coders import Coder
from engine.backends.contract import Form, Ints
from engine.backends.cuda.launch import launch
from engine.backends.cuda.market import DeviceMarket
from engine.backends.cuda.rows import code_kernel, ema_kernel, rolling_kernel

SCRATCH_BYTES = 2**28
"""Room for the sums of rolling rows that are computed together."""

LANES = 32
"""Blocks of a rolling row, or bars of an EMA, that a warp works on together."""

CODED_BARS = 1024
"""Bars that a program encodes."""


def fill_rows(
    market: DeviceMarket, form: Form, lengths: Ints, slots: Ints, rows: torch.Tensor
) -> None:
    """Compute rows of one form in every series.

    Args:
        market: The series.
        form: Indicator and source.
        lengths: [n, L] lengths of each row.
        slots: [n] where each row goes.
        rows: [slots, B] receives them.
    """
    values = market.sources[form.source]
    if form.indicator == "level":
        rows[market.to_device(slots)] = values
    elif form.indicator == "ema":
        for begin in range(0, len(slots), 65_535):
            part = slice(begin, begin + 65_535)
            spans = market.to_device(lengths[part, 0].astype(np.int32))
            launch(ema_kernel, (len(spans), len(market.starts)), values, spans,
                   market.to_device(slots[part].astype(np.int32)), market.device_starts,
                   market.device_ends, rows, market.n_bars, market.n_bars, warps=1,
                   BARS=LANES)  # fmt: skip
    else:
        _fill_rolling(market, form, lengths[:, 0], slots, rows)


def fill_codes(
    market: DeviceMarket,
    coder: Coder,
    slots: Ints,
    rows: torch.Tensor,
    codes: torch.Tensor,
    highest: int,
) -> None:
    """Encode rows.

    Args:
        market: The series.
        coder: The map.
        slots: [n] of the rows.
        rows: [slots, B].
        codes: [slots, B] receives 0 for NaN, else 1 .. `highest`.
        highest: Highest code.
    """
    low, scale = market.maps[coder]
    grid = (len(slots), -(-market.n_bars // CODED_BARS))
    launch(code_kernel, grid, market.to_device(slots.astype(np.int32)), low, scale, rows, codes,
           market.n_bars, market.n_bars, HIGHEST=highest, BLOCK=CODED_BARS)  # fmt: skip


def _fill_rolling(
    market: DeviceMarket, form: Form, windows: Ints, slots: Ints, rows: torch.Tensor
) -> None:
    together = max(1, min(len(windows), SCRATCH_BYTES // (16 * market.n_bars), 65_535))
    left1 = torch.empty((together, market.n_bars), dtype=torch.float64, device=rows.device)
    left2 = torch.empty_like(left1)
    # Windows of about one length have about as many blocks, so that few lanes idle.
    order = np.argsort(windows, kind="stable")
    for begin in range(0, len(windows), together):
        part = order[begin : begin + together]
        blocks = -(-market.longest // int(windows[part].min())) * len(market.starts)
        launch(rolling_kernel, (-(-blocks // LANES), len(part)), market.sources[form.source],
               market.to_device(windows[part].astype(np.int32)),
               market.to_device(slots[part].astype(np.int32)), market.device_starts,
               market.device_ends, rows, left1, left2, market.n_bars,
               market.longest, len(market.starts), warps=1,
               IS_ZSCORE=form.indicator == "zscore", LANES=LANES)  # fmt: skip
