"""The launches that put entries of all windows of an individual in one order."""

import torch

from engine.accounts.cuda.merging import key_kernel, order_kernel, span_kernel
from engine.cuda.workspace import Workspace
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.types import MetWindows

MERGED_WINDOWS = 32
"""Windows whose lists a program looks at together."""

STRETCH, SIDE = 40, 64
"""Entries of an account that a stretch of time has about, in which they are put in order; and
those whose places a warp finds together: nearly always all of a stretch."""

ORDERING = 64
"""Programs that share the entries of an individual, each of which puts stretches in order."""

FEW_PAIRS = 1024
"""Up to so many pairs, a program works through its own in large steps, else in small ones."""

LONG_BARS = 2**17
"""Series from this length on have so many trades that four warps share a pair's."""


def order_entries(
    longest: int,
    work: Workspace,
    windows: MetWindows,
    counts: torch.Tensor,
    listed: torch.Tensor,
    ranks: torch.Tensor,
    individuals: int,
) -> None:
    """Put entries of all windows in the order of their bars' ranks.

    Their places are left in the words of the lists, and their keys in the sums.

    Args:
        longest: Bars of the longest series.
        work: Of the individuals.
        windows: That they meet.
        counts: [pairs] how many entries there are.
        listed: [pairs, capacity] their bars.
        ranks: [B] int64, in the upper halves.
        individuals: As launched for.
    """
    asked, n_windows, capacity = work.asked, work.n_windows, work.capacity
    spans, edges, most = work.spans, work.edges, work.stretches
    pairs, meets_own = individuals * n_windows, windows.own is not None
    launch(span_kernel, (individuals,), asked, counts, ranks, windows.table, windows.numbers,
           spans, n_windows, capacity, most, warps=1, MEETS_OWN=meets_own,
           WINDOWS=MERGED_WINDOWS, STRETCH=STRETCH)  # fmt: skip
    keys, warps = work.lists.sums.view(torch.int64), choose_warps(pairs, longest)
    launch(key_kernel, (pairs,), asked, counts, listed, ranks, windows.table, windows.numbers,
           spans, keys, edges, n_windows, capacity, most, warps=warps, MEETS_OWN=meets_own,
           WINDOWS=MERGED_WINDOWS, BLOCK=64 * warps)  # fmt: skip
    launch(order_kernel, (individuals, ORDERING), asked, spans, keys, edges, work.lists.words,
           n_windows, capacity, most, warps=1, WINDOWS=MERGED_WINDOWS, SIDE=SIDE,
           BLOCKS=ORDERING)  # fmt: skip


def choose_warps(pairs: int, longest: int) -> int:
    """Warps that share a pair's trades, in series of up to so many bars."""
    return 4 if pairs <= FEW_PAIRS or longest >= LONG_BARS else 1
