"""The CUDA backend of any strategy: conditions as words of bars, positions of both sides."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Floats, Ints, Room, Slots, by_series
from engine.conditions.cuda.specialization import Comparing
from engine.cuda.accounts import SeriesAccounts
from engine.cuda.batch_inputs import Asking
from engine.cuda.captured import CapturedCalls, CapturedSeries
from engine.cuda.multi_gpu import GpuMaker, SeveralGpus
from engine.cuda.order_accounts import OrderAccounts
from engine.cuda.order_inputs import OrderInputs
from engine.errors import DeviceError
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.cuda.device_rows import DeviceRows, reads_trends
from engine.indicators.cuda.market import (
    PRICE_BYTES,
    count_finer_bytes,
    round_up_bars,
    upload_prices,
)
from engine.runtime.cuda.faults import device_errors, is_out_of_memory
from engine.runtime.cuda.uploads import Uploads
from engine.runtime.cuda.watchdog import on_device, wait_for_launches
from engine.runtime.machine import available_cores
from strategy.model import Strategy
from strategy.rows import Rows

LOG = logging.getLogger(__name__)

HOST_BYTES = 2**30
"""Rows that the host keeps, for others that are made of them."""

MOST_INDIVIDUALS = 2**17
"""Evaluated together at most."""

SHARES = 3
"""Memory is shared by rows, by conditions and by lists."""


Take = Callable[[slice, Any, Any], None]
"""Takes some individuals, what all of a batch ask, and what each of them asks."""


class Inputs(Protocol):
    """What individuals ask of a series."""

    def most_individuals(self, work_bytes: int) -> int:
        """Individuals whose conditions fit so much memory together."""

    def population(self, genomes: Floats) -> tuple[Any, Any] | None:
        """What individuals [P, G] ask; None where there is no room for all their rows."""


class Accounts(Protocol):
    """Positions on a series, given what a batch and what each individual asks.

    Windows [n, 2] are start and end.
    """

    def fold(self, asked: Any, each: Any, windows: Ints) -> Iterator[Floats]:
        """Accumulators [n, W, A] of individuals, which come in order."""

    def ledgers(
        self,
        asked: Any,
        each: Any,
        windows: Ints,
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of each individual."""

    def list_results(
        self,
        asked: Any,
        each: Any,
        windows: Ints,
        times: Ints,
    ) -> Iterator[tuple[Floats, Results]]:
        """The same accumulators, with results of their trades."""


class SignalAccounts(Accounts, Protocol):
    """The same, of one series."""

    def signals(self, asked: Any, each: Any, window: Ints) -> Slots:
        """Signal bars [S] of one individual in one window [2], of either side."""


class OneSeries(NamedTuple):
    """A series on the device."""

    asking: Inputs
    accounts: SignalAccounts
    captured: CapturedSeries | None  # the same, where calls can be captured


class WindowGroup(NamedTuple):
    """Windows that are evaluated together."""

    inputs: Inputs
    accounts: Accounts
    numbers: Ints  # [n] their places among all
    ranges: Ints  # [n, 2] start and end, as accounts take them
    series: slice  # whose bars they are
    captured: CapturedSeries | None = None  # the series, where calls can be captured


class CudaLanguageBackend(Backend):
    """Evaluates populations of any strategy on one GPU.

    A thread of its own launches and waits, so that several GPUs work at once.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Not used: rows have no slots.
        work_bytes: Room for rows, conditions and lists.
        threads: Cores for rows that the host computes; all when None.
        torch_device: Name of the device to torch.
        rows: Of each series, where devices share them.

    Raises:
        DeviceError: When a series has too many bars; from any method when the device fails. Out of
            memory is met with fewer individuals at a time first, which changes no bit.
    """

    name = "cuda"

    @device_errors
    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int = 0,
        work_bytes: int,
        threads: int | None = None,
        torch_device: str = "cuda",
        rows: Sequence[Rows] | None = None,
    ) -> None:
        self.threads = threads or available_cores()
        self._device = torch.device(torch_device)
        self._work_bytes = work_bytes // SHARES
        self._most = MOST_INDIVIDUALS
        self._comparing, self._uploads = Comparing(), Uploads(self._device)
        self._captured = CapturedCalls(self._work_bytes, self._device)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="words")
        self._series = [
            self._one_series(spec, number, bars, rows_of_series, costs, len(series))
            for number, (bars, rows_of_series) in enumerate(
                zip(series, rows or build_series_rows(series, HOST_BYTES), strict=True)
            )
        ]

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A]; what is returned waits until out is whole."""
        return self._thread.submit(self._evaluate, genomes, windows, out).result

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window, of either side."""
        return self._thread.submit(self._signals, genome, window).result()

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        return self._thread.submit(self._ledgers, genomes, windows).result()

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        return self._thread.submit(self._list_results, genomes, windows, times).result()

    @device_errors
    def _evaluate(self, genomes: Floats, windows: Sequence[Window], out: Floats) -> None:
        for group in self._group_windows(windows):
            inputs, accounts, window_numbers, ranges, *_ = group
            if self._is_captured(group, genomes, out):
                continue

            def fold(members: slice, asked: Any, each: Any) -> None:
                begin = members.start
                for accumulators in accounts.fold(asked, each, ranges):  # noqa: B023
                    some = slice(begin, begin + len(accumulators))
                    # To write whole rows is several times as fast.
                    if len(window_numbers) == len(windows):  # noqa: B023
                        out[some] = accumulators
                    else:
                        out[some, window_numbers] = accumulators  # noqa: B023
                    begin = some.stop

            self._take(inputs, genomes, fold)

    def _is_captured(self, group: WindowGroup, genomes: Floats, out: Floats) -> bool:
        """Evaluate windows of a group into out [P, W, A] by captured launches, where they fit."""
        if group.captured is None:
            return False
        is_whole = len(group.numbers) == out.shape[1]
        part = out if is_whole else np.empty((len(genomes), len(group.numbers), out.shape[2]))
        try:
            with on_device(self._device):
                if not self._captured.try_evaluate(group.captured, genomes, group.ranges, part):
                    return False
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            self._captured.give_back()
            return False
        if not is_whole:
            out[:, group.numbers] = part
        return True

    @device_errors
    def _ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        by_window: list[dict[int, Ledger]] = [{} for _ in genomes]
        for inputs, accounts, window_numbers, ranges, *_ in self._group_windows(windows):

            def note(members: slice, asked: Any, each: Any) -> None:
                listed = accounts.ledgers(asked, each, ranges)  # noqa: B023
                for ledger_of, ledgers in zip(by_window[members], listed, strict=True):
                    ledger_of |= zip(window_numbers.tolist(), ledgers, strict=True)  # noqa: B023

            self._take(inputs, genomes, note)
        return [
            tuple(ledger_of[number] for number in range(len(windows))) for ledger_of in by_window
        ]

    @device_errors
    def _list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        parts: list[tuple[Ints, Ints, Results]] = []
        for inputs, accounts, window_numbers, ranges, series, _ in self._group_windows(windows):
            opened = np.concatenate(times[series])

            def note(members: slice, asked: Any, each: Any) -> None:
                begin = members.start
                listed = accounts.list_results(asked, each, ranges, opened)  # noqa: B023
                for accumulators, results in listed:
                    some = np.arange(begin, begin + len(accumulators))
                    out[np.ix_(some, window_numbers)] = accumulators  # noqa: B023
                    parts.append((some, window_numbers, results))  # noqa: B023
                    begin += len(accumulators)

            self._take(inputs, genomes, note)
        return out, join_results(parts, len(genomes), len(windows))

    def _group_windows(self, windows: Sequence[Window]) -> Iterator[WindowGroup]:
        """Windows of each series."""
        for series, numbers, ranges in by_series(windows):
            market = self._series[series]
            of_series = slice(series, series + 1)
            yield WindowGroup(
                market.asking, market.accounts, numbers, ranges, of_series, market.captured
            )

    @device_errors
    def _signals(self, genome: Floats, window: Window) -> Slots:
        market, signals = self._series[window.series], []

        def note(members: slice, asked: Any, each: Any) -> None:
            signals.append(
                market.accounts.signals(asked, each, np.array([window.start, window.end]))
            )

        self._take(market.asking, genome[None], note)
        return signals[0]

    def _take(self, inputs: Inputs, genomes: Floats, take: Take) -> None:
        """Hand over individuals [P, G] and what they ask, as many at a time as memory holds."""
        begin, most = 0, inputs.most_individuals(self._work_bytes)
        with on_device(self._device):
            while begin < len(genomes):
                members = slice(begin, min(begin + most, begin + self._most, len(genomes)))
                if self._is_taken(inputs, genomes, members, take):
                    begin = members.stop

    def _is_taken(self, inputs: Inputs, genomes: Floats, members: slice, take: Take) -> bool:
        """Hand over some of them; where memory has no room for them, take fewer from here on."""
        count = members.stop - members.start
        try:
            batch = inputs.population(genomes[members])
            if batch is not None:
                take(members, *batch)
                return True
        except RuntimeError as error:
            if not is_out_of_memory(error) or count == 1:
                raise
        if count == 1:
            raise DeviceError(
                "the rows of one individual do not fit the GPU's memory: raise --memory, or use "
                "--device cpu"
            )
        # Only here, where nothing of the failed try is held any more, can memory be given back.
        wait_for_launches(self._device)
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        self._most = count // 2
        LOG.info("device memory is full: %d individuals at a time from here on", self._most)
        return False

    def _one_series(
        self, spec: Strategy, number: int, bars: Bars, rows: Rows, costs: Costs, share: int
    ) -> OneSeries:
        """A series with room for so large a share of all rows."""
        shared = (spec, bars, self._make_rows(spec, rows, share), costs.entry_delay, self._device,
                  self._comparing, self._uploads)  # fmt: skip
        prices = upload_prices(bars, self._device)
        if spec.has_orders or costs.fee_unit > 0.0:
            inputs = OrderInputs(*shared, risk_fraction=costs.risk_fraction)
            return OneSeries(inputs, OrderAccounts(
                spec, costs, inputs, prices, self._work_bytes, self._device
            ), None)  # fmt: skip
        charges = np.array([costs.per_side, costs.min_risk, costs.risk_fraction], np.float64)
        accounts = SeriesAccounts(prices, charges, self._work_bytes, self._device)
        asking = Asking(*shared)
        return OneSeries(asking, accounts, CapturedSeries(number, asking, accounts))

    def _make_rows(self, spec: Strategy, rows: Rows, share: int) -> DeviceRows:
        rows_bytes = self._work_bytes // share
        # Rows that are made on the device share this with what they are made of.
        making_bytes = rows_bytes // 2 if reads_trends(spec) else 0
        return DeviceRows(rows, rows_bytes - making_bytes, making_bytes, self._device, self.threads)


class CudaLanguageMaker(GpuMaker):
    """Makes a backend of any strategy on chosen GPUs."""

    backend = CudaLanguageBackend

    def __call__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto every device; rows are computed once for all of them."""
        rows = build_series_rows(series, HOST_BYTES)
        parts: list[Backend] = [
            self.backend(
                spec,
                series,
                costs,
                work_bytes=work_bytes,
                threads=threads,
                torch_device=f"cuda:{number}",
                rows=rows,
            )
            for number in self.devices
        ]
        return parts[0] if len(parts) == 1 else SeveralGpus(parts)

    def slot_bytes(self, series: Sequence[Bars]) -> int:
        """Rows have no slots; what one takes over all series."""
        return sum(len(bars) for bars in series) * 8

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that series take on each device beside all rows."""
        prices = sum(round_up_bars(len(bars)) for bars in series) * PRICE_BYTES
        return prices + sum(count_finer_bytes([bars], len(bars)) for bars in series)

    def room(self, memory_bytes: int, series_bytes: int) -> Room:
        """How an amount of memory is divided, on each device: rows come and go with the work."""
        return Room(0, max(memory_bytes - series_bytes, 0))
