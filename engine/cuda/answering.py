"""The launches that decide for which signals an account with limits has room."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.limits import build_limits, check_limits, parse_rank
from engine.backend import Ints
from engine.cuda.account_folding import AccountFolding
from engine.cuda.inputs import IndividualInputs
from engine.cuda.ordering import ORDERING, SeriesAxis, order_entries
from engine.cuda.signal_lists import SignalLists
from engine.errors import EngineError
from engine.positions.cuda.answers import answer_kernel, ask_kernel, gross_kernel
from engine.positions.cuda.kept import admit_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device
from strategy.model import Strategy
from strategy.rows import Rows

SIGNALS = 64
"""Signals that a warp looks at together."""

ADMITTED = 64
"""Signals that a warp admits at a time."""

MOST_PACKED = 255
"""Below so many windows their numbers fit into eight bits, beside a number without a meaning."""

FEWEST_SLOTS = 32
"""Room for open positions: one a lane, or more."""


class DeviceLimits(NamedTuple):
    """Limits of accounts, and what bars ask of them."""

    max_positions: int
    is_levered: bool  # whether leverage has a limit
    leverage: torch.Tensor  # [1] the most
    # [delays, B] int64, in the upper halves ranks by which signals are answered, from the least
    # delay on; how far apart ranks of one bar are by a bar of delay.
    turns: torch.Tensor
    least_delay: int
    apart: int
    opened: torch.Tensor  # [B] int64, in the upper halves ranks of the times at which bars open
    over: torch.Tensor  # [B] int32, the rank from which on what ends in a bar is over


def upload_limits(
    axis: SeriesAxis,
    strategy: Strategy,
    costs: Costs,
    series: Sequence[Bars],
    delays: Sequence[int],
    find_rows: Callable[[], Sequence[Rows]],
) -> DeviceLimits:
    """Limits of accounts, and rows for the order of answers to signals, on a device.

    Args:
        axis: The series.
        strategy: Whose signals ask.
        costs: With limits.
        series: Bars.
        delays: Bars by which entries may be late. Without a rank signals are answered as bars open,
            so that the first is enough; -1 is of those that ask as their bars open.
        find_rows: Gives rows of each series.

    Raises:
        EngineError: When the strategy or the bars have what limits do not cover.
    """
    check_limits(strategy, costs)
    limits, rank, ranks = build_limits(costs), parse_rank(costs), None
    if rank is not None:
        ranks = [rows.values(rank, {}) for rows in find_rows()]
    opened = axis.opened_ns
    times, rank_of = np.unique(opened, return_inverse=True)
    over, order = np.zeros(axis.n_bars, np.int32), np.zeros(axis.n_bars)
    last = np.zeros(axis.n_bars, np.int64)
    for number, (start, end) in enumerate(zip(axis.starts, axis.ends, strict=True)):
        over[start:end] = np.searchsorted(times, series[number].over_ns)
        # No signal enters behind the last bar.
        last[start:end] = end - 1
        if ranks is not None:
            order[start:end] = ranks[number]
    here = np.arange(axis.n_bars)
    turns = np.stack([rank_of[np.minimum(here + 1 + delay, last)] for delay in delays])
    turns, apart = turns.astype(np.int64), 1
    if ranks is not None:
        apart = axis.n_bars
        order = np.tile(order, len(turns))
        place = np.lexsort((-order, np.isnan(order), turns.reshape(-1)))
        turns.reshape(-1)[place] = np.arange(turns.size)
    device = axis.opening_ranks.device
    return DeviceLimits(
        limits.max_positions,
        not math.isinf(limits.max_leverage),
        to_device(np.array([limits.max_leverage]), device),
        to_device(turns << 32, device),
        delays[0],
        apart,
        axis.opening_ranks,
        to_device(over, device),
    )


def answer_lists(
    limits: DeviceLimits,
    folding: AccountFolding,
    each: IndividualInputs,
    table: torch.Tensor,
    lists: SignalLists,
    results: torch.Tensor,
    pauses: torch.Tensor | None = None,
) -> None:
    """Launch what takes signals where accounts have room.

    Args:
        limits: Of accounts.
        folding: Of trades.
        each: Individuals.
        table: [W, 3] windows.
        lists: Signals, with what each comes to; receive which are taken.
        results: [pairs, A] receives how many are skipped, and the greatest leverage.
        pauses: [P] int32 bars after a stop in which no signal counts, if there are some.
    """
    (pairs, capacity), n_windows = lists.marks.shape, len(table)
    individuals, size = pairs // n_windows, each.size
    order = folding.make_order(size, n_windows, lists.equity, lists.places)
    shifts = (each.bars[:, 1] - limits.least_delay) * limits.apart
    order_entries(
        folding.axis.longest, order, table, lists.counts, lists.marks, limits.turns, individuals,
        shifts=shifts,
    )  # fmt: skip
    asks, overs = lists.r.view(torch.int32).view(2, -1)
    frees, oldest = lists.short_r.view(torch.int32).view(2, -1)
    taken, flat_from = (
        torch.empty(number, dtype=torch.int32, device=lists.marks.device)
        for number in (individuals, 2 * pairs)
    )
    # Keys are read by then.
    levers, keeps = lists.equity, lists.gross.ndim == 2
    pauses_of = size if pauses is None else pauses
    launch(ask_kernel, (individuals, ORDERING), size, order.spans, order.places, lists.marks,
           lists.leaves, lists.leverages, limits.opened, limits.over, table, each.bars, pauses_of,
           asks, overs, frees, oldest, levers, lists.totals, n_windows, capacity, warps=4,
           PAUSES=pauses is not None, BLOCK=256, BLOCKS=ORDERING)  # fmt: skip
    most = min(limits.max_positions, n_windows)
    slots = max(FEWEST_SLOTS, 1 << (most - 1).bit_length())
    launch(answer_kernel, (individuals,), size, order.spans, order.places, asks, overs, frees,
           levers, limits.leverage, flat_from, oldest, taken, n_windows, capacity, most, warps=1,
           LEVERED=limits.is_levered, PACKS=n_windows < MOST_PACKED, SLOTS=slots,
           SIGNALS=SIGNALS)  # fmt: skip
    launch(gross_kernel, (individuals, ORDERING), size, taken, frees, oldest, order.places, asks,
           overs, levers, lists.totals, lists.gross, n_windows, capacity, warps=1, KEEPS=keeps,
           BLOCK=32, BLOCKS=ORDERING)  # fmt: skip
    launch(admit_kernel, (pairs,), size, lists.counts, lists.marks, lists.leaves, lists.notes,
           lists.totals, each.bars, pauses_of, lists.places, lists.trades, lists.rejected,
           lists.coarse, lists.gross, results, n_windows, capacity, warps=1,
           FINER=lists.notes.ndim == 2, COUNTED=lists.notes.dtype == torch.int32,
           PAUSES=pauses is not None, KEEPS=keeps, N_OUT=len(ACCUMULATORS),
           BLOCK=ADMITTED)  # fmt: skip


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
