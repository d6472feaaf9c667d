"""The launches that decide for which signals an account with limits has room."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.limits import AccountLimits
from engine.backend import Floats, Ints
from engine.cuda.ordering import ORDERING, order_entries
from engine.cuda.workspace import Workspace
from engine.errors import EngineError
from engine.indicators.cuda.market import DeviceMarket
from engine.positions.cuda.answers import answer_kernel, ask_kernel, gross_kernel, keep_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.types import MetWindows, TradePrices

SIGNALS = 64
"""Signals that a warp looks at together."""

MOST_PACKED = 255
"""Below so many windows their numbers fit into eight bits, beside one that means nothing."""

FEWEST_SLOTS = 32
"""Room for open positions: one a lane, or more."""


class DeviceLimits(NamedTuple):
    """Limits of accounts, and what bars ask of them."""

    max_positions: int
    is_levered: bool  # whether leverage has a limit
    leverage: torch.Tensor  # [1] the most
    turns: torch.Tensor  # [B] int64, in the upper halves ranks by which signals are answered
    over: torch.Tensor  # [B] int32, the rank from which on what ends in a bar is over


def upload_limits(
    market: DeviceMarket,
    limits: AccountLimits,
    bar_ns: Sequence[int],
    ranks: Sequence[Floats] | None,
    delay: int,
) -> DeviceLimits:
    """Limits on a device.

    Args:
        market: The series.
        limits: Of the accounts.
        bar_ns: Time of a bar of each series.
        ranks: [T] of each series whose signal is answered first; None for the order of series.
        delay: Bars by which entries are late.
    """
    opened = market.opened_ns
    times, rank_of = np.unique(opened, return_inverse=True)
    over, asking = np.zeros(market.n_bars, np.int32), np.arange(market.n_bars)
    order = np.zeros(market.n_bars)
    for number, (start, end) in enumerate(zip(market.starts, market.ends, strict=True)):
        over[start:end] = np.searchsorted(times, opened[start:end] + bar_ns[number])
        # No signal enters behind the last bar.
        asking[start:end] = np.minimum(asking[start:end] + 1 + delay, end - 1)
        if ranks is not None:
            order[start:end] = ranks[number]
    turns = rank_of[asking].astype(np.int64)
    if ranks is not None:
        place = np.lexsort((-order, np.isnan(order), turns))
        turns[place] = np.arange(market.n_bars)
    return DeviceLimits(
        limits.max_positions,
        not math.isinf(limits.max_leverage),
        market.to_device(np.array([limits.max_leverage])),
        market.to_device(turns << 32),
        market.to_device(over),
    )


def answer_signals(
    market: DeviceMarket,
    limits: DeviceLimits,
    work: Workspace,
    windows: MetWindows,
    individuals: int,
    prices: TradePrices | None,
    *,
    delay: int,
    warps: int,
) -> None:
    """Launch what takes signals where accounts have room, in place of `Stages.take`.

    Arguments as of `Stages.run`; `prices` receives what is open beside each trade, if wanted.
    """
    lists, asks = work.lists, work.asks
    asked, n_windows, capacity = work.asked, work.n_windows, work.capacity
    meets_own, keeps = windows.own is not None, prices is not None
    gross = lists.r if prices is None else prices.gross
    order_entries(
        market.longest, work, windows, lists.counts, lists.bars, limits.turns, individuals
    )
    launch(ask_kernel, (individuals, ORDERING), asked, work.spans, lists.words, lists.bars,
           lists.exits, lists.equity, market.opening_ranks, limits.over, windows.table,
           windows.numbers, asks.asks, asks.overs, asks.frees, asks.levers, lists.r, n_windows,
           capacity, warps=4, DELAY=delay, MEETS_OWN=meets_own, BLOCK=256,
           BLOCKS=ORDERING)  # fmt: skip
    most = min(limits.max_positions, n_windows)
    slots = max(FEWEST_SLOTS, 1 << (most - 1).bit_length())
    launch(answer_kernel, (individuals,), asked, work.spans, lists.words, asks.asks, asks.overs,
           asks.frees, asks.levers, limits.leverage, work.flat_from, asks.oldest, asks.taken,
           n_windows, capacity, most, warps=1, DELAYED=delay > 0, LEVERED=limits.is_levered,
           PACKS=n_windows < MOST_PACKED, SLOTS=slots, SIGNALS=SIGNALS)  # fmt: skip
    launch(gross_kernel, (individuals, ORDERING), asked, asks.taken, asks.frees, asks.oldest,
           lists.words, asks.asks, asks.overs, asks.levers, lists.r, gross, n_windows, capacity,
           warps=1, KEEPS=keeps, BLOCK=32, BLOCKS=ORDERING)  # fmt: skip
    launch(keep_kernel, (individuals * n_windows,), asked, lists.counts, lists.bars, lists.exits,
           lists.r, market.finer_of, lists.trade_list, lists.trades, lists.rejected, lists.coarse,
           gross, work.results, n_windows, capacity, warps=warps, DELAY=delay,
           FINER=market.has_finer, KEEPS=keeps, N_OUT=len(ACCUMULATORS),
           BLOCK=64 * warps)  # fmt: skip


def check_apart(windows: Ints) -> None:
    """Refuse windows [..., W, 3], series, start and end, of one account that overlap.

    Raises:
        EngineError: When two do.
    """
    order = np.lexsort((windows[..., 1], windows[..., 0]))
    series, starts, ends = np.moveaxis(np.take_along_axis(windows, order[..., None], -2), -1, 0)
    is_next = series[..., 1:] == series[..., :-1]
    if (is_next & (starts[..., 1:] < ends[..., :-1])).any():
        raise EngineError("windows of one account with limits overlap: use --device cpu")
