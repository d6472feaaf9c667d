"""The launches that put entries of all windows of an individual in one order."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.accounts.cuda.merging import key_kernel, order_kernel, span_kernel
from engine.backend import Ints
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device

MERGED_WINDOWS = 32
"""Windows with lists that a program looks at together."""

STRETCH, SIDE = 40, 64
"""Entries of an account, about, in a stretch of time in which they are put in order; and places
that a warp finds together: nearly always all of a stretch."""

SHORTEST_STRETCH, MOST_STRETCHES = 32, 1024
"""Entries of full lists that pay for a stretch of time, and most of these an account has."""

ORDERING = 64
"""Programs that share the entries of an individual; each puts stretches in order."""

FEW_PAIRS = 1024
"""Up to so many pairs, a program works through its own in large steps, else in small ones."""

LONG_BARS = 2**17
"""Series from this length on have so many trades that four warps share a pair's."""


class SeriesAxis(NamedTuple):
    """Series on one axis of bars, [B]."""

    starts: Ints  # [S] first bar of each
    ends: Ints  # [S] one past its last
    n_bars: int  # B
    longest: int  # bars of the longest
    opened_ns: Ints  # [B] when bars open; on the host
    # [B] int64, in the upper halves ranks of these times, of equal ones the same.
    opening_ranks: torch.Tensor


def lay_out_series(series: Sequence[Bars], device: torch.device) -> SeriesAxis:
    """Series one after the other on a common axis."""
    lengths = np.array([len(bars) for bars in series], np.int64)
    ends = lengths.cumsum()
    opened_ns = np.concatenate([bars.timestamp for bars in series])
    _, ranks = np.unique(opened_ns, return_inverse=True)
    there = to_device(ranks.astype(np.int64) << 32, device)
    return SeriesAxis(ends - lengths, ends, len(opened_ns), int(lengths.max()), opened_ns, there)


class EntryOrder(NamedTuple):
    """Order of the entries of all windows of individuals."""

    size: torch.Tensor  # [1] int32, how many individuals there are; there may be room for more
    n_windows: int  # W
    capacity: int  # entries that lists have room for
    stretches: int  # of time, into which an account is cut at most
    spans: torch.Tensor  # [P, 4] int64, into which it is cut
    edges: torch.Tensor  # [P * W, stretches + 1] int32, where stretches begin in lists
    keys: torch.Tensor  # [P, W, capacity] int64
    places: torch.Tensor  # [P, W * capacity] int32, where entries lie, in their order


def order_entries(
    longest: int,
    order: EntryOrder,
    table: torch.Tensor,
    counts: torch.Tensor,
    listed: torch.Tensor,
    ranks: torch.Tensor,
    individuals: int,
    *,
    shifts: torch.Tensor | None = None,
) -> None:
    """Put entries of all windows in the order of their bars' ranks.

    Args:
        longest: Bars of the longest series.
        order: Receives their places; keys are scratch.
        table: [W, 3] windows that they meet.
        counts: [pairs] how many entries there are.
        listed: [pairs, capacity] their bars, counted from the first of their series; of signals as
            `mark_kernel` lists them.
        ranks: [B] int64, in the upper halves.
        individuals: As launched for.
        shifts: [P] int32 of signals, how far behind their bars ranks stand.
    """
    size, n_windows, capacity, most, spans, edges, keys, places = order
    pairs, is_signal = individuals * n_windows, shifts is not None
    launch(span_kernel, (individuals,), size, counts, ranks, table, spans, n_windows, capacity,
           most, warps=1, WINDOWS=MERGED_WINDOWS, STRETCH=STRETCH)  # fmt: skip
    warps = choose_warps(pairs, longest)
    launch(key_kernel, (pairs,), size, counts, listed, ranks, counts if shifts is None else shifts,
           table, spans, keys, edges, n_windows, capacity, most, warps=warps,
           SIDED=int(is_signal), WINDOWS=MERGED_WINDOWS, BLOCK=64 * warps)  # fmt: skip
    launch(order_kernel, (individuals, ORDERING), size, spans, keys, edges, places,
           n_windows, capacity, most, warps=1, TIES=not is_signal, WINDOWS=MERGED_WINDOWS,
           SIDE=SIDE, BLOCKS=ORDERING)  # fmt: skip


def choose_warps(pairs: int, longest: int) -> int:
    """Warps that share a pair's trades, in series of up to so many bars."""
    return 4 if pairs <= FEW_PAIRS or longest >= LONG_BARS else 1


def count_stretches(n_windows: int, capacity: int) -> int:
    """Most stretches of time into which an account is cut, that take little beside its lists."""
    return max(1, min(n_windows * capacity // SHORTEST_STRETCH, capacity // 2, MOST_STRETCHES))
