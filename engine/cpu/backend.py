"""The CPU backend behind the engine's contract: holds the series, fills rows, runs the stages."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numba
import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, RowRequest, Sent, by_series
from engine.conditions.encode import encode_entry
from engine.cpu.evaluate import evaluate, signal_bars
from engine.errors import DeviceError
from engine.fast_case import FastCase, encode_exits
from engine.indicators.coders import choose_coders
from engine.indicators.cpu.codes import HIGHEST_CODE
from engine.indicators.cpu.row_scheduler import RowFiller
from engine.indicators.plan import list_warm_ups
from engine.indicators.sources import compute_sources
from engine.memory_plan import HOST_CASE
from engine.positions.cpu.block_minmax import build_finer
from engine.positions.cpu.listing import Work, extract_results, fold_alone, list_totals, list_trades
from engine.runtime.cpu.row_memory import take_row_memory
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed, Market, Slots
from engine.runtime.free_memory import free_host_bytes
from engine.runtime.machine import available_cores

WHOLE, NUMBERS = 5, 5
"""Whole numbers and figures of a trade that the chain writes."""


class CpuBackend(Backend):
    """Evaluates populations on the processor's cores.

    Args:
        case: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        work_bytes: Not used: what an individual needs fits a core's scratch.
        threads: Cores to use; all of them when None.

    Raises:
        DeviceError: When more threads are asked for than the process may use.
    """

    name = "cpu"
    shares = HOST_CASE

    def __init__(
        self,
        case: FastCase,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int = 0,
        threads: int | None = None,
    ) -> None:
        self.threads = checked_threads(threads)
        self._case = case
        coders = choose_coders(case, HIGHEST_CODE)
        self._entry = encode_entry(case, coders)
        self._exits = encode_exits(case, costs)
        self._warm_ups = np.zeros(capacity, np.int64)
        self._markets = [_allocate_market(bars, self._warm_ups) for bars in series]
        sources = [compute_sources(bars) for bars in series]
        self._workers = Threads(self.threads)
        self._filler = RowFiller(sources, self._markets, coders, self._workers)
        self._longest = max(len(bars) for bars in series)
        self._scratch = np.empty((self.threads, self._longest + 8), np.int32)
        self._distances = np.empty((self.threads, self._longest))

    def with_costs(self, costs: Costs) -> "CpuBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._exits = encode_exits(self._case, costs)
        return other

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        return sum(len(bars) for bars in series) * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, the sources of rows, and two maps."""
        return sum(len(bars) for bars in series) * 8 * (5 + 7 + 2 * 2)

    @staticmethod
    def free_bytes() -> int:
        """Bytes that are free on this host."""
        return free_host_bytes()

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows of any forms into their slots, in every series."""
        slots, bars = list_warm_ups(requests, self._longest)
        self._warm_ups[slots] = bars
        self._filler.fill(requests)

    def begin(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Evaluate where slots are known; there is nothing left to wait for."""
        if slots is None:
            return None
        genomes, windows, _, out, _ = sent
        for number, window_numbers, ranges in by_series(windows):
            # The loops want their windows side by side, as they are where there is one series.
            is_all = len(window_numbers) == len(windows)
            part = out if is_all else np.empty((len(genomes), len(window_numbers), out.shape[2]))
            work = self._work(number, slots, genomes, ranges, part)
            fold_alone(work, len(genomes), self._workers)
            if not is_all:
                out[:, window_numbers] = part
        return lambda: True

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        members = np.arange(len(genomes))

        def of_series() -> Iterator[tuple[Ints, Ints, Results]]:
            for number, window_numbers, ranges in by_series(windows):
                out[:, window_numbers], listed = self._list_trades(number, genomes, slots, ranges)
                yield (
                    members,
                    window_numbers,
                    extract_results(listed, times[number], has_sides=False),
                )

        return out, join_results(of_series(), len(genomes), len(windows))

    def _list_trades(
        self, number: int, genomes: Floats, slots: Slots, ranges: Ints
    ) -> tuple[Floats, Listed]:
        """Accumulators [P, W, A] in ranges [W, 2] of one series, and all trades."""
        out = np.empty((len(genomes), len(ranges), len(ACCUMULATORS)))
        work = self._work(number, slots, genomes, ranges, out)
        return out, list_trades(work, out, self._workers)

    def _work(self, number: int, slots: Slots, genomes: Floats, ranges: Ints, out: Floats) -> Work:
        """Work of a thread in ranges [W, 2] of one series; all share the individuals."""
        market, shared = self._markets[number], np.zeros(1, np.int64)

        def work(thread: int, firsts: Ints, thread_of: Ints) -> tuple[Ints, Floats]:
            room = np.empty((0, WHOLE), np.int64), np.empty((0, NUMBERS))
            return evaluate(market, self._entry, self._exits, slots, genomes, ranges,
                            self._scratch[thread], self._distances[thread], shared, out, thread,
                            firsts, thread_of, *room)  # fmt: skip

        return work

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        market = self._markets[window.series]
        last = window.end - 1 - self._exits.delay
        bars: Slots = signal_bars(market, self._entry, slots, genome, window.start, last)
        return bars

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals; arguments as in `begin`."""
        by_window: list[dict[int, Ledger]] = [{} for _ in genomes]
        for number, window_numbers, ranges in by_series(windows):
            out, listed = self._list_trades(number, genomes, slots, ranges)
            trades = _collect_trades(listed).cut(listed.counts, *list_totals(out))
            for ledger_of, ledgers in zip(by_window, trades, strict=True):
                ledger_of |= zip(window_numbers.tolist(), ledgers, strict=True)
        return [
            tuple(ledger_of[number_of_window] for number_of_window in range(len(windows)))
            for ledger_of in by_window
        ]

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        row: Floats = self._markets[series].rows[slot].copy()
        return row


def _collect_trades(listed: Listed) -> Ledger:
    """The trades of all ledgers, one after the other; all of them are longs."""
    whole, numbers = listed.in_order()
    signal, entry_bar, exit_bar, reason, held = np.ascontiguousarray(whole.T)
    entry, stop, target, leave, r = np.ascontiguousarray(numbers.T)
    return Ledger(
        signal, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        np.ones(len(signal), np.int8), stop, held,
    )  # fmt: skip


def checked_threads(threads: int | None) -> int:
    """How many threads to use; all cores when None, never more than there are."""
    most = min(available_cores(), int(numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    if threads is not None and not 1 <= threads <= most:
        raise DeviceError(f"threads must be 1 to {most} on this machine, got {threads}")
    return threads or most


def _allocate_market(bars: Bars, warm_ups: Ints) -> Market:
    # Memory is taken page by page as rows are written, not here.
    shape = len(warm_ups), len(bars)
    count = shape[0] * shape[1]
    rows = take_row_memory(8 * count).view(np.float64).reshape(shape)
    codes = take_row_memory(count).reshape(shape)
    columns = bars.open, bars.high, bars.low, bars.close
    return Market(*columns, rows, codes, warm_ups, *build_finer(bars))
