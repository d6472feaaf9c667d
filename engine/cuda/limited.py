"""The CUDA backend of accounts with limits: signals of all windows are listed, then answered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from data.bars import Bars, Window, has_finer
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, Ledger
from engine.accounts.limits import build_limits, check_limits, parse_rank, why_on_cpu
from engine.accounts.results import Results, arrange_results, join_results, split_accounts
from engine.backend import Floats, Ints
from engine.cuda.accounts import (
    ASKED_BYTES,
    COARSE,
    KEPT_PRICES,
    LIST_BYTES,
    N_OUT,
    BatchInputs,
    IndividualInputs,
    SeriesAccounts,
    SignalLists,
    collect_trades,
    read_sides,
    take_listed,
    take_trades,
)
from engine.cuda.answering import check_apart
from engine.cuda.dispatch import first_capacity, longer, round_up_capacity
from engine.cuda.language import (
    HOST_BYTES,
    CudaLanguageBackend,
    CudaLanguageMaker,
    Inputs,
    WindowGroup,
)
from engine.errors import EngineError
from engine.indicators.cpu.trends import build_series_rows
from engine.positions.cuda.admission import admit_kernel
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.faults import device_errors
from engine.runtime.cuda.watchdog import to_device, to_host
from strategy.model import Strategy
from strategy.rows import Rows

SKIPPED = ACCUMULATOR_INDEX["skipped"]

LANES = 32
"""Strands that a warp looks after, of one individual or of several."""

FOUR = 4
"""Individuals of whole fours begin at multiples of 16 bytes: kernels are compiled for those."""


class SeriesPart(NamedTuple):
    """Some individuals [p] in the windows of one series, among all windows of an account."""

    series: int
    places: Ints  # [w] of the windows
    windows: Ints  # [w, 2] start and end
    lists: SignalLists  # of pairs [p * w]
    out: torch.Tensor  # [p * w, A] accumulators


class JointInputs:
    """What individuals ask of several series."""

    def __init__(self, series: Sequence[Inputs]) -> None:
        self._series = series

    def most_individuals(self, work_bytes: int) -> int:
        """Individuals whose conditions on all series fit so much memory together."""
        share = work_bytes // len(self._series)
        return min(series.most_individuals(share) for series in self._series)

    def population(self, genomes: Floats) -> tuple[Any, Any] | None:
        """What individuals [P, G] ask, series after series; None without room for all rows."""
        populations = [series.population(genomes) for series in self._series]
        known = [population for population in populations if population is not None]
        if len(known) < len(populations):
            return None
        asked, each = zip(*known, strict=True)
        return asked, each


class LimitedAccounts:
    """Positions on several series, as the accounts with limits of individuals take them.

    Args:
        accounts: Positions on each series.
        series: Bars.
        costs: With limits.
        ranks: [T] of each series whose signal is taken first; None for the order of series.
        work_bytes: Room for lists.
        device: Where tensors lie.
    """

    def __init__(
        self,
        accounts: Sequence[SeriesAccounts],
        series: Sequence[Bars],
        costs: Costs,
        ranks: Sequence[Floats] | None,
        work_bytes: int,
        device: torch.device,
    ) -> None:
        self._accounts, self._work_bytes, self._device = accounts, work_bytes, device
        limits = build_limits(costs)
        self._has_finer = has_finer(series)
        self._most = min(limits.max_positions, len(series))
        self._limit = to_device(np.array([limits.max_leverage]), device)
        self._times = to_device(np.concatenate([bars.timestamp for bars in series]), device)
        self._is_ranked = ranks is not None
        self._ranks = to_device(np.zeros(1) if ranks is None else np.concatenate(ranks), device)
        self._firsts = np.cumsum([0, *map(len, series)])
        self._bar_ns = [bars.timeframe_ns for bars in series]
        self._capacity = 0

    def fold(
        self, asked: Sequence[BatchInputs], each: Sequence[IndividualInputs], windows: Ints
    ) -> Iterator[Floats]:
        """Accumulators [n, W, A] of individuals in windows [W, 3]: series, start and end each."""
        for parts, _ in self._iter_parts(asked, each, windows, keeps=False):
            yield _join_accumulators(parts, len(windows))

    def ledgers(
        self, asked: Sequence[BatchInputs], each: Sequence[IndividualInputs], windows: Ints
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of each individual [P]; arguments as in `fold`."""
        ledgers: list[tuple[Ledger, ...]] = []
        for parts, bars in self._iter_parts(asked, each, windows, keeps=True):
            ledgers_of: list[list[Ledger]] = [[] for _ in bars]
            for part in parts:
                shape = len(bars), len(part.places)
                trades, *numbers = collect_trades(part.lists, to_host(bars[:, 1]).repeat(shape[1]))
                gross = take_listed(part.lists.gross, part.lists.trades)[:, None]
                counts, rejected = (number.reshape(shape) for number in numbers)
                coarse, skipped = (
                    to_host(part.out[:, place]).astype(np.int64).reshape(shape)
                    for place in (COARSE, SKIPPED)
                )
                nothing = np.zeros_like(skipped)
                totals = rejected, nothing, nothing, coarse, skipped
                cut = replace(trades, gross=gross).cut(counts, *totals)
                for listed, some in zip(ledgers_of, cut, strict=True):
                    listed += some
            order = np.argsort(np.concatenate([part.places for part in parts])).tolist()
            ledgers += [tuple(listed[place] for place in order) for listed in ledgers_of]
        return ledgers

    def list_results(
        self,
        asked: Sequence[BatchInputs],
        each: Sequence[IndividualInputs],
        windows: Ints,
        times: Ints,
    ) -> Iterator[tuple[Floats, Results]]:
        """The same accumulators, with results of their trades; `times` say when bars open."""
        for parts, bars in self._iter_parts(asked, each, windows, keeps=False):
            members, listed = np.arange(len(bars)), []
            for part in parts:
                counts = to_host(part.lists.trades)
                of_signals = part.lists.marks, part.lists.leaves
                (marks, leaves), r = take_trades(part.lists, counts, of_signals)
                exit_ns = times[self._firsts[part.series] + (leaves >> 3)]
                counts = counts.reshape(len(members), -1)
                results = arrange_results(counts, exit_ns, r, read_sides(marks))
                listed.append((members, part.places, results))
            joined = join_results(listed, len(members), len(windows))
            yield _join_accumulators(parts, len(windows)), joined

    def _iter_parts(
        self,
        asked: Sequence[BatchInputs],
        each: Sequence[IndividualInputs],
        windows: Ints,
        *,
        keeps: bool,
    ) -> Iterator[tuple[list[SeriesPart], torch.Tensor]]:
        """Parts of all series, and limits [n, 3], of those who fit the room for lists together."""
        begin, n_windows = 0, len(windows)
        if not self._capacity:
            self._capacity = first_capacity(int((windows[:, 2] - windows[:, 1]).max()))
        while begin < len(each[0].bars):
            bytes_of_signal = LIST_BYTES + ASKED_BYTES + 8 * KEPT_PRICES * keeps
            pair_bytes = self._capacity * bytes_of_signal + 8 * N_OUT
            step = max(self._work_bytes // (pair_bytes * n_windows) // FOUR, 1) * FOUR
            some = [one.part(slice(begin, begin + step)) for one in each]
            parts, lists, out = self._make_parts(len(some[0].bars), windows, keeps=keeps)
            for part, inputs, members in zip(parts, asked, some, strict=True):
                accounts = self._accounts[part.series]
                accounts.list_signals(inputs, members, part.windows, part.lists, keeps=keeps)
            self._admit(some[0].bars, parts, lists, out, keeps=keeps)
            for part, members in zip(parts, some, strict=True):
                accounts = self._accounts[part.series]
                accounts.fold_trades(members, len(part.places), part.lists, part.out)
            most = int(to_host(lists.most)[0])
            if most > self._capacity:
                self._capacity = longer(most)
                continue
            yield parts, some[0].bars
            begin += step
            self._capacity = max(longer(most), round_up_capacity(self._capacity * 63 // 64))

    def _make_parts(
        self, size: int, windows: Ints, *, keeps: bool
    ) -> tuple[list[SeriesPart], SignalLists, torch.Tensor]:
        """Room for so many individuals: of each series, and all of it."""
        room = -(-size // FOUR) * FOUR
        pairs = room * len(windows)
        lists = self._accounts[0].make_room(
            pairs, self._capacity, keeps=keeps, has_finer=self._has_finer, asks_all=True
        )
        lists.counts.zero_()
        lists.notes.zero_()
        out = torch.zeros((pairs, N_OUT), dtype=torch.float64, device=self._device)
        parts, first = [], 0
        for series in np.unique(windows[:, 0]).tolist():
            (places,) = np.nonzero(windows[:, 0] == series)
            some = slice(first, first + size * len(places))
            cut = SignalLists(
                *(listed[some] if len(listed) == pairs else listed for listed in lists)
            )
            parts.append(SeriesPart(series, places, windows[places, 1:], cut, out[some]))
            first += room * len(places)
        return parts, lists, out

    def _admit(
        self,
        bars: torch.Tensor,
        parts: Sequence[SeriesPart],
        lists: SignalLists,
        out: torch.Tensor,
        *,
        keeps: bool,
    ) -> None:
        """Decide which signals are taken; bars [n, 3] as in `IndividualInputs`."""
        members, first = len(bars), 0
        room, strands = -(-members // FOUR) * FOUR, []
        places: list[tuple[int, int]] = []
        for part in parts:
            count = len(part.places)
            begin, bar_ns = self._firsts[part.series], self._bar_ns[part.series]
            strands.append((len(places), len(places) + count, begin, bar_ns))
            # Windows of a strand come in the order of time.
            places += [(first + place, count) for place in np.argsort(part.windows[:, 0]).tolist()]
            first += room * count
        tables = [to_device(np.array(table, np.int64), self._device) for table in (strands, places)]
        width = max(2, 1 << (len(strands) - 1).bit_length())
        each = max(1, LANES // width)
        launch(admit_kernel, (-(-members // each),), lists.counts, lists.marks, lists.leaves,
               lists.leverages, lists.notes, bars, self._times, self._ranks, self._limit, *tables,
               lists.places, lists.gross, lists.trades, lists.rejected, lists.coarse, out, members,
               len(strands), self._most, self._capacity, warps=1, RANKED=self._is_ranked,
               KEEPS=keeps, FINER=self._has_finer, N_OUT=N_OUT,
               MEMBERS=each, STRANDS=width)  # fmt: skip


def _join_accumulators(parts: Sequence[SeriesPart], n_windows: int) -> Floats:
    """Accumulators [n, W, A] of all series."""
    joined = np.empty((len(parts[0].out) // len(parts[0].places), n_windows, N_OUT))
    for part in parts:
        joined[:, part.places] = to_host(part.out).reshape(len(joined), -1, N_OUT)
    return joined


class CudaLimitedBackend(CudaLanguageBackend):
    """Evaluates populations on one GPU; all windows of a call are one account with limits.

    What a signal's trade comes to hangs on the signal alone. So each series lists all its signals,
    and one chain an individual over these lists decides for which of them its account has room.

    Arguments and errors are those of `CudaLanguageBackend`.

    Raises:
        EngineError: When the strategy has a part that limits do not cover, or windows of one
            account overlap.
    """

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
        check_limits(spec, costs)
        reason = why_on_cpu(spec, costs, series)
        if reason:
            raise EngineError(f"a GPU keeps no limits of an account {reason}: use --device cpu")
        rows = rows or build_series_rows(series, HOST_BYTES)
        super().__init__(
            spec, series, costs, work_bytes=work_bytes, threads=threads,
            torch_device=torch_device, rows=rows,
        )  # fmt: skip
        rank = parse_rank(costs)
        ranks = None if rank is None else [of_series.values(rank, {}) for of_series in rows]
        parts = [cast(SeriesAccounts, one.accounts) for one in self._series]
        self._accounts = LimitedAccounts(
            parts, series, costs, ranks, self._work_bytes, self._device
        )

    def _group_windows(self, windows: Sequence[Window]) -> Iterator[WindowGroup]:
        """Windows of each account; what is held out is another account."""
        for places in split_accounts(windows):
            some = [windows[place] for place in places]
            ranges = np.array([(one.series, one.start, one.end) for one in some], np.int64)
            check_apart(ranges)
            inputs = [self._series[number].asking for number in np.unique(ranges[:, 0])]
            yield WindowGroup(
                JointInputs(inputs), self._accounts, np.array(places), ranges, slice(None)
            )


class CudaLimitedMaker(CudaLanguageMaker):
    """Makes a backend of accounts with limits on chosen GPUs."""

    keeps_limits = True
    backend = CudaLimitedBackend
