"""The launches of one evaluation, stage after stage."""

from typing import NamedTuple

import numpy as np
import torch

from engine.accounts.cuda.merging import arrange_kernel, count_kernel
from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Exits
from engine.conditions.cuda.candidate_lists import CandidateLists, Packing
from engine.conditions.cuda.signals import signal_kernel
from engine.conditions.encode import Entry
from engine.cuda.account_folding import ACCOUNT_WARPS, COUNTED_WINDOWS, FOLDED
from engine.cuda.answering import DeviceLimits, answer_signals
from engine.cuda.ordering import FEW_PAIRS, ORDERING, choose_warps, order_entries
from engine.cuda.workspace import Workspace
from engine.indicators.cuda.market import HIGHEST_CODE, INDEX_BARS, DeviceMarket, Stretch
from engine.positions.cuda.bracket_exits import exit_kernel
from engine.positions.cuda.chain import drawdown_kernel, fold_kernel, price_kernel
from engine.positions.cuda.take import take_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.types import MetWindows, TradePrices

SIGNALS = 32
"""Signals with exits that a warp looks for together."""

LANES = 32
"""Pairs with signals that a warp walks through together."""

PROGRAMS = 65_536
"""Programs that keep a large device busy while each looks for exits of few signals."""

BARS_OF_A_BATCH = 2048
"""Bars in which a pair has about a warp full of signals, give or take."""

SHORT_LIST = 256
"""Up to lists of this length, windows are so short that a warp has enough with one."""


class Rules(NamedTuple):
    """The strategy as the stages read it."""

    entry: Entry  # the conjunction
    exits: Exits  # bracket and costs
    packing: Packing  # which comparisons candidates carry


class Stages:
    """Signals, exits and chain over the buffers of a workspace.

    Args:
        rules: The strategy.
        market: The series.
        rows: [slots, B] float64.
        codes: [slots, B] uint8.
        stretch: Bars that rows hold.
        warm_ups: [slots] int32, bars before the first that may signal, of each row.
        limits: Of accounts, if they have some.
    """

    def __init__(
        self,
        rules: Rules,
        market: DeviceMarket,
        rows: torch.Tensor,
        codes: torch.Tensor,
        stretch: Stretch,
        warm_ups: torch.Tensor,
        limits: DeviceLimits | None = None,
    ) -> None:
        self.limits = limits
        entry, exits, packing = rules
        self.stretch, self._warm_ups = stretch, warm_ups
        self._exits, self._market, self._rows, self._codes = exits, market, rows, codes
        self._n_packed = packing.n_packed
        self._genes = tuple(entry.genes[packing.order].reshape(-1).tolist())
        self._scales = market.to_device(entry.scales[packing.order])
        self._pairs = _order_rows(entry.pairs.tolist())
        self._exact = _order_rows(entry.exact.tolist())
        self._warm_rows = tuple(entry.warm_rows.tolist())
        costs = np.array([exits.per_side, exits.min_risk, exits.risk_fraction])
        self._costs = market.to_device(costs)

    def run(
        self,
        work: Workspace,
        windows: MetWindows,
        candidates: CandidateLists,
        individuals: int,
        prices: TradePrices | None = None,
    ) -> None:
        """Launch all stages; none waits for the host.

        They are launched for at least as many individuals as were uploaded. `prices`
        receives the prices of a ledger, on request.
        """
        self.signals(work, windows, candidates, individuals)
        self.after_signals(work, windows, individuals, prices)

    def after_signals(
        self,
        work: Workspace,
        windows: MetWindows,
        individuals: int,
        prices: TradePrices | None = None,
    ) -> None:
        """Launch all stages but the signals; arguments as in `run`."""
        self.exits(work, windows, individuals)
        if self.limits is None:
            self.take(work, individuals)
        else:
            pairs = individuals * work.n_windows
            warps = choose_warps(pairs, self._market.longest)
            answer_signals(
                self._market, self.limits, work, windows, individuals, prices,
                delay=self._exits.delay, warps=warps,
            )  # fmt: skip
        self.price(work, individuals, prices)
        self.fold(work, individuals)
        self.drawdown(work, individuals)

    def signals(
        self,
        work: Workspace,
        windows: MetWindows,
        candidates: CandidateLists,
        individuals: int,
    ) -> None:
        """Launch stage 2; arguments as in `run`."""
        n_bars, lists = self.stretch.n_bars, work.lists
        pairs = individuals * work.n_windows
        warps, sparse, dense = (4, 2048, 512) if pairs <= FEW_PAIRS else (4, 512, 128)
        if work.capacity <= SHORT_LIST:
            warps, sparse, dense = 1, 128, 32
        launch(signal_kernel, (pairs,), work.asked, candidates.index, candidates.bars,
               candidates.words, self._rows, self._codes, work.genomes, work.table,
               self._warm_ups, self._scales, windows.table, windows.numbers, lists.counts,
               lists.bars, lists.exits, lists.words, work.counts, work.n_windows, work.capacity,
               self.stretch.first, n_bars, n_bars // INDEX_BARS, warps=warps, GENES=self._genes,
               N_PACKED=self._n_packed, PAIRS=self._pairs, EXACT=self._exact,
               WARM_ROWS=self._warm_rows, N_COLUMNS=work.genomes.shape[1],
               N_ROWS=work.table.shape[1], HIGHEST=HIGHEST_CODE, INDEX_BARS=INDEX_BARS,
               DELAY=self._exits.delay, IS_PART=self.stretch.is_part,
               MEETS_OWN=windows.own is not None, BLOCK=sparse, DENSE=dense)  # fmt: skip

    def exits(self, work: Workspace, windows: MetWindows, individuals: int) -> None:
        """Launch stage 3; arguments as in `run`."""
        exits, lists, pairs = self._exits, work.lists, individuals * work.n_windows
        # Enough programs to fill the device, few enough that each has signals to look at.
        most = max(1, self._market.longest // BARS_OF_A_BATCH)
        blocks = 1 << (max(1, min(PROGRAMS // pairs, most)).bit_length() - 1)
        launch(exit_kernel, (pairs * blocks,), work.asked, self._market.prices,
               self._market.pyramid, self._rows, work.genomes, work.table, windows.table,
               windows.numbers, self._costs, lists.counts, lists.bars, lists.exits,
               lists.equity, work.n_windows, work.capacity, self.stretch.first,
               self.stretch.n_bars, self._market.n_bars, warps=1, N_COLUMNS=work.genomes.shape[1],
               N_ROWS=work.table.shape[1], STOP_ROW=exits.stop_row, STOP_MULT=exits.stop_mult,
               REWARD=exits.reward, MAX_HOLD=exits.max_hold, DELAY=exits.delay,
               MEETS_OWN=windows.own is not None, LEVERS=self.limits is not None,
               SIGNALS=SIGNALS, BLOCKS=blocks)  # fmt: skip

    def take(self, work: Workspace, individuals: int) -> None:
        """Launch the first part of stage 4; arguments as in `run`."""
        lists, pairs = work.lists, individuals * work.n_windows
        launch(take_kernel, (-(-pairs // LANES),), work.asked, lists.counts, lists.bars,
               lists.exits, self._market.finer_of, lists.trade_list, lists.trades, lists.rejected,
               lists.coarse, work.flat_from, work.n_windows, work.capacity, warps=1,
               DELAY=self._exits.delay, CARRIES=self.stretch.is_part,
               FINER=self._market.has_finer, LANES=LANES)  # fmt: skip

    def price(self, work: Workspace, individuals: int, prices: TradePrices | None = None) -> None:
        """Launch the second part of stage 4; arguments as in `run`."""
        exits, lists, pairs = self._exits, work.lists, individuals * work.n_windows
        kept, reasons = prices[:2] if prices else (lists.r, lists.counts)
        warps = choose_warps(pairs, self._market.longest)
        launch(price_kernel, (pairs,), work.asked, self._market.prices, self._market.finer,
               self._market.finer_of, self._rows, work.genomes, work.table, self._costs,
               lists.trades, lists.rejected, lists.coarse, lists.trade_list, lists.r, kept, reasons,
               work.results, work.n_windows, work.capacity, self.stretch.first,
               self.stretch.n_bars, warps=warps, CARRIES=self.stretch.is_part,
               FINER=self._market.has_finer, N_COLUMNS=work.genomes.shape[1],
               N_ROWS=work.table.shape[1], STOP_ROW=exits.stop_row, STOP_MULT=exits.stop_mult,
               REWARD=exits.reward, MAX_HOLD=exits.max_hold, DELAY=exits.delay,
               KEEPS_PRICES=prices is not None, N_OUT=len(ACCUMULATORS),
               BLOCK=64 * warps)  # fmt: skip

    def fold(self, work: Workspace, individuals: int) -> None:
        """Launch the third part of stage 4; arguments as in `run`."""
        lists, pairs = work.lists, individuals * work.n_windows
        launch(fold_kernel, (-(-pairs // FOLDED), 2), work.asked, lists.trades, lists.r,
               lists.sums, lists.equity, self._costs, work.results, work.n_windows,
               work.capacity, warps=1, CARRIES=self.stretch.is_part, N_OUT=len(ACCUMULATORS),
               PAIRS=FOLDED)  # fmt: skip

    def drawdown(self, work: Workspace, individuals: int) -> None:
        """Launch the last part of stage 4; arguments as in `run`."""
        lists, pairs = work.lists, individuals * work.n_windows
        warps = choose_warps(pairs, self._market.longest)
        launch(drawdown_kernel, (pairs,), work.asked, lists.trades, lists.sums, lists.equity,
               work.results, work.n_windows, work.capacity, warps=warps,
               CARRIES=self.stretch.is_part, N_OUT=len(ACCUMULATORS), BLOCK=64 * warps)  # fmt: skip

    def fold_accounts(self, work: Workspace, windows: MetWindows, individuals: int) -> None:
        """Launch what folds all windows of an individual as one account; arguments as in `run`.

        Lists of windows are read for the last time: the stages' arrays in them make room.
        """
        lists, trades, accounts = work.lists, work.account_trades, work.accounts
        size, n_windows, capacity = work.asked, work.n_windows, work.capacity
        n_out, whole = len(ACCUMULATORS), n_windows * capacity
        ranks = self._market.opening_ranks
        order_entries(
            self._market.longest, work.order, windows, lists.trades, lists.trade_list, ranks,
            individuals,
        )  # fmt: skip
        launch(count_kernel, (individuals,), size, work.results, trades, accounts, n_windows,
               warps=4, N_OUT=n_out, COLUMNS=1 << (n_out - 1).bit_length(),
               WINDOWS=COUNTED_WINDOWS)  # fmt: skip
        launch(arrange_kernel, (individuals, ORDERING), size, trades, lists.words, lists.r,
               lists.equity, n_windows, capacity, warps=4, BLOCK=256,
               BLOCKS=ORDERING)  # fmt: skip
        merged, sums, equity = lists.equity, lists.sums, lists.r
        launch(fold_kernel, (-(-individuals // FOLDED), 2), size, trades, merged, sums, equity,
               self._costs, accounts, 1, whole, warps=1, CARRIES=False, N_OUT=n_out,
               PAIRS=FOLDED)  # fmt: skip
        launch(drawdown_kernel, (individuals,), size, trades, sums, equity, accounts, 1, whole,
               warps=ACCOUNT_WARPS, CARRIES=False, N_OUT=n_out,
               BLOCK=128 * ACCOUNT_WARPS)  # fmt: skip


def _order_rows(comparisons: list[list[int]]) -> tuple[int, ...]:
    """Rows of each comparison: the smaller one, then the larger one."""
    ordered: list[int] = []
    for left, right, is_greater in comparisons:
        ordered += [right, left] if is_greater else [left, right]
    return tuple(ordered)
