"""The launches that fold trades of all windows of an individual as one account, both sides."""

from typing import NamedTuple

import torch

from engine.accounts.cuda.merging import arrange_kernel, count_kernel
from engine.accounts.ledger import ACCUMULATORS
from engine.cuda.ordering import (
    ORDERING,
    EntryOrder,
    SeriesAxis,
    count_stretches,
    order_entries,
)
from engine.positions.cuda.chain import drawdown_kernel
from engine.positions.cuda.trades import settle_kernel
from engine.runtime.compiling.launch import launch

N_OUT = len(ACCUMULATORS)

FOLDED = 8
"""Pairs with trades that a warp folds together, four sums each."""

COUNTED_WINDOWS = 16
"""Windows with counts that a program adds at a time."""

ACCOUNT_WARPS = 16
"""Warps that share the falls of an account."""

FALLS = 128
"""Trades of an account with falls that a warp looks at together."""


class FoldedTrades(NamedTuple):
    """Trades of pairs, [pairs, capacity] each, and scratch; all of it is overwritten."""

    counts: torch.Tensor  # [pairs] int32
    ends: torch.Tensor  # int32, bars of exits, counted from the first of their series
    r: torch.Tensor
    short_r: torch.Tensor  # 0 in place of a long's
    keys: torch.Tensor  # scratch of 8 bytes
    merged: torch.Tensor  # likewise
    places: torch.Tensor  # scratch, int32


class AccountFolding:
    """Folds trades in their order.

    Args:
        axis: All series.
        charges: [3] on the device, of which the last is the fraction at risk.
    """

    def __init__(self, axis: SeriesAxis, charges: torch.Tensor) -> None:
        self.axis, self._charges, self._device = axis, charges, charges.device

    def make_order(
        self, size: torch.Tensor, n_windows: int, keys: torch.Tensor, places: torch.Tensor
    ) -> EntryOrder:
        """Order of entries [pairs, capacity], with keys as scratch."""
        pairs, capacity = keys.shape
        stretches = count_stretches(n_windows, capacity)
        return EntryOrder(
            size, n_windows, capacity, stretches,
            torch.empty((pairs // n_windows, 4), dtype=torch.int64, device=self._device),
            torch.empty(pairs * (stretches + 1), dtype=torch.int32, device=self._device),
            keys.view(torch.int64), places,
        )  # fmt: skip

    def settle(
        self,
        size: torch.Tensor,
        trades: FoldedTrades,
        sums: torch.Tensor,
        equity: torch.Tensor,
        out: torch.Tensor,
        n_windows: int,
        warps: int,
        block: int,
    ) -> None:
        """Fold trades of pairs into accumulators [pairs, A], and find the falls.

        Sums and equity [pairs, capacity] receive their values after each trade.
        """
        pairs, capacity = len(out), sums.numel() // len(out)
        launch(settle_kernel, (-(-pairs // FOLDED), 3), size, trades.counts, trades.r,
               trades.short_r, sums, equity, self._charges, out, n_windows, capacity, warps=1,
               N_OUT=N_OUT, PAIRS=FOLDED)  # fmt: skip
        launch(drawdown_kernel, (pairs,), size, trades.counts, sums, equity, out, n_windows,
               capacity, warps=warps, N_OUT=N_OUT, BLOCK=block * warps)  # fmt: skip

    def fold(
        self,
        size: torch.Tensor,
        table: torch.Tensor,
        trades: FoldedTrades,
        results: torch.Tensor,
        accounts: torch.Tensor,
    ) -> None:
        """Fold windows of `table` [W, 3] into accumulators [P, A] of accounts.

        `results` [P * W, A] are those of windows.
        """
        individuals, n_windows = len(accounts), len(table)
        capacity = trades.ends.shape[1]
        order = self.make_order(size, n_windows, trades.keys, trades.places)
        order_entries(
            self.axis.longest, order, table, trades.counts, trades.ends, self.axis.opening_ranks,
            individuals,
        )  # fmt: skip
        counts = torch.empty(individuals, dtype=torch.int32, device=self._device)
        launch(count_kernel, (individuals,), size, results, counts, accounts, n_windows,
               warps=4, N_OUT=N_OUT, COLUMNS=1 << (N_OUT - 1).bit_length(),
               WINDOWS=COUNTED_WINDOWS)  # fmt: skip
        # Lists that are too short are no accounts: only their content was put in order.
        counts.copy_(order.spans[:, 3])
        for r, into in (trades.r, trades.merged), (trades.short_r, trades.keys):
            launch(arrange_kernel, (individuals, ORDERING), size, counts, trades.places, r, into,
                   n_windows, capacity, warps=4, BLOCK=256, BLOCKS=ORDERING)  # fmt: skip
        merged = trades._replace(counts=counts, r=trades.merged, short_r=trades.keys)
        self.settle(size, merged, trades.r, trades.short_r, accounts, 1, ACCOUNT_WARPS,
                    FALLS)  # fmt: skip
