"""The launches of strategies with orders, ladders or money in accounts with limits."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, arrange_results
from engine.backend import Floats, Ints
from engine.cuda import order_accounts
from engine.cuda.account_folding import FoldedTrades
from engine.cuda.accounts import COUNTS, WindowGroup
from engine.cuda.answering import DeviceLimits, answer_lists
from engine.cuda.inputs import SentInputs
from engine.cuda.order_accounts import EXIT_BAR, SIDE, OrderAccounts, R
from engine.cuda.signal_lists import SignalLists, first_capacity, take_listed, take_trades
from engine.cuda.streams import Outcomes
from engine.cuda.word_signals import mark_signals
from engine.positions.cpu.orders import COOLDOWN
from engine.positions.cuda.listed_orders import (
    AloneSignals,
    TakenSignals,
    fold_taken,
    walk_alone,
)
from engine.positions.cuda.order_walk import LANES, LanePopulation, choose_width
from engine.runtime.cuda.watchdog import to_host

N_OUT = len(ACCUMULATORS)

WARPS = 16_384
"""Warps that keep a large device busy while each walks signals of a pair."""

NOTE_BYTES = 4
"""Bytes of a signal: number of touched bars without finer ones."""


class ListedOrders(NamedTuple):
    """Signals of pairs, individual after individual, and what each comes to by itself."""

    signals: SignalLists
    whole: torch.Tensor  # [pairs * capacity, n] int32, as `OrderLists`
    figures: torch.Tensor  # [pairs * capacity, n]


class LimitedOrders(OrderAccounts):
    """Positions on all series, where accounts have room for them.

    Args:
        limits: Of accounts.
        arguments: As of `OrderAccounts`.
    """

    def __init__(self, limits: DeviceLimits, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._limits = limits

    def first_capacity(self, group: WindowGroup, *, is_listed: bool) -> int:
        """Signals that lists have room for at first."""
        return first_capacity(group.longest)

    def bytes_of_pair(self, capacity: int, *, keeps: bool, is_account: bool) -> int:
        """Bytes of the lists of an individual in a window."""
        whole, figures = self._widths
        signals = SignalLists.bytes_of_pair(capacity, keeps=False, has_limits=True)
        return signals + capacity * (4 * whole + 8 * figures + NOTE_BYTES + 8 * keeps) + 8 * N_OUT

    def count_needed(self, lists: Any, accumulators: Floats) -> int:
        """The largest count of signals."""
        return int(to_host(lists.signals.most)[0])

    def run(  # type: ignore[override]
        self,
        group: WindowGroup,
        sent: Iterable[SentInputs],
        room: int,
        capacity: int,
        outcomes: Outcomes,
        *,
        keeps: bool = False,
        is_account: bool = False,
    ) -> ListedOrders:
        """Launch from conditions to accumulators; nothing waits for the host.

        Arguments as of `OrderAccounts.run`. Lists that are returned are overwritten where accounts
        are folded.
        """
        n_windows = len(group.table)
        pairs = room * n_windows
        listed = self._make_lists(pairs, capacity, outcomes.counts[:1], keeps=keeps)
        first: tuple[LanePopulation, SentInputs] | None = None
        for part, inputs in zip(group.parts, sent, strict=True):
            asks = self._list_alone(part.number, inputs, listed, n_windows)
            first = first or (asks, inputs)
        assert first is not None
        asks, (_, each, _, table) = first
        results = outcomes.results[: pairs * N_OUT].view(pairs, N_OUT)
        signals, pauses = listed.signals, asks.terms[:, COOLDOWN].to(torch.int32)
        answer_lists(self._limits, self._folding, each, table, signals, results, pauses)
        trades = self._fold_taken(each.size, asks, listed, results, lists_ends=is_account)
        if is_account:
            accounts = outcomes.accounts[: room * N_OUT].view(room, N_OUT)
            self._folding.fold(each.size, table, trades, results, accounts)
        return listed

    def build_ledgers(
        self,
        group: WindowGroup,
        lists: Any,
        accumulators: Floats,
        delays: Ints,
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of individuals, of whom are lists and accumulators [P, W, A]."""
        counts, (whole, figures) = self._take(lists, lists.whole, lists.figures)
        gross = take_listed(lists.signals.gross, lists.signals.trades)[:, None]
        ledger = replace(self._build_ledgers(whole, figures), gross=gross)
        shape = accumulators.shape[:2]
        rejected = to_host(lists.signals.rejected).reshape(shape)
        totals = (accumulators[:, :, column].astype(np.int64) for column in COUNTS)
        return ledger.cut(counts.reshape(shape), rejected, *totals)

    def build_results(
        self,
        group: WindowGroup,
        lists: Any,
        accumulators: Floats,
    ) -> Results:
        """Results of their trades."""
        shape = accumulators.shape[:2]
        counts, (exits, sides, r) = self._take(
            lists, lists.whole[:, EXIT_BAR], lists.whole[:, SIDE], lists.figures[:, R]
        )
        first = np.tile(group.table[:, 0], shape[0]).repeat(counts)
        exit_ns = self._folding.axis.opened_ns[first + exits]
        return arrange_results(counts.reshape(shape), exit_ns, r, sides.astype(np.int8))

    def _make_lists(
        self, pairs: int, capacity: int, most: torch.Tensor, *, keeps: bool
    ) -> ListedOrders:
        def make(kind: torch.dtype, *shape: int) -> torch.Tensor:
            return torch.empty(shape, dtype=kind, device=self._device)

        signals = SignalLists.empty(
            pairs, capacity, self._device, keeps=False, has_limits=True, has_finer=False, most=most
        )
        signals = signals._replace(notes=make(torch.int32, pairs, capacity))
        if keeps:
            signals = signals._replace(gross=make(torch.float64, pairs, capacity))
        whole, figures = self._widths
        return ListedOrders(
            signals,
            make(torch.int32, pairs * capacity, whole),
            make(torch.float64, pairs * capacity, figures),
        )

    def _list_alone(
        self, number: int, sent: SentInputs, listed: ListedOrders, n_windows: int
    ) -> LanePopulation:
        """List the signals of a series, whatever came before each; returns its inputs."""
        prices, (batch, each, windows, _), signals = self._prices[number], sent, listed.signals
        mark_signals(batch, each, windows, signals, n_windows)
        asks = self._ask(batch, each, prices)
        form = self._form._replace(has_finer=prices.finer_of.shape[1] > 0)
        pairs = len(each.bars) * len(windows)
        blocks = max(1, min(WARPS // max(pairs, 1), signals.marks.shape[1] // LANES))
        results = AloneSignals(
            each.size, windows, signals.counts, signals.marks, signals.leaves, signals.notes,
            signals.leverages, listed.whole, listed.figures,
        )  # fmt: skip
        order_accounts.launch_loop(
            walk_alone, form, (pairs * blocks, 1),
            prices.extremes, asks, self._rules, self._purse, n_windows, blocks, LANES, results,
        )  # fmt: skip
        return asks

    def _fold_taken(
        self,
        size: torch.Tensor,
        asks: LanePopulation,
        listed: ListedOrders,
        results: torch.Tensor,
        *,
        lists_ends: bool,
    ) -> FoldedTrades:
        """Fold the trades that are taken into accumulators [pairs, A]."""
        signals = listed.signals
        pairs, _ = signals.marks.shape
        n_windows, width = pairs // len(asks.delay), choose_width(pairs)
        taken = TakenSignals(
            size, signals.trades, signals.places, signals.rejected, signals.coarse, listed.whole,
            listed.figures, results, signals.marks, signals.r, signals.short_r,
        )  # fmt: skip
        order_accounts.launch_loop(
            fold_taken, self._form, (-(-pairs // width), 1),
            asks, self._rules, self._purse, n_windows, width, lists_ends, taken,
        )  # fmt: skip
        return FoldedTrades(
            signals.trades, signals.marks, signals.r, signals.short_r, signals.signal_r,
            signals.equity, signals.places,
        )  # fmt: skip

    def _take(
        self, listed: ListedOrders, *columns: torch.Tensor
    ) -> tuple[Ints, list[np.ndarray[Any, Any]]]:
        """How many trades pairs have, and columns of them."""
        signals = listed.signals
        counts = to_host(signals.trades).astype(np.int64)
        wanted = tuple(column.view(*signals.marks.shape, *column.shape[1:]) for column in columns)
        return counts, take_trades(signals, counts, wanted)
