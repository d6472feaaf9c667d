"""The CUDA backend of any strategy: conditions as words of bars, positions of both sides."""

import gc
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from data.bars import Bars, Window
from engine.accounts.costs import Costs, has_orders
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results, split_accounts
from engine.backend import Backend, BackendMaker, Floats, Ints, Sent, Slots
from engine.conditions.cuda.comparisons import count_row_bytes
from engine.cuda.account_folding import AccountFolding
from engine.cuda.accounts import SeriesPart, WindowGroup, WordAccounts
from engine.cuda.answering import check_apart, upload_limits
from engine.cuda.captured import Accounts, CapturedCalls
from engine.cuda.inputs import SeriesInputs
from engine.cuda.limited_orders import LimitedOrders
from engine.cuda.multi_gpu import SeveralGpus
from engine.cuda.order_accounts import OrderAccounts, upload_order_prices
from engine.cuda.ordering import lay_out_series
from engine.errors import EngineError
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.cuda.device_rows import DeviceRows, reads_trends
from engine.indicators.cuda.market import (
    PRICE_BYTES,
    count_finer_bytes,
    round_up_bars,
    upload_prices,
)
from engine.indicators.individuals import count_rows
from engine.memory_plan import (
    GPU_WORDS,
    HOST_ROW_BYTES,
    MOST_ROWS,
    MOST_WORD_BYTES,
    WORD_SHARES,
)
from engine.runtime.cpu.threads import Threads
from engine.runtime.cuda.capture import give_back_memory
from engine.runtime.cuda.faults import device_errors
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.watchdog import on_device, to_device
from engine.runtime.machine import available_cores
from strategy.expressions import GeneValue
from strategy.model import Strategy
from strategy.rows import Rows

RANK_BYTES = 8
"""Bytes of a bar: its opening among all."""

FIRST_BYTES = 2**30
"""Memory for rows of all series at first: graphs are captured anew where rows move."""

MOST_SHARED = 4096
"""Rows that several markets have in common at most."""

FEWEST_OF_A_WAVE = 512
"""Individuals that a call of several markets has room for, at least."""


class CudaLanguageBackend(Backend):
    """Evaluates populations of any strategy on one GPU.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        work_bytes: Room for rows, conditions and lists.
        threads: Cores for rows that the host computes; all when None.
        apart: As of `CudaLanguageMaker`.
        torch_device: Name of the device to torch.
        rows: Of each series, where devices share them.

    Raises:
        DeviceError: When a series has too many bars; from any method when the device fails. Out of
            memory is met with fewer individuals at a time first, which changes no bit.
        EngineError: As `engine.cuda.answering.upload_limits`, where accounts have limits.
    """

    name = "cuda"
    folds_accounts = True

    @device_errors
    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        work_bytes: int,
        threads: int | None = None,
        apart: int = 0,
        torch_device: str = "cuda",
        rows: Sequence[Rows] | None = None,
    ) -> None:
        self.meets_own, self._apart = apart > 0, apart or len(series)
        self.threads = available_cores(threads)
        self._workers = Threads(self.threads)
        self._device = torch.device(torch_device)
        self._has_limits = costs.has_limits
        all_bytes, work_bytes = work_bytes, min(work_bytes // WORD_SHARES, MOST_WORD_BYTES)
        self._row_bytes = (all_bytes - 2 * work_bytes) // self._apart
        rows = rows or build_series_rows(series, HOST_ROW_BYTES)
        self._axis = lay_out_series(series[: self._apart], self._device)
        # Of several markets each brings all series, one behind the other.
        markets = [range(number, len(series), self._apart) for number in range(self._apart)]
        alike = markets if self.meets_own else group_by_times(series)
        self._inputs = self._list_inputs(spec, series, costs, rows, alike)
        self._accounts: Accounts
        limits = None
        if costs.has_limits:
            delays = (-1,) if costs.rank is None else list_delays(spec, costs)
            limits = upload_limits(self._axis, spec, costs, series, delays, lambda: rows)
        charges = np.array([costs.per_side, costs.min_risk, costs.risk_fraction], np.float64)
        if has_orders(spec, costs):
            folding = AccountFolding(self._axis, to_device(charges, self._device))
            accounts: Any = OrderAccounts
            if limits is not None:
                accounts = partial(LimitedOrders, limits)
            self._accounts = accounts(
                spec, costs, self._inputs[0].codes,
                [upload_order_prices(bars, self._device) for bars in series], folding, self._device,
            )  # fmt: skip
        else:
            prices = [upload_prices([series[k] for k in some], self._device) for some in markets]
            self._accounts = WordAccounts(prices, self._axis, charges, self._device, limits)
        rounds = round_up_wave if self.meets_own else bucket
        self._calls = CapturedCalls(self._inputs, self._accounts, work_bytes, self._device, rounds)
        self._groups: tuple[Sequence[Window], list[WindowGroup]] | None = None
        self._own_groups: dict[tuple[Window, ...], WindowGroup] = {}

    @device_errors
    def begin(self, sent: Sent) -> Callable[[], None]:
        """Start to evaluate; the returned call waits. Several accounts with limits end first."""
        genomes, windows, own, out, account = sent
        if own is not None:
            return self._begin_own(sent, own)
        groups = self._group_windows(windows)
        if len(groups) > 1:
            return self._evaluate_apart(groups, genomes, out)
        with on_device(self._device):
            tickets = self._calls.launch(groups[0], genomes, out, account)

        @device_errors
        def wait() -> None:
            with on_device(self._device):
                self._calls.finish(groups[0], tickets)

        return wait

    def _begin_own(self, sent: Sent, own: Slots) -> Callable[[], None]:
        """Start with individuals that meet windows [P, W] of one market each.

        Those whose windows are the same bars of their markets are one call.
        """
        genomes, windows, _, out, account = sent
        met, met_of = number_groups(own)
        markets, alike = np.empty(len(met)), dict[tuple[Window, ...], list[int]]()
        for number, numbers in enumerate(met.tolist()):
            chosen = [windows[window_number] for window_number in numbers]
            (markets[number],) = {window.series // self._apart for window in chosen}
            here = tuple(replace(w, series=w.series % self._apart) for w in chosen)
            alike.setdefault(here, []).append(number)
        placed, begun = np.column_stack((genomes, markets[met_of])), []
        for here, numbers_alike in alike.items():
            if here not in self._own_groups:
                self._own_groups[here] = self._make_group(here, list(range(len(here))))
            (members,) = np.nonzero(np.isin(met_of, numbers_alike))
            part = sent.of(members)
            group = self._own_groups[here]
            with on_device(self._device):
                launched = self._calls.launch(group, placed[members], part.out, part.account)
            begun.append((members, part, group, launched))

        @device_errors
        def wait() -> None:
            for members, part, group, launched in begun:
                with on_device(self._device):
                    self._calls.finish(group, launched)
                out[members] = part.out
                if account is not None:
                    account[members] = part.account

        return wait

    def _evaluate_apart(
        self, groups: Sequence[WindowGroup], genomes: Floats, out: Floats
    ) -> Callable[[], None]:
        """Evaluate one account of windows after another."""
        with on_device(self._device):
            for group in groups:
                part = np.empty((len(genomes), len(group.numbers), out.shape[2]))
                self._calls.finish(group, self._calls.launch(group, genomes, part, None))
                out[:, group.numbers] = part
        return lambda: None

    @device_errors
    def signals(self, genome: Floats, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window, of either side."""
        with on_device(self._device):
            sent = self._calls.send_one(window.series, genome)
            return self._accounts.list_bars(window.series, sent, (window.start, window.end))

    @device_errors
    def ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        by_window: list[dict[int, Ledger]] = [{} for _ in genomes]
        for group in self._group_windows(windows):

            def note(members: slice, accumulators: Floats, lists: Any, delays: Ints) -> None:
                listed = self._accounts.build_ledgers(group, lists, accumulators, delays)  # noqa: B023
                for ledger_of, ledgers in zip(by_window[members], listed, strict=True):
                    ledger_of |= zip(group.numbers.tolist(), ledgers, strict=True)  # noqa: B023

            with on_device(self._device):
                self._calls.list_trades(group, genomes, note)
        return [
            tuple(ledger_of[number] for number in range(len(windows))) for ledger_of in by_window
        ]

    @device_errors
    def list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        parts: list[tuple[Ints, Ints, Results]] = []
        for group in self._group_windows(windows):

            def note(members: slice, accumulators: Floats, lists: Any, delays: Ints) -> None:
                results = self._accounts.build_results(group, lists, accumulators)  # noqa: B023
                some = np.arange(members.start, members.stop)
                out[np.ix_(some, group.numbers)] = accumulators  # noqa: B023
                parts.append((some, group.numbers, results))  # noqa: B023

            with on_device(self._device):
                self._calls.list_trades(group, genomes, note)
        return out, join_results(parts, len(genomes), len(windows))

    def _group_windows(self, windows: Sequence[Window]) -> list[WindowGroup]:
        """Windows of each account: all, or with limits those of one role.

        Raises:
            EngineError: When windows of one account with limits overlap, or there are markets.
        """
        if self.meets_own:
            raise EngineError("individuals of several markets meet windows of their own")
        if self._groups is not None and self._groups[0] is windows:
            return self._groups[1]
        accounts = split_accounts(windows) if self._has_limits else [list(range(len(windows)))]
        groups = [self._make_group(windows, numbers) for numbers in accounts]
        self._groups = windows, groups
        return groups

    def _make_group(self, windows: Sequence[Window], numbers: list[int]) -> WindowGroup:
        """Some windows, series after series."""
        chosen = [windows[number] for number in numbers]
        listed = np.array([(w.series, w.start, w.end) for w in chosen], np.int64)
        if self._has_limits:
            check_apart(listed)
        parts = [
            SeriesPart(number, np.column_stack((some, listed[some, 1:])))
            for number in np.unique(listed[:, 0]).tolist()
            for some in np.nonzero(listed[:, 0] == number)
        ]
        first = self._axis.starts[listed[:, 0]]
        table = np.column_stack((first, first + listed[:, 1], first + listed[:, 2]))
        return WindowGroup(np.array(numbers), parts, table)

    def _list_inputs(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        rows: Sequence[Rows],
        alike: Sequence[Sequence[int]],
    ) -> list[SeriesInputs]:
        """Inputs of each series of a market, where series `alike` have their rows together."""
        inputs: dict[int, SeriesInputs] = {}
        for first, *others in alike:
            hosts = [rows[number] for number in (first, *others)]
            inputs[first] = SeriesInputs(
                spec, series[first], self._make_rows(spec, hosts), costs, self._device,
                meets_own=self.meets_own,
            )  # fmt: skip
            if not self.meets_own:
                for market, number in enumerate(others, 1):
                    inputs[number] = inputs[first].of_market(market, series[number])
        return [inputs[number] for number in sorted(inputs)]

    def _make_rows(self, spec: Strategy, rows: Sequence[Rows]) -> DeviceRows:
        of_series = 1 if self.meets_own else len(rows)
        rows_bytes, first_bytes = self._row_bytes * of_series, FIRST_BYTES * of_series
        # Rows share this with their sources.
        steps_bytes = rows_bytes // 16
        trend_bytes = rows_bytes // 2 if reads_trends(spec) else 0
        most_bytes = rows_bytes - steps_bytes - trend_bytes
        n_rows = count_rows(spec, MOST_ROWS)
        return DeviceRows(
            rows, first_bytes // self._apart, n_rows, most_bytes, steps_bytes, trend_bytes,
            self._device, self._workers,
        )  # fmt: skip


def group_by_times(series: Sequence[Bars]) -> list[list[int]]:
    """Numbers of series, together where their bars have the same times."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for number, bars in enumerate(series):
        key = bars.timeframe_ns, hashlib.sha256(bars.timestamp.tobytes()).digest()
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def round_up_wave(individuals: int) -> int:
    """Individuals that a call has room for, where as many ask as searches wait.

    >>> [round_up_wave(n) for n in (1, 512, 513, 3000)]
    [512, 512, 1024, 4096]
    """
    return max(FEWEST_OF_A_WAVE, 1 << (individuals - 1).bit_length())


def number_groups(own: Slots) -> tuple[Slots, Ints]:
    """Distinct windows [n, W] that individuals meet one behind the other, and whose each has."""
    is_first = np.zeros(len(own), np.bool_)
    is_first[0] = True
    changes, _ = np.nonzero(own[1:] != own[:-1])
    is_first[1 + changes] = True
    return own[is_first], np.cumsum(is_first) - 1


def list_delays(spec: Strategy, costs: Costs) -> range:
    """Bars by which entries of a strategy may be late."""
    if isinstance(spec.delay, GeneValue):
        low, high = int(spec.delay.gene.low), int(spec.delay.gene.high)
    else:
        low = high = int(spec.delay.value)
    return range(low + costs.entry_delay, high + costs.entry_delay + 1)


class CudaLanguageMaker:
    """Makes a backend of any strategy on chosen GPUs.

    Args:
        devices: Their numbers, at least one.
        apart: Series of a market, where several bring as many each and individuals meet one of
            them; 0 where they meet all series.
    """

    name, shares = "cuda", GPU_WORDS

    def __init__(self, devices: Sequence[int], apart: int = 0) -> None:
        self.devices = tuple(devices)
        self._apart, self.meets_own = apart, apart > 0

    def of_markets(
        self, spec: Strategy, series: Sequence[Bars], costs: Costs, apart: int
    ) -> BackendMaker | None:
        """See `engine.backend.BackendMaker.of_markets`: at the same times, no orders, no limits.

        A row is made in all markets, which pays where most searches read it.
        """
        is_plain = not (costs.has_limits or has_orders(spec, costs))
        if not is_plain or count_rows(spec, MOST_SHARED + 1) > MOST_SHARED:
            return None
        first = series[:apart]
        are_alike = all(
            np.array_equal(bars.timestamp, first[number % apart].timestamp)
            for number, bars in enumerate(series)
        )
        return type(self)(self.devices, apart) if are_alike else None

    def __call__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto every device; rows are computed once for all of them."""
        rows = build_series_rows(series, HOST_ROW_BYTES)
        parts: list[Backend] = [
            CudaLanguageBackend(
                spec,
                series,
                costs,
                work_bytes=work_bytes,
                threads=threads,
                apart=self._apart,
                torch_device=f"cuda:{number}",
                rows=rows,
            )
            for number in self.devices
        ]
        return parts[0] if len(parts) == 1 else SeveralGpus(parts)

    @device_errors
    def free_bytes(self) -> int:
        """Bytes that are free on the device that has the least."""
        # Memory of an engine before this one is free, though torch keeps it at hand, or a cycle: an
        # exception that a compiler caught holds all that called it.
        gc.collect()
        give_back_memory()
        return min(torch.cuda.mem_get_info(number)[0] for number in self.devices)

    def row_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes of a row over all series."""
        return sum(len(bars) for bars in series) * count_row_bytes()

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that series take on each device beside all rows."""
        prices = sum(round_up_bars(len(bars)) for bars in series) * (PRICE_BYTES + RANK_BYTES)
        return prices + sum(count_finer_bytes([bars], len(bars)) for bars in series)


class CudaLimitedMaker(CudaLanguageMaker):
    """Makes the same of accounts with limits."""

    keeps_limits = True
