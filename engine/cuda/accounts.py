"""The launches of positions of both sides: from conditions and orders to sums or ledgers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, EXIT_PLACES, Ledger
from engine.accounts.results import Results, arrange_results
from engine.backend import Floats, Ints, Slots
from engine.cuda.dispatch import first_capacity, longer, round_up_capacity
from engine.cuda.ordering import choose_warps
from engine.cuda.stages import FOLDED
from engine.indicators.cuda.market import SeriesPrices
from engine.positions.cuda.both_sides import (
    LATE_GAP,
    SESSION,
    SESSION_OPEN,
    SIGNAL,
    STOP_GAP,
    leave_kernel,
    mark_kernel,
)
from engine.positions.cuda.chain import drawdown_kernel
from engine.positions.cuda.trades import choose_kernel, settle_kernel, tally_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device, to_host

N_OUT, COARSE = len(ACCUMULATORS), ACCUMULATOR_INDEX["coarse"]

SIGNALS = 32
"""Stretches of a list of signals whose positions a warp looks for together."""

STRETCH = 16
"""Signals of a stretch that pay for another: its first positions are often not the account's."""

LANE_BARS, FEW_PROGRAMS = 256, 2048
"""Bars whose positions pay for another lane, from so many programs on. With 32 programs a pair in
place of 4, exits of 512 individuals whose stops move took 1.25 ms in place of 0.74 (one H100)."""

MARKED_WORDS, CHOSEN = 128, 256
"""Words of 64 bars that a program lists signals of at a time, and signals that a warp chooses."""

TALLIED = 64
"""Trades that a warp counts at a time."""

PROGRAMS = 16_384
"""Programs that keep a large device busy while each looks for the exits of a pair."""

KEPT_PRICES = 5
"""Entry, stop, target, exit and last stop."""

AT_OPEN = [one.value for one in (SIGNAL, STOP_GAP, SESSION_OPEN)]
"""How a position is left at an open."""

LIST_BYTES = 4 * 3 + 8 * 4 + 1
"""Of one signal: what it is, how it would end, which are taken, four numbers, and a note."""

ASKED_BYTES = 8 * 2
"""Of one signal that asks an account for room: its leverage, and that of others."""


class BatchInputs(NamedTuple):
    """Inputs of a batch on one series that all its individuals share."""

    longs: torch.Tensor  # [n, N] int64 conditions of entries, 64 bars a word
    shorts: torch.Tensor  # likewise
    leaves: torch.Tensor  # [n, N] conditions of exits of both sides
    # [n, N + 1] int32, the first word from each on that is not 0; N without one.
    following: torch.Tensor
    # [q, T] int32, by entry bar twice the bar at which the clock ends a position, plus 1 at
    # its open.
    sessions: torch.Tensor
    forms: torch.Tensor  # [3, 2] int32, forms of stop, target and trail
    reads: torch.Tensor  # [3, 2, 2] int32, where their formulas begin and end
    code: torch.Tensor  # instructions of all formulas, int32
    constants: torch.Tensor  # numbers that they read
    rows: torch.Tensor  # [slots, T]
    moves: bool  # whether anybody's stop moves


class IndividualInputs(NamedTuple):
    """What every individual asks, [P, ...]; axes of two are longs and shorts."""

    size: torch.Tensor  # [1] int32, how many there are; there may be room for more
    entries: torch.Tensor  # [P, 2] int32, which conditions; -1: the side never enters
    exits: torch.Tensor  # [P, 2] int32 likewise; -1: none
    slots: torch.Tensor  # [P, R] int32, where its rows lie
    genomes: torch.Tensor  # [P, G]
    # [P, 9] what stop, target and trail take beside formulas and from which gain on the stop
    # follows, of longs and shorts in turn; and the gain at which it moves to the entry, NaN:
    # never.
    numbers: torch.Tensor
    bars: torch.Tensor  # [P, 3] int32, longest hold, delay, and first bar that may signal
    session_of: torch.Tensor  # [P] int32, place in sessions; -1: not left by the clock

    def part(self, members: slice) -> "IndividualInputs":
        """Some of the individuals."""
        some = [tensor[members] for tensor in self[1:]]
        size = torch.full((1,), len(some[0]), dtype=torch.int32, device=self.size.device)
        return IndividualInputs(size, *some)


class SignalLists(NamedTuple):
    """Signals and trades of pairs of individual and window, [pairs, capacity] each."""

    counts: torch.Tensor
    marks: torch.Tensor
    leaves: torch.Tensor
    places: torch.Tensor
    trades: torch.Tensor
    rejected: torch.Tensor
    signal_r: torch.Tensor
    r: torch.Tensor  # before there are trades, int32: which signal follows which
    short_r: torch.Tensor
    equity: torch.Tensor
    prices: torch.Tensor
    leverages: torch.Tensor
    gross: torch.Tensor
    notes: torch.Tensor  # int8, of signals on finer bars; [1] without any
    coarse: torch.Tensor  # [pairs]
    most: torch.Tensor  # [1] int32, the largest count


class SeriesAccounts:
    """Positions on one series.

    Args:
        prices: The series.
        charges: Costs of a side, smallest risk, fraction at risk.
        work_bytes: Room for lists.
        device: Where tensors lie.
    """

    def __init__(
        self, prices: SeriesPrices, charges: Floats, work_bytes: int, device: torch.device
    ) -> None:
        self._prices, self._work_bytes, self._device = prices, work_bytes, device
        self._charges = to_device(charges, device)
        none = np.zeros((0, 2), np.int64)
        self._windows = none, to_device(none.astype(np.int32), device)
        self._capacity = 0

    def fold(self, asked: BatchInputs, each: IndividualInputs, windows: Ints) -> Iterator[Floats]:
        """Accumulators [n, W, A] of individuals in windows [W, 2], start and end each.

        They come in order, as many individuals together as there is room for.
        """
        for _, results, _ in self._iter_results(asked, each, windows, keeps=False):
            yield to_host(results).reshape(-1, len(windows), N_OUT)

    def ledgers(
        self, asked: BatchInputs, each: IndividualInputs, windows: Ints
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of each individual [P]; arguments as in `fold`."""
        ledgers: list[tuple[Ledger, ...]] = []
        for bars, results, lists in self._iter_results(asked, each, windows, keeps=True):
            delays = to_host(bars[:, 1]).repeat(len(windows))
            trades, *numbers = collect_trades(lists, delays)
            coarse = to_host(results[:, COARSE]).astype(np.int64)
            numbers += [np.zeros_like(coarse), np.zeros_like(coarse), coarse]
            ledgers += trades.cut(
                *(numbers_of_pairs.reshape(-1, len(windows)) for numbers_of_pairs in numbers)
            )
        return ledgers

    def list_results(
        self, asked: BatchInputs, each: IndividualInputs, windows: Ints, times: Ints
    ) -> Iterator[tuple[Floats, Results]]:
        """The same accumulators, with results of their trades; `times` [T] say when bars open."""
        for _, results, lists in self._iter_results(asked, each, windows, keeps=False):
            accumulators = to_host(results).reshape(-1, len(windows), N_OUT)
            counts = to_host(lists.trades)
            (marks, leaves), r = take_trades(lists, counts, (lists.marks, lists.leaves))
            counts = counts.reshape(accumulators.shape[:2])
            yield accumulators, arrange_results(counts, times[leaves >> 3], r, read_sides(marks))

    def signals(self, asked: BatchInputs, each: IndividualInputs, window: Ints) -> Slots:
        """Signal bars [S] of one individual in one window [2], of either side."""
        capacity = round_up_capacity(int(window[1] - window[0]))
        lists = self.make_room(1, capacity, keeps=False, has_finer=False)
        self._mark(asked, each, self._windows_there(window[None]), lists)
        marks: Slots = to_host(lists.marks[0, : int(to_host(lists.counts)[0])])
        return marks >> 1

    def _iter_results(
        self, asked: BatchInputs, each: IndividualInputs, windows: Ints, *, keeps: bool
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, SignalLists]]:
        """Limits, accumulators and lists of those who fit the room for lists together."""
        there, begin = self._windows_there(windows), 0
        if not self._capacity:
            self._capacity = first_capacity(int(np.ptp(windows, 1).max()))
        while begin < len(each.bars):
            pair_bytes = self._capacity * (LIST_BYTES + 8 * KEPT_PRICES * keeps) + 8 * N_OUT
            step = max(1, self._work_bytes // (pair_bytes * len(windows)))
            some = each.part(slice(begin, begin + step))
            pairs = len(some.bars) * len(windows)
            lists = self.make_lists(pairs, self._capacity, keeps=keeps)
            results = torch.empty((pairs, N_OUT), dtype=torch.float64, device=self._device)
            self.run(asked, some, there, lists, results, keeps=keeps)
            most = int(to_host(lists.most)[0])
            if most > self._capacity:
                self._capacity = longer(most)
                continue
            yield some.bars, results, lists
            begin += len(some.bars)
            # What one individual with many signals needed is not kept for all later ones.
            self._capacity = max(longer(most), round_up_capacity(self._capacity * 63 // 64))

    def run(
        self,
        asked: BatchInputs,
        each: IndividualInputs,
        windows: torch.Tensor,
        lists: SignalLists,
        results: torch.Tensor,
        *,
        keeps: bool = False,
    ) -> None:
        """Launch from conditions to accumulators [pairs, A]; nothing waits for the host."""
        n_windows = len(windows)
        # What only orders and money count stays 0.
        results.zero_()
        self._mark(asked, each, windows, lists)
        self._leave(asked, each, windows, lists, keeps=keeps, asks_all=False)
        self._choose(each, n_windows, lists)
        self.fold_trades(each, n_windows, lists, results)

    def list_signals(
        self,
        asked: BatchInputs,
        each: IndividualInputs,
        windows: Ints,
        lists: SignalLists,
        *,
        keeps: bool,
    ) -> None:
        """List all signals with what each comes to, whatever came before it."""
        there = self._windows_there(windows)
        self._mark(asked, each, there, lists)
        self._leave(asked, each, there, lists, keeps=keeps, asks_all=True)

    def _windows_there(self, windows: Ints) -> torch.Tensor:
        """Windows [W, 2] on the device, where those of the last call may be."""
        if not np.array_equal(windows, self._windows[0]):
            self._windows = windows, to_device(windows.astype(np.int32), self._device)
        return self._windows[1]

    def _mark(
        self, asked: BatchInputs, each: IndividualInputs, windows: torch.Tensor, lists: SignalLists
    ) -> None:
        """List signals, and count them also where lists are too short."""
        pairs, capacity = lists.marks.shape
        launch(mark_kernel, (pairs,), each.size, asked.longs, asked.shorts, each.entries,
               each.bars, windows, lists.counts, lists.marks, lists.leaves, lists.most,
               len(windows), asked.longs.shape[1], capacity, warps=1,
               WORDS=MARKED_WORDS)  # fmt: skip

    def _leave(
        self,
        asked: BatchInputs,
        each: IndividualInputs,
        windows: torch.Tensor,
        lists: SignalLists,
        *,
        keeps: bool,
        asks_all: bool,
    ) -> None:
        """Find the exits of signals that may be taken."""
        pairs, capacity = lists.marks.shape
        blocks = self._count_blocks(pairs, capacity, asks_all=asks_all)
        launch(leave_kernel, (pairs * blocks,), each.size, self._prices.market, self._prices.finer,
               self._prices.finer_of, self._prices.pyramid, self._charges, asked.code,
               asked.constants, asked.reads, asked.forms, asked.rows, each.slots, each.genomes,
               each.numbers, each.bars, asked.leaves, each.exits, asked.following, asked.sessions,
               each.session_of, windows, lists.counts, lists.marks, lists.leaves,
               lists.r.view(torch.int32), lists.signal_r, lists.prices, lists.leverages,
               lists.notes, len(windows), capacity, self._prices.n_padded, asked.rows.shape[1],
               asked.leaves.shape[1], each.genomes.shape[1], each.slots.shape[1], warps=1,
               MOVES=asked.moves, KEEPS=keeps, ALL=asks_all, FINER=self._prices.has_finer,
               SIGNALS=SIGNALS, BLOCKS=blocks)  # fmt: skip

    def _choose(self, each: IndividualInputs, n_windows: int, lists: SignalLists) -> None:
        """Take signals one position at a time."""
        pairs, capacity = lists.marks.shape
        launch(choose_kernel, (pairs,), each.size, lists.counts, lists.marks, lists.leaves,
               lists.r.view(torch.int32), lists.short_r.view(torch.int32), lists.notes, each.bars,
               lists.places, lists.trades, lists.rejected, lists.coarse, n_windows, capacity,
               warps=1, FINER=self._prices.has_finer, SIGNALS=SIGNALS, BLOCK=CHOSEN,
               BLOCKS=self._count_blocks(pairs, capacity))  # fmt: skip

    def _count_blocks(self, pairs: int, capacity: int, *, asks_all: bool = False) -> int:
        """Programs that share a pair's signals; a power of two."""
        most = capacity // (SIGNALS * STRETCH)
        if not asks_all:
            paying = self._prices.n_padded // (SIGNALS * LANE_BARS)
            most = min(most, max(paying, FEW_PROGRAMS // pairs))
        return 1 << (max(1, min(PROGRAMS // pairs, most)).bit_length() - 1)

    def fold_trades(
        self, each: IndividualInputs, n_windows: int, lists: SignalLists, out: torch.Tensor
    ) -> None:
        """Fold the trades that were chosen into accumulators [pairs, A]."""
        pairs, capacity = lists.marks.shape
        warps = choose_warps(pairs, self._prices.n_padded)
        launch(tally_kernel, (pairs,), each.size, lists.trades, lists.rejected, lists.coarse,
               lists.places, lists.marks, lists.leaves, lists.notes, lists.signal_r, each.bars,
               lists.r, lists.short_r, out, n_windows, capacity, warps=warps, EXITS=EXIT_PLACES,
               FINER=self._prices.has_finer, N_OUT=N_OUT, BLOCK=TALLIED * warps)  # fmt: skip
        # R of signals is read by then; the sums of R take its place.
        sums = lists.signal_r
        launch(settle_kernel, (-(-pairs // FOLDED), 3), each.size, lists.trades, lists.r,
               lists.short_r, sums, lists.equity, self._charges, out, n_windows, capacity, warps=1,
               N_OUT=N_OUT, PAIRS=FOLDED)  # fmt: skip
        launch(drawdown_kernel, (pairs,), each.size, lists.trades, sums, lists.equity, out,
               n_windows, capacity, warps=warps, CARRIES=False, N_OUT=N_OUT,
               BLOCK=TALLIED * warps)  # fmt: skip

    def make_lists(self, pairs: int, capacity: int, *, keeps: bool = False) -> SignalLists:
        """Lists of so many pairs of this series, as `make_room`."""
        return self.make_room(pairs, capacity, keeps=keeps, has_finer=self._prices.has_finer)

    def make_room(
        self, pairs: int, capacity: int, *, keeps: bool, has_finer: bool, asks_all: bool = False
    ) -> SignalLists:
        """Lists of so many pairs; nothing in them is read before it is written."""
        counts, trades, rejected, coarse = (self._empty(torch.int32, pairs) for _ in range(4))
        marks, leaves, places = (self._empty(torch.int32, pairs, capacity) for _ in range(3))
        signal_r, r, short_r, equity = (
            self._empty(torch.float64, pairs, capacity) for _ in range(4)
        )
        prices = self._empty(torch.float64, *((pairs, capacity, KEPT_PRICES) if keeps else (1,)))
        of_asking = (pairs, capacity) if asks_all else (1,)
        leverages, gross = (self._empty(torch.float64, *of_asking) for _ in range(2))
        notes = self._empty(torch.int8, *((pairs, capacity) if has_finer else (1,)))
        most = torch.zeros(1, dtype=torch.int32, device=self._device)
        return SignalLists(
            counts, marks, leaves, places, trades, rejected, signal_r, r, short_r, equity, prices,
            leverages, gross, notes, coarse, most,
        )  # fmt: skip

    def _empty(self, kind: torch.dtype, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=kind, device=self._device)


def take_trades(
    lists: SignalLists, counts: Ints, of_signals: Sequence[torch.Tensor]
) -> tuple[list[np.ndarray], Floats]:
    """What lists of signals [pairs, capacity] say of trades, pair after pair; and R of these.

    `counts` [pairs] say how many each pair has.
    """
    most = int(counts.max(initial=0))
    is_there = torch.arange(most, device=lists.trades.device) < lists.trades[:, None]
    signals = lists.places[:, :most][is_there].long()
    pairs = torch.arange(len(lists.trades), device=signals.device)[:, None]
    pairs = pairs.expand(-1, most)[is_there]
    taken = [to_host(tensor[pairs, signals]) for tensor in of_signals]
    return taken, take_listed(lists.r, lists.trades)


def take_listed(listed: torch.Tensor, counts: torch.Tensor) -> Floats:
    """Numbers of trades in lists [pairs, capacity], pair after pair; counts [pairs] of each."""
    places = torch.arange(listed.shape[1], device=counts.device)
    numbers: Floats = to_host(listed[places < counts[:, None]])
    return numbers


def read_sides(marks: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """Sides of signals, 1 or -1, of what `mark_kernel` leaves of them."""
    return (1 - 2 * (marks & 1)).astype(np.int8)


def collect_trades(lists: SignalLists, delays: Ints) -> tuple[Ledger, Ints, Ints]:
    """All trades of pairs, one pair after the other, how many each has, and how many are rejected.

    `delays` [pairs]: bars by which the entries of each are late.
    """
    counts, rejected = to_host(lists.trades), to_host(lists.rejected)
    (marks, leaves, prices), r = take_trades(
        lists, counts, (lists.marks, lists.leaves, lists.prices)
    )
    signal_bar = (marks >> 1).astype(np.int64)
    entry, stop, target, leave, last_stop = np.ascontiguousarray(prices.T)
    entry_bar = signal_bar + 1 + delays.repeat(counts)
    exit_bar, how = (leaves >> 3).astype(np.int64), leaves & 7
    is_open = np.isin(how, AT_OPEN)
    if lists.notes.ndim == 2:
        (notes,), _ = take_trades(lists, counts, (lists.notes,))
        is_open &= notes & LATE_GAP.value == 0
    reason = np.where(how == SESSION_OPEN.value, SESSION.value, how)
    trades = Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave,
        r, read_sides(marks), last_stop,
        exit_bar - entry_bar + 1 - is_open,
    )  # fmt: skip
    return trades, counts, rejected
