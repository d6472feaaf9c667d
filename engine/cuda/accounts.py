"""The launches of positions of both sides: from conditions on all series to sums and accounts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, EXIT_PLACES, Ledger
from engine.accounts.results import Results, arrange_results
from engine.backend import Floats, Ints, Slots
from engine.cuda.account_folding import AccountFolding, FoldedTrades
from engine.cuda.answering import DeviceLimits, answer_lists
from engine.cuda.inputs import IndividualInputs, SentInputs
from engine.cuda.ordering import SeriesAxis, choose_warps
from engine.cuda.signal_lists import (
    SignalLists,
    collect_trades,
    first_capacity,
    read_sides,
    take_listed,
    take_trades,
)
from engine.cuda.streams import Outcomes
from engine.cuda.word_signals import SIGNALS, WordSignals, mark_signals
from engine.indicators.cuda.market import SeriesPrices
from engine.positions.cuda.trades import choose_kernel, tally_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device, to_host

N_OUT = len(ACCUMULATORS)

COUNTS = [ACCUMULATOR_INDEX[name] for name in ("orders", "expired", "coarse", "skipped")]
"""Accumulators that a ledger holds as well."""

STRETCH = 16
"""Signals of a stretch that pay for another: its first positions are often not the account's."""

LANE_BARS, FEW_PROGRAMS = 256, 2048
"""Bars of positions that pay for another lane, from so many programs on. With 32 programs a pair in
place of 4, exits of 512 individuals whose stops move took 1.25 ms in place of 0.74 (one H100)."""

CHOSEN, TALLIED = 256, 64
"""Signals that a warp chooses, and trades that it counts at a time."""

PROGRAMS = 65_536
"""Programs that keep a large device busy while each looks for the exits of a pair. With 4 programs
a pair in place of 1, exits of 16,384 individuals whose stops moved took half as long (one H200)."""


class SeriesPart(NamedTuple):
    """Windows of one series, among all that are evaluated together."""

    number: int  # of the series
    windows: Ints  # [w, 3] place among all, start and end


class WindowGroup(NamedTuple):
    """Windows that are evaluated together."""

    numbers: Ints  # [W] their places among all requested ones
    parts: list[SeriesPart]
    table: Ints  # [W, 3] on the axis of all series: first bar of the series, start and end

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of windows by series."""
        return tuple(number for part in self.parts for number in (part.number, len(part.windows)))

    @property
    def longest(self) -> int:
        """Bars of the longest window."""
        return int((self.table[:, 2] - self.table[:, 1]).max())


class WordAccounts:
    """Positions on all series, as accounts take them.

    Args:
        prices: Of each series.
        axis: All series.
        charges: Costs of a side, smallest risk, fraction at risk.
        device: Where tensors lie.
        limits: Of accounts, if they have some.
    """

    def __init__(
        self,
        prices: Sequence[SeriesPrices],
        axis: SeriesAxis,
        charges: Floats,
        device: torch.device,
        limits: DeviceLimits | None,
    ) -> None:
        self._axis, self._device, self._limits = axis, device, limits
        self._signals = [WordSignals(series, charges, device) for series in prices]
        self._folding = AccountFolding(axis, to_device(charges, device))
        self._longest = max(series.n_padded for series in prices)
        self._has_finer = any(series.has_finer for series in prices)

    def first_capacity(self, group: WindowGroup, *, is_listed: bool) -> int:
        """Signals that lists have room for at first."""
        return first_capacity(group.longest)

    def bytes_of_pair(self, capacity: int, *, keeps: bool, is_account: bool) -> int:
        """Bytes of the lists of an individual in a window."""
        has_limits = self._limits is not None
        return SignalLists.bytes_of_pair(capacity, keeps=keeps, has_limits=has_limits) + 8 * N_OUT

    def count_needed(self, lists: SignalLists, accumulators: Floats) -> int:
        """The largest count of signals."""
        return int(to_host(lists.most)[0])

    def run(
        self,
        group: WindowGroup,
        sent: Iterable[SentInputs],
        room: int,
        capacity: int,
        outcomes: Outcomes,
        *,
        keeps: bool = False,
        is_account: bool = False,
    ) -> SignalLists:
        """Launch from conditions to accumulators; nothing waits for the host.

        `sent` gives the inputs of each series, when it is its turn. Returned lists are
        overwritten where accounts are folded.
        """
        n_windows, has_limits = len(group.table), self._limits is not None
        pairs = room * n_windows
        lists = SignalLists.empty(
            pairs, capacity, self._device, keeps=keeps, has_limits=has_limits,
            has_finer=self._has_finer, most=outcomes.counts[:1],
        )  # fmt: skip
        if self._has_finer:
            lists.notes.zero_()
        results = outcomes.results[: pairs * N_OUT].view(pairs, N_OUT)
        # What only orders and money count stays 0.
        results.zero_()
        widest = max(len(part.windows) for part in group.parts)
        blocks = self._count_blocks(room * widest, capacity)
        first: tuple[IndividualInputs, torch.Tensor] | None = None
        for part, (inputs, each, windows, table) in zip(group.parts, sent, strict=True):
            signals = self._signals[part.number]
            mark_signals(inputs, each, windows, lists, n_windows)
            signals.leave(
                inputs, each, windows, lists, n_windows, blocks, keeps=keeps, asks_all=has_limits
            )
            first = first or (each, table)
        assert first is not None
        each, table = first
        if self._limits is None:
            self._choose(each, n_windows, lists, blocks)
        else:
            answer_lists(self._limits, self._folding, each, table, lists, results)
        trades = self._fold(each, n_windows, lists, results, is_account=is_account)
        if is_account:
            accounts = outcomes.accounts[: room * N_OUT].view(room, N_OUT)
            self._folding.fold(each.size, table, trades, results, accounts)
        return lists

    def build_ledgers(
        self, group: WindowGroup, lists: SignalLists, accumulators: Floats, delays: Ints
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of individuals, of whom are lists, accumulators [P, W, A] and delays [P]."""
        shape = accumulators.shape[:2]
        trades, counts, rejected = collect_trades(lists, delays.repeat(shape[1]))
        totals = (accumulators[:, :, column].astype(np.int64) for column in COUNTS)
        return trades.cut(counts.reshape(shape), rejected.reshape(shape), *totals)

    def build_results(
        self, group: WindowGroup, lists: SignalLists, accumulators: Floats
    ) -> Results:
        """Results of their trades."""
        shape = accumulators.shape[:2]
        counts = to_host(lists.trades)
        marks, leaves = take_trades(lists, counts, (lists.marks, lists.leaves))
        r = take_listed(lists.r, lists.trades)
        first = np.tile(group.table[:, 0], shape[0]).repeat(counts)
        exit_ns = self._axis.opened_ns[first + (leaves >> 3)]
        return arrange_results(counts.reshape(shape), exit_ns, r, read_sides(marks))

    def list_bars(self, number: int, sent: SentInputs, window: tuple[int, int]) -> Slots:
        """Signal bars [S] of one individual in one window of a series, of either side."""
        return self._signals[number].list_bars(sent.asked, sent.each, window)

    def _choose(
        self, each: IndividualInputs, n_windows: int, lists: SignalLists, blocks: int
    ) -> None:
        """Take signals one position at a time."""
        pairs, capacity = lists.marks.shape
        launch(choose_kernel, (pairs,), each.size, lists.counts, lists.marks, lists.leaves,
               lists.r.view(torch.int32), lists.short_r.view(torch.int32), lists.notes, each.bars,
               lists.places, lists.trades, lists.rejected, lists.coarse, n_windows, capacity,
               warps=1, FINER=self._has_finer, SIGNALS=SIGNALS, BLOCK=CHOSEN,
               BLOCKS=blocks)  # fmt: skip

    def _count_blocks(self, pairs: int, capacity: int) -> int:
        """Programs that share a pair's signals; a power of two."""
        most = capacity // (SIGNALS * STRETCH)
        if self._limits is None:
            paying = self._longest // (SIGNALS * LANE_BARS)
            most = min(most, max(paying, FEW_PROGRAMS // pairs))
        return 1 << (max(1, min(PROGRAMS // pairs, most)).bit_length() - 1)

    def _fold(
        self,
        each: IndividualInputs,
        n_windows: int,
        lists: SignalLists,
        out: torch.Tensor,
        *,
        is_account: bool,
    ) -> FoldedTrades:
        """Fold the trades that were chosen into accumulators [pairs, A]."""
        pairs, capacity = lists.marks.shape
        warps = choose_warps(pairs, self._longest)
        launch(tally_kernel, (pairs,), each.size, lists.trades, lists.rejected, lists.coarse,
               lists.places, lists.marks, lists.leaves, lists.notes, lists.signal_r, each.bars,
               lists.r, lists.short_r, out, n_windows, capacity, warps=warps, EXITS=EXIT_PLACES,
               FINER=self._has_finer, ENDS=is_account, N_OUT=N_OUT,
               BLOCK=TALLIED * warps)  # fmt: skip
        # R of signals is read by then; the sums of R take its place.
        trades = FoldedTrades(lists.trades, lists.places, lists.r, lists.short_r, lists.signal_r,
                              lists.equity, lists.marks)  # fmt: skip
        self._folding.settle(each.size, trades, lists.signal_r, lists.equity, out, n_windows,
                             warps, TALLIED)  # fmt: skip
        return trades
