"""The CUDA backend behind the engine's contract: series and rows on the device, stages launched."""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import torch

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, REASONS, Ledger
from engine.accounts.results import Results, arrange_results, join_results
from engine.backend import (
    Backend,
    Floats,
    Ints,
    Room,
    RowRequest,
    Slots,
    StretchedRows,
)
from engine.conditions.cuda.candidate_lists import LISTED_BYTES, CandidateLists, choose_packing
from engine.conditions.encode import encode_entry
from engine.cuda.dispatch import Dispatch
from engine.cuda.slot_lookup import Admission
from engine.cuda.stages import Rules, Stages
from engine.cuda.time_tiles import Stretches
from engine.fast_case import FastCase
from engine.indicators.coders import choose_coders
from engine.indicators.cuda.market import (
    BYTES_OF_A_BAR,
    HIGHEST_CODE,
    DeviceMarket,
    count_finer_bytes,
    lay_out_axis,
)
from engine.indicators.cuda.row_scheduler import DeviceRowFiller, scratch_bytes
from engine.indicators.plan import list_warm_ups
from engine.positions.cuda.chain import LATE_GAP
from engine.positions.encode import encode_exits
from engine.runtime.cuda.faults import device_errors
from engine.runtime.cuda.types import Lists, TradePrices
from engine.runtime.cuda.watchdog import on_device, overwrite, to_device, to_host
from engine.runtime.machine import available_cores

TRADES, COARSE = ACCUMULATOR_INDEX["trades"], ACCUMULATOR_INDEX["coarse"]

STOP_GAP = REASONS.index("stop_gap")

EXIT_BITS = 0x7FFFFFFF
"""Of an entry of a list of trades, where the bar of the exit stands."""

LIST_BYTES = 2**33
"""Most room for the lists of the individuals that are evaluated together."""


class CudaBackend(Backend):
    """Evaluates populations on one GPU.

    Args:
        case: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        work_bytes: Room for the lists of the individuals that are evaluated together.
        threads: Cores for what the host folds; all when None.
        torch_device: Name of the device to torch.

    Raises:
        DeviceError: When the bars of all series together are too many for 32-bit bar numbers; from
            any method when the device fails. Out of memory while evaluating is met with smaller
            chunks first, which changes no bit.
    """

    name = "cuda"
    meets_own = True

    @device_errors
    def __init__(
        self,
        case: FastCase,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
        torch_device: str = "cuda",
    ) -> None:
        self.threads = threads or available_cores()
        self._device = torch.device(torch_device)
        self._coders = choose_coders(case, HIGHEST_CODE)
        entry, exits = encode_entry(case, self._coders), encode_exits(case, costs)
        self._delay = exits.delay
        packing = choose_packing(case, entry)
        rules = Rules(entry, exits, packing)
        self._market = DeviceMarket(series, set(self._coders.values()), self._device)
        self._filler = DeviceRowFiller(self._market, self._coders)
        shape = (capacity, self._market.n_bars)
        self._rows = torch.empty(shape, dtype=torch.float64, device=self._device)
        self._codes = torch.zeros(shape, dtype=torch.uint8, device=self._device)
        memory, whole = (self._rows, self._codes), self._market.whole
        self._candidates = CandidateLists(packing, *memory, whole)
        self._admission = Admission(case, packing, capacity, self._device)
        self._warm_ups_here = np.zeros(capacity, np.int32)
        self._warm_ups = to_device(self._warm_ups_here, self._device)
        stages = Stages(rules, self._market, *memory, whole, self._warm_ups)
        self._dispatch = Dispatch(
            self._market, stages, self._candidates, self._admission, case, work_bytes
        )
        self._stretches = Stretches(rules, self._market, self._filler, memory, work_bytes)

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series: values, codes, and lists of candidates."""
        _, n_bars = lay_out_axis(np.array([len(bars) for bars in series], np.int64))
        return n_bars * (8 + 1 + LISTED_BYTES)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows, with the scratch of rolling rows."""
        _, n_bars = lay_out_axis(np.array([len(bars) for bars in series], np.int64))
        finer = count_finer_bytes(series, n_bars)
        return n_bars * BYTES_OF_A_BAR + scratch_bytes(n_bars) + finer

    @staticmethod
    def room(memory_bytes: int, series_bytes: int) -> Room:
        """How an amount of memory is divided: a quarter for lists, up to what they can use."""
        left = max(memory_bytes - series_bytes, 0)
        work = min(left // 4, LIST_BYTES)
        return Room(left - work, work)

    @device_errors
    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows in every series, without waiting for them."""
        self._dispatch.drain()
        with on_device(self._device):
            self._candidates.forget(np.concatenate([request.slots for request in requests]))
            self._admission.note(requests)
            whole = self._market.whole
            try:
                plan = self._filler.upload_plan(requests, whole)
                slots, bars = list_warm_ups(requests, self._market.longest)
                self._warm_ups_here[slots] = bars
                overwrite(self._warm_ups, self._warm_ups_here)
                self._filler.run(plan, self._rows, self._codes, whole)
            except Exception:
                # The device must not find rows that were not written.
                self._admission.clear()
                raise

    @device_errors
    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A]; what is returned waits until out is whole."""
        wait = self._launch(genomes, slots, windows, None, out)

        def wait_for_all() -> None:
            wait()

        return wait_for_all

    @device_errors
    def try_begin(
        self, genomes: Floats, windows: Sequence[Window], out: Floats
    ) -> Callable[[], bool] | None:
        """The same, with legality and rows looked up by the device; true if all is well."""
        if not self._admission.pays(len(genomes)):
            return None
        return self._launch(genomes, None, windows, None, out)

    @device_errors
    def begin_own(
        self,
        genomes: Floats,
        slots: Slots | None,
        windows: Sequence[Window],
        own: Slots | None,
        out: Floats,
        account: Floats | None = None,
    ) -> Callable[[], bool] | None:
        """The same with windows that each has for itself, or that are one account."""
        if slots is None and not self._admission.pays(len(genomes)):
            return None
        return self._launch(genomes, slots, windows, own, out, account)

    def _launch(
        self,
        genomes: Floats,
        slots: Slots | None,
        windows: Sequence[Window],
        own: Slots | None,
        out: Floats,
        account: Floats | None = None,
    ) -> Callable[[], bool]:
        """Launch all chunks; what is returned waits, and is true if none was refused."""
        tickets = self._dispatch.launch(genomes, slots, windows, own, out, account)

        @device_errors
        def wait() -> bool:
            self._dispatch.finish_tickets(tickets, windows)
            return not any(ticket.is_refused for ticket in tickets)

        return wait

    @device_errors
    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time; all slots are empty then."""
        if not self._stretches.can_hold(rows):
            return False
        self._dispatch.give_back()
        self._admission.clear()
        with on_device(self._device):
            self._stretches.evaluate(rows, windows, out)
        return True

    @device_errors
    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        with on_device(self._device):
            ((_, work, _),) = self._dispatch.iter_listed_chunks(genome[None], slots[None], [window])
            n = int(to_host(work.lists.counts[0]))
            bars: Slots = to_host(work.lists.bars[0, :n])
        return bars - np.int32(self._market.starts[window.series])

    @device_errors
    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals; arguments as in `begin`."""
        starts = self._market.starts[[window.series for window in windows]]
        ledgers: list[tuple[Ledger, ...]] = []
        with on_device(self._device):
            for part, work, kept in self._dispatch.iter_listed_chunks(
                genomes, slots, windows, keeps_prices=True
            ):
                individuals = part.stop - part.start
                trades, *numbers = _collect_trades(
                    work.lists,
                    work.results,
                    cast(TradePrices, kept),
                    np.tile(starts, individuals),
                    self._delay,
                )
                ledgers += trades.cut(
                    *(numbers_of_pairs.reshape(individuals, -1) for numbers_of_pairs in numbers)
                )
        return ledgers

    @device_errors
    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        members, window_numbers = np.arange(len(genomes)), np.arange(len(windows))
        opened = self._market.opened_ns

        def of_chunks() -> Iterator[tuple[Ints, Ints, Results]]:
            for part, work, _ in self._dispatch.iter_listed_chunks(genomes, slots, windows):
                some = out[part]
                some[...] = to_host(work.results[: some.size]).reshape(some.shape)
                yield members[part], window_numbers, _extract_results(work.lists, some, opened)

        with on_device(self._device):
            return out, join_results(of_chunks(), *out.shape[:2])

    @device_errors
    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        start, end = int(self._market.starts[series]), int(self._market.ends[series])
        row: Floats = to_host(self._rows[slot, start:end])
        return row


def _take_trades(lists: Lists, counts: Ints, of_pairs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Entries of trades in lists [pairs, capacity], of the first pairs; counts [pairs] of each."""
    pairs, most = len(counts), int(counts.max(initial=0))
    is_there = torch.arange(most, device=lists.trades.device) < lists.trades[:pairs, None]
    return [to_host(tensor[:pairs, :most][is_there]) for tensor in of_pairs]


def _extract_results(lists: Lists, accumulators: Floats, opened: Ints) -> Results:
    """Results of the first pairs, whose accumulators are [P, W, A]; `opened` [B] on their axis."""
    counts = accumulators[:, :, TRADES].astype(np.int64)
    bars, r = _take_trades(lists, counts.ravel(), (lists.trade_list, lists.r))
    return arrange_results(counts, opened[bars & EXIT_BITS], r, np.ones(len(r), np.int8))


def _collect_trades(
    lists: Lists, results: torch.Tensor, kept: TradePrices, starts: Ints, delay: int
) -> tuple[Ledger, *tuple[Ints, ...]]:
    """All trades of the first pairs of individual and window, one pair after the other.

    `starts` [pairs]: the first bar of each pair's series; `results` as in `Workspace`. Returned
    with them are how many each pair has, and the first of `COUNTS`.
    """
    pairs = len(starts)
    counts, rejected = (to_host(tensor[:pairs]) for tensor in (lists.trades, lists.rejected))
    listed = lists.trade_list, kept.prices, kept.reasons, lists.r
    bars, prices, reasons, r = _take_trades(lists, counts, listed)
    coarse = to_host(results[: len(starts) * len(ACCUMULATORS)]).reshape(len(starts), -1)[:, COARSE]
    first = starts.repeat(counts)
    signal_bar, exit_bar = (bars >> 32) - first, (bars & EXIT_BITS) - first
    entry, stop, target, leave = np.ascontiguousarray(prices.T)
    sides = np.ones(len(bars), np.int8)
    held = exit_bar - signal_bar - delay - (reasons == STOP_GAP)
    reasons = np.where(reasons == LATE_GAP.value, STOP_GAP, reasons).astype(np.int8)
    trades = Ledger(
        signal_bar, signal_bar + 1 + delay, exit_bar, reasons, entry, stop, target, leave, r, sides,
        stop, held,
    )  # fmt: skip
    nothing = np.zeros_like(rejected)
    return trades, counts, rejected, nothing, nothing, coarse.astype(np.int64)
