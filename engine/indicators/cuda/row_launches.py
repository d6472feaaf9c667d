"""Launches of windows and chains, whatever made their tables."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.backend import Floats, Ints
from engine.indicators.cuda.row_kernels import (
    chain_kernel,
    first_kernel,
    mend_kernel,
    window_kernel,
)
from engine.runtime.compiling.launch import launch

VALUE_BYTES = 8

SEARCHED, MENDED = 1024, 32
"""Bars among which a program looks for a seed, and that it makes again, at a time."""

JOBS, LANES = 32, 32
"""Chains that a warp carries, and blocks of a window that it works on together."""

EARLY = 40.0
"""Weights of a chain that a segment of it begins early: exp(-40) is left of its beginning.
In averages of a random series 99.96 % of segments agreed then in all bits."""

SHORTEST_SEGMENT, MOST_SEGMENTS, MOST_EARLY = 2**13, 1024, 2
"""Bars of a segment at least, segments of a row, and by how many times its own bars a segment
begins early at most, which bounds the work."""

BUSY, MOST_SHARES = 2**16, 8
"""Blocks that keep a large device busy, a lane each; in how many shares one is finished."""


def share_blocks(windows: Ints, bars: int) -> Ints:
    """In how many shares blocks of windows [n] are finished."""
    return np.clip(BUSY * windows // max(len(windows) * bars, 1), 1, MOST_SHARES)


def launch_windows(
    form: str, rows: torch.Tensor, table: torch.Tensor, windows: Ints, shares: Ints, bars: int
) -> None:
    """Launch windows [n] of one form over up to so many bars; a table's places count from rows."""
    n, n_tails = len(windows), bars // 8 + 2
    tails = torch.empty((n, 2, n_tails), dtype=torch.float64, device=rows.device)
    # One more where a block begins before the first bar.
    blocks = 1 + -(-bars // int(windows.min()))
    grid = n * -(-blocks // LANES), int(shares.max())
    launch(window_kernel, grid, rows, table, tails, n, n_tails, warps=1, FORM=form,
           LANES=LANES)  # fmt: skip


def launch_chains(
    rows: torch.Tensor, table: torch.Tensor, cut: torch.Tensor, width: int, *, is_weighed: bool
) -> None:
    """Launch chains in up to `width` segments, cut [2, n]."""
    n, device = cut.numel() // 2, rows.device
    first = torch.empty(n, dtype=torch.int64, device=device)
    seeds = torch.empty(n, dtype=torch.float64, device=device)
    states = torch.empty((2, n, width), dtype=torch.float64, device=device)
    launch(first_kernel, (n,), rows, table, first, seeds, n, TILE=SEARCHED)
    launch(chain_kernel, (-(-n // JOBS), width), rows, table, cut, first, seeds, states, n, width,
           warps=1, WEIGHED=is_weighed, JOBS=JOBS)  # fmt: skip
    if width > 1:
        launch(mend_kernel, (n,), rows, table, cut, first, states, n, width, warps=1,
               WEIGHED=is_weighed, TILE=MENDED)  # fmt: skip


def cut_chains(weights: Floats, bars: int) -> Ints:
    """Bars of a segment, and bars that one begins early, [2, n], of chains by their weights [n].

    Chains that a warp carries together are cut alike. A segment is all of the row where several
    would take as long.

    >>> cut_chains(np.full(1, 2 / 13), 35_040).tolist()
    [[8192], [288]]
    >>> cut_chains(np.full(1, 2 / 1345), 35_040).tolist()
    [[35040], [0]]
    """
    borders = np.arange(0, len(weights), JOBS)
    slowest = np.minimum.reduceat(weights, borders).repeat(JOBS)[: len(weights)]
    early = _round_up(np.ceil(EARLY / slowest).astype(np.int64))
    least = np.maximum(early // MOST_EARLY, max(SHORTEST_SEGMENT, -(-bars // MOST_SEGMENTS)))
    segment = _round_up(least)
    is_cut = segment + early < bars
    return np.stack([np.where(is_cut, segment, _round_up(bars)), np.where(is_cut, early, 0)])


def send(
    parts: Sequence[Ints],
    device: torch.device,
    settle: Callable[[list[torch.Tensor]], None],
) -> list[torch.Tensor]:
    """Copies of arrays as int64 on the device, in one go that the host does not wait for.

    Before they are copied `settle` may change them, by where they will lie.
    """
    sizes = [part.size for part in parts]
    room = torch.empty(sum(sizes), dtype=torch.int64, device=device)
    there = list(torch.split(room, sizes))
    settle(there)
    host = torch.empty(len(room), dtype=torch.int64, pin_memory=device.type == "cuda")
    np.concatenate([part.reshape(-1) for part in parts], out=host.numpy())
    room.copy_(host, non_blocking=True)
    return there


def _round_up(bars: Ints | int) -> Ints:
    return -(-np.asarray(bars, np.int64) // MENDED) * MENDED
