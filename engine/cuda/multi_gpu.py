"""Several GPUs of one host as one backend: each holds all rows and takes a part of a population."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from data.bars import Window
from engine.accounts.ledger import Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Floats, Ints, Sent, Slots

FEWEST_PAIRS = 8192
"""Pairs of individual and window below which a second device costs more than it saves."""


class SeveralGpus(Backend):
    """A population split over devices, merged in the order of individuals.

    Args:
        parts: One backend a device, with the same strategy, series and costs.
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

    def begin(self, sent: Sent) -> Callable[[], None]:
        """Start to evaluate on as many devices as pay, each in its turn."""
        shares = self._shares(*sent.out.shape[:2])
        waits = [part.begin(sent.of(some)) for part, some in shares]
        self._turn += len(waits)

        def wait_for_all() -> None:
            for wait in waits:
                wait()

        return wait_for_all

    def _shares(self, individuals: int, n_windows: int) -> list[tuple[Backend, slice]]:
        """Devices by individuals: as many devices as pay, each in its turn."""
        paying = max(1, individuals * n_windows // self._fewest)
        n_parts = min(len(self._parts), paying, max(individuals, 1))
        return [
            (self._parts[(self._turn + number) % len(self._parts)], some)
            for number, some in enumerate(_share_evenly(individuals, n_parts))
        ]

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Signal bars [S], from the first device."""
        return self._parts[0].signals(genome, window)

    def ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals, from the first device."""
        return self._parts[0].ledgers(genomes, windows)

    def list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results, of as many devices as pay."""
        shares = self._shares(len(genomes), len(windows))
        listing = [
            self._pool.submit(part.list_results, genomes[some], windows, times)
            for part, some in shares
        ]
        listed = [done.result() for done in listing]
        out = np.concatenate([accumulators for accumulators, _ in listed])
        members, window_numbers = np.arange(len(genomes)), np.arange(len(windows))
        parts = [
            (members[some], window_numbers, results)
            for (_, some), (_, results) in zip(shares, listed, strict=True)
        ]
        return out, join_results(parts, *out.shape[:2])


def _share_evenly(individuals: int, n_parts: int) -> list[slice]:
    """Individuals in parts of one size, give or take one."""
    edges = np.linspace(0, individuals, n_parts + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]
