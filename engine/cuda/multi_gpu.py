"""Several GPUs of one host as one backend: each holds all rows and takes a part of a population."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Floats, Ints, RowRequest, Slots, StretchedRows
from engine.cuda.backend import CudaBackend
from engine.fast_case import FastCase
from engine.runtime.cuda.faults import device_errors

FEWEST_PAIRS = 8192
"""Pairs of individual and window below which a second device costs more than it saves."""


class SeveralGpus(Backend):
    """A population split over devices, merged in the order of individuals.

    Args:
        parts: One backend a device, with the same series, case, costs and capacity.
        fewest: Pairs that a device gets at least.
    """

    name = "cuda"

    def __init__(self, parts: Sequence[Backend], *, fewest: int = FEWEST_PAIRS) -> None:
        self._parts = tuple(parts)
        self._fewest = fewest
        self.threads = parts[0].threads
        self._turn = 0
        self.meets_own = all(part.meets_own for part in parts)
        self.folds_accounts = all(part.folds_accounts for part in parts)
        # A thread each: what waits for a device lets the others launch.
        self._pool = ThreadPoolExecutor(len(self._parts), thread_name_prefix="gpu")

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows on every device, into the same slots."""
        for done in [self._pool.submit(part.fill, requests) for part in self._parts]:
            done.result()

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A], on as many devices as pay, each in its turn."""
        waits = [
            part.begin(genomes[begin:end], slots[begin:end], windows, out[begin:end])
            for part, begin, end in self._shares(*out.shape[:2])
        ]
        self._turn += len(waits)

        def wait() -> None:
            for part in waits:
                part()

        return wait

    def try_begin(
        self, genomes: Floats, windows: Sequence[Window], out: Floats
    ) -> Callable[[], bool] | None:
        """The same, with rows looked up by the devices themselves."""
        return self._join_waits(
            part.try_begin(genomes[begin:end], windows, out[begin:end])
            for part, begin, end in self._shares(*out.shape[:2])
        )

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
        return self._join_waits(
            part.begin_own(
                genomes[begin:end],
                None if slots is None else slots[begin:end],
                windows,
                None if own is None else own[begin:end],
                out[begin:end],
                None if account is None else account[begin:end],
            )
            for part, begin, end in self._shares(*out.shape[:2])
        )

    def _join_waits(
        self, waiting: Iterable[Callable[[], bool] | None]
    ) -> Callable[[], bool] | None:
        """Waits for all that devices began; None where one leaves the look-up to others."""
        begun = list(waiting)
        waits = [wait for wait in begun if wait is not None]
        if len(waits) < len(begun):
            return None
        self._turn += len(waits)

        def wait() -> bool:
            is_well = [part() for part in waits]
            return all(is_well)

        return wait

    def _shares(self, individuals: int, n_windows: int) -> list[tuple[Backend, int, int]]:
        """Who takes which individuals: as many devices as pay, each in its turn."""
        paying = max(1, individuals * n_windows // self._fewest)
        n_parts = min(len(self._parts), paying)
        edges = np.linspace(0, individuals, n_parts + 1).astype(int).tolist()
        return [
            (self._parts[(self._turn + number) % len(self._parts)], begin, end)
            for number, (begin, end) in enumerate(pairwise(edges))
        ]

    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time, individuals shared evenly."""
        edges = np.linspace(0, len(rows.genomes), len(self._parts) + 1).astype(int).tolist()
        running = [
            self._pool.submit(
                part.evaluate_in_stretches,
                rows._replace(genomes=rows.genomes[begin:end], row_of=rows.row_of[begin:end]),
                windows,
                out[begin:end],
            )
            for part, (begin, end) in zip(self._parts, pairwise(edges), strict=True)
        ]
        is_done = [done.result() for done in running]
        return all(is_done)

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S], from the first device."""
        return self._parts[0].signals(genome, slots, window)

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals, from the first device."""
        return self._parts[0].ledgers(genomes, slots, windows)

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results, of as many devices as pay."""
        shares = self._shares(len(genomes), len(windows))
        listing = [
            self._pool.submit(
                part.list_results, genomes[begin:end], slots[begin:end], windows, times
            )
            for part, begin, end in shares
        ]
        return _join_shares(shares, [done.result() for done in listing])

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], from the first device."""
        return self._parts[0].rows(slot, series)


def _join_shares(
    shares: Sequence[tuple[Backend, int, int]], listed: Sequence[tuple[Floats, Results]]
) -> tuple[Floats, Results]:
    """Accumulators and results of all individuals, of whom devices took shares."""
    out = np.concatenate([accumulators for accumulators, _ in listed])
    window_numbers = np.arange(out.shape[1])
    parts = [
        (np.arange(begin, end), window_numbers, results)
        for (_, begin, end), (_, results) in zip(shares, listed, strict=True)
    ]
    return out, join_results(parts, *out.shape[:2])


class GpuMaker:
    """Makes backends on chosen GPUs.

    Args:
        devices: Their numbers, at least one.
    """

    name = "cuda"
    free_share = 0.65
    meets_own = False

    def __init__(self, devices: Sequence[int]) -> None:
        self.devices = tuple(devices)

    @device_errors
    def free_bytes(self) -> int:
        """Bytes that are free on the device that has the least."""
        # What an engine before this one used is free, though torch keeps it at hand.
        torch.cuda.empty_cache()
        return min(torch.cuda.mem_get_info(number)[0] for number in self.devices)


class CudaMaker(GpuMaker):
    """Makes a backend whose strategies are kernels' constants on chosen GPUs."""

    meets_own = True
    slot_bytes = staticmethod(CudaBackend.slot_bytes)
    series_bytes = staticmethod(CudaBackend.series_bytes)
    room = staticmethod(CudaBackend.room)

    def __call__(
        self,
        case: FastCase,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto every device, with room for `capacity` slots on each."""
        parts: list[Backend] = [
            CudaBackend(
                case,
                series,
                costs,
                capacity=capacity,
                work_bytes=work_bytes,
                threads=threads,
                torch_device=f"cuda:{number}",
            )
            for number in self.devices
        ]
        return parts[0] if len(parts) == 1 else SeveralGpus(parts)


class CudaAccountMaker(CudaMaker):
    """Makes the same of accounts with limits."""

    keeps_limits = True
