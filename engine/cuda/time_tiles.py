"""Populations whose rows do not fit memory: a stretch of bars after the other.

All rows are computed for one stretch, all individuals are evaluated there, and the next stretch
goes on where that one ended: averages with their last value, accounts with the bar from which they
are flat, accumulators with their sums. Each row is computed once, whatever the memory.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.backend import Floats, Ints, StretchedRows
from engine.conditions.cuda.candidate_lists import CandidateLists
from engine.cuda.dispatch import first_capacity, longer
from engine.cuda.stages import Rules, Stages
from engine.cuda.workspace import Workspace
from engine.indicators.cuda.market import INDEX_BARS, DeviceMarket, Stretch
from engine.indicators.cuda.row_scheduler import DeviceRowFiller, DeviceRowPlan
from engine.indicators.plan import list_warm_ups
from engine.runtime.cuda.types import MetWindows
from engine.runtime.cuda.watchdog import to_host

Memory = tuple[torch.Tensor, torch.Tensor]
"""Values float64 and codes uint8, of one shape."""


class CarriedAccounts(NamedTuple):
    """Where all individuals stand, on the device."""

    results: torch.Tensor  # [P * W * A] float64, accumulators
    flat_from: torch.Tensor  # [P * W] int32, the bar from which an account is flat
    windows: MetWindows  # W of them, which all meet
    warm_ups: torch.Tensor  # [I] int32, bars before the first that may signal, of each row


class Stretches:
    """Evaluates in the memory of a device's slots.

    Args:
        rules: The strategy.
        market: The series.
        filler: Computes rows of them.
        memory: Values and codes of all slots; what they hold is lost.
        work_bytes: Room for the lists of the individuals that are evaluated together.
    """

    def __init__(
        self,
        rules: Rules,
        market: DeviceMarket,
        filler: DeviceRowFiller,
        memory: Memory,
        work_bytes: int,
    ) -> None:
        self._rules, self._market, self._filler, self._memory = rules, market, filler, memory
        self._work_bytes = work_bytes

    def can_hold(self, rows: StretchedRows) -> bool:
        """True if the memory holds a block of bars of each row."""
        return self._count_stretch_bars(rows) >= INDEX_BARS

    def evaluate(self, rows: StretchedRows, windows: Sequence[Window], out: Floats) -> None:
        """Evaluate individuals into out [P, W, A]; memory can hold the rows that they read."""
        n_bars = self._count_stretch_bars(rows)
        slots, bars = list_warm_ups(rows.requests, self._market.longest)
        warm_ups = np.empty(rows.n_rows, np.int64)
        warm_ups[slots] = bars
        accounts = self._open_accounts(len(rows.genomes), windows, warm_ups)
        plan = self._filler.plan(rows.requests)
        state = self._filler.allocate_state(plan)
        capacity = first_capacity(min(n_bars, max(window.end - window.start for window in windows)))
        for stretch in self._stretches(windows, n_bars):
            memory = self._fill_rows(rows, stretch, plan, state)
            capacity = self._evaluate_stretch(rows, accounts, memory, stretch, capacity)
        out[...] = to_host(accounts.results).reshape(out.shape)

    def _count_stretch_bars(self, rows: StretchedRows) -> int:
        """Bars of a stretch, whole blocks of them."""
        fits = self._memory[0].numel() // rows.n_rows
        return min(fits // INDEX_BARS * INDEX_BARS, self._market.n_bars)

    def _open_accounts(
        self, individuals: int, windows: Sequence[Window], warm_ups: Ints
    ) -> CarriedAccounts:
        """Accounts that never traded."""
        pairs, device = individuals * len(windows), self._market.device
        results = torch.zeros((pairs, len(ACCUMULATORS)), dtype=torch.float64, device=device)
        for name in ("equity", "peak_equity"):
            results[:, ACCUMULATOR_INDEX[name]] = 1.0
        flat_from = torch.zeros(pairs, dtype=torch.int32, device=device)
        on_device = self._market.to_device(warm_ups.astype(np.int32))
        return CarriedAccounts(
            results.view(-1), flat_from, MetWindows(self._market.windows(windows)), on_device
        )

    def _stretches(self, windows: Sequence[Window], n_bars: int) -> Iterator[Stretch]:
        """The bars up to the last that a window reads, so many at a time."""
        last = max(int(self._market.starts[window.series]) + window.end for window in windows)
        for first in range(0, last, n_bars):
            yield Stretch(first, min(n_bars, self._market.n_bars - first), is_part=True)

    def _fill_rows(
        self, rows: StretchedRows, stretch: Stretch, plan: DeviceRowPlan, state: torch.Tensor
    ) -> Memory:
        """All rows and their codes [I, bars of the stretch]."""
        count = rows.n_rows
        size = count * stretch.n_bars
        values, codes = (part.view(-1)[:size].view(count, -1) for part in self._memory)
        self._filler.run(plan, values, codes, stretch, state)
        return values, codes

    def _evaluate_stretch(
        self,
        rows: StretchedRows,
        accounts: CarriedAccounts,
        memory: Memory,
        stretch: Stretch,
        capacity: int,
    ) -> int:
        """All individuals in one stretch, in chunks; returns the capacity that lists needed."""
        candidates = CandidateLists(self._rules.packing, *memory, stretch)
        stages = Stages(self._rules, self._market, *memory, stretch, accounts.warm_ups)
        slots = np.ascontiguousarray(rows.row_of, np.int32)
        work = self._workspace(rows, accounts, capacity)
        begin = 0
        while begin < len(slots):
            part = slice(begin, begin + work.individuals)
            genomes, n = rows.genomes[part], len(slots[part])
            work.lay_out(genomes)
            if not work.lay_out_slots(genomes, slots[part], candidates):
                candidates.make(genomes, slots[part])
                work.lay_out_slots(genomes, slots[part], candidates)
            work.upload(n, with_slots=True)
            stages.signals(work, accounts.windows, candidates, n)
            most = int(to_host(work.counts[0]))
            if most > capacity:
                # Nothing was written down yet: the same chunk, or a smaller one, begins again.
                capacity = longer(most)
                del work
                work = self._workspace(rows, accounts, capacity)
                continue
            work.carry(*_of(accounts, begin, n))
            stages.after_signals(work, accounts.windows, n)
            begin += n
        return capacity

    def _workspace(
        self, rows: StretchedRows, accounts: CarriedAccounts, capacity: int
    ) -> Workspace:
        n_windows = len(accounts.windows.table)
        fits = max(1, self._work_bytes // Workspace.bytes_of_individual(n_windows, capacity))
        return Workspace(
            min(len(rows.genomes), fits),
            n_windows,
            rows.genomes.shape[1],
            rows.row_of.shape[1],
            capacity,
            self._market.device,
        )


def _of(accounts: CarriedAccounts, begin: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Results and accounts of so many individuals."""
    n_windows = len(accounts.windows.table)
    first, last = begin * n_windows, (begin + count) * n_windows
    a = len(ACCUMULATORS)
    return accounts.results[first * a : last * a], accounts.flat_from[first:last]
