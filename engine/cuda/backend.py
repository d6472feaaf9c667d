"""The CUDA backend behind the engine's contract: series and rows on the device, stages launched."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

import numpy as np
import torch

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results, split_accounts
from engine.backend import (
    Backend,
    Floats,
    Ints,
    RowRequest,
    Sent,
    Slots,
    StretchedRows,
)
from engine.conditions.cuda.candidate_lists import LISTED_BYTES, CandidateLists, choose_packing
from engine.conditions.encode import encode_entry
from engine.cuda.answering import check_apart, upload_limits
from engine.cuda.collecting import collect_trades, extract_results
from engine.cuda.dispatch import Dispatch
from engine.cuda.slot_lookup import Admission
from engine.cuda.stages import Rules, Stages
from engine.cuda.time_tiles import Stretches
from engine.errors import EngineError
from engine.fast_case import FastCase, encode_exits
from engine.indicators.coders import choose_coders
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.cuda.market import (
    BYTES_OF_A_BAR,
    HIGHEST_CODE,
    DeviceMarket,
    count_finer_bytes,
    lay_out_axis,
)
from engine.indicators.cuda.row_scheduler import DeviceRowFiller, scratch_bytes
from engine.indicators.plan import list_warm_ups
from engine.memory_plan import HOST_ROW_BYTES
from engine.runtime.cuda.faults import device_errors
from engine.runtime.cuda.types import TradePrices
from engine.runtime.cuda.watchdog import on_device, overwrite, to_device, to_host
from engine.runtime.machine import available_cores

WindowsOfAccount = tuple[list[int], Sequence[Window]]
"""Places of the windows of one account among all, and these."""


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
    meets_own = folds_accounts = True

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
        self.threads = available_cores(threads)
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
        limits = None
        if costs.has_limits:
            find_rows = partial(build_series_rows, series, HOST_ROW_BYTES)
            limits = upload_limits(
                self._market, case.strategy, costs, series, [self._delay], find_rows
            )
        self._has_limits = limits is not None
        self._accounts: tuple[Sequence[Window], list[WindowsOfAccount]] | None = None
        stages = Stages(rules, self._market, *memory, whole, self._warm_ups, limits)
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

    @device_errors
    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows in every series, without waiting for them."""
        self._dispatch.drain()
        with on_device(self._device):
            self._candidates.forget(np.concatenate([request.slots for request in requests]))
            whole = self._market.whole
            try:
                self._admission.note(requests)
                plan = self._filler.plan(requests)
                slots, bars = list_warm_ups(requests, self._market.longest)
                self._warm_ups_here[slots] = bars
                overwrite(self._warm_ups, self._warm_ups_here)
                self._filler.run(plan, self._rows, self._codes, whole)
            except BaseException:
                # The device must not find rows that were not written, also where Ctrl-C came.
                self._admission.clear()
                raise

    @device_errors
    def begin(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Launch all chunks, without waiting for them; legality and rows are looked up if it pays.

        The call returns true if none was refused.
        """
        if slots is None and not self._admission.pays(len(sent.genomes)):
            return None
        accounts = self._split(sent.windows) if sent.own is None else []
        if len(accounts) > 1:
            return self._launch_accounts(sent, slots, accounts)
        if sent.own is not None and self._has_limits:
            self._check_own(sent.windows, sent.own)
        tickets = self._dispatch.launch(sent, slots)

        @device_errors
        def wait() -> bool:
            return self._dispatch.finish_tickets(tickets)

        return wait

    def _launch_accounts(
        self, sent: Sent, slots: Slots | None, accounts: Sequence[WindowsOfAccount]
    ) -> Callable[[], bool]:
        """The same of several accounts with limits, one after another, which are done then."""
        is_well = True
        for numbers, windows in accounts:
            some = np.empty((len(sent.genomes), len(numbers), sent.out.shape[2]))
            part = sent._replace(windows=windows, out=some, account=None)
            is_well &= self._dispatch.finish_tickets(self._dispatch.launch(part, slots))
            sent.out[:, numbers] = some
        return lambda: is_well

    def _split(self, windows: Sequence[Window]) -> list[WindowsOfAccount]:
        """Windows of each account with limits; all together without."""
        if not self._has_limits:
            return [(list(range(len(windows))), windows)]
        if self._accounts is None or self._accounts[0] is not windows:
            split = split_accounts(windows)
            parts: list[WindowsOfAccount] = [
                (numbers, windows if len(split) == 1 else [windows[number] for number in numbers])
                for numbers in split
            ]
            for _, some in parts:
                check_apart(_list_ranges(some))
            self._accounts = windows, parts
        return self._accounts[1]

    def _check_own(self, windows: Sequence[Window], own: Slots) -> None:
        """Refuse windows [P, W] that are not one account with limits of each individual.

        Raises:
            EngineError: When some overlap, or some are held out and others are not.
        """
        check_apart(_list_ranges(windows)[own])
        _, roles = np.unique([window.role for window in windows], return_inverse=True)
        if (roles[own] != roles[own[:, :1]]).any():
            raise EngineError("windows of one account with limits have different roles")

    @device_errors
    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time; all slots are empty then."""
        # An account with limits answers signals of all bars.
        if self._has_limits or not self._stretches.can_hold(rows):
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
        accounts = self._split(windows)
        listed = [self._list_ledgers(genomes, slots, some) for _, some in accounts]
        if len(accounts) == 1:
            return listed[0]
        order = np.argsort(np.concatenate([numbers for numbers, _ in accounts])).tolist()
        joined = [sum(parts, ()) for parts in zip(*listed, strict=True)]
        return [tuple(ledgers[number] for number in order) for ledgers in joined]

    def _list_ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The same of windows that are one account with limits."""
        starts = self._market.starts[[window.series for window in windows]]
        ledgers: list[tuple[Ledger, ...]] = []
        with on_device(self._device):
            for part, work, kept in self._dispatch.iter_listed_chunks(
                genomes, slots, windows, keeps_prices=True
            ):
                individuals = part.stop - part.start
                trades, *numbers = collect_trades(
                    work.lists,
                    work.results,
                    cast(TradePrices, kept),
                    np.tile(starts, individuals),
                    self._delay,
                    has_limits=self._has_limits,
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
        members, opened = np.arange(len(genomes)), self._market.opened_ns

        def of_chunks() -> Iterator[tuple[Ints, Ints, Results]]:
            for numbers, met in self._split(windows):
                for part, work, _ in self._dispatch.iter_listed_chunks(genomes, slots, met):
                    shape = part.stop - part.start, len(numbers), len(ACCUMULATORS)
                    some = to_host(work.results[: int(np.prod(shape))]).reshape(shape)
                    out[part, numbers] = some
                    results = extract_results(work.lists, some, opened)
                    yield members[part], np.array(numbers), results

        with on_device(self._device):
            return out, join_results(of_chunks(), *out.shape[:2])


def _list_ranges(windows: Sequence[Window]) -> Ints:
    """Series, start and end of windows, [W, 3]."""
    return np.array([(window.series, window.start, window.end) for window in windows], np.int64)
