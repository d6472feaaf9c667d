"""The CPU backend of any strategy: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numba
import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Sent, by_series
from engine.cpu.market import CpuMarket
from engine.errors import DeviceError
from engine.indicators.cpu.trends import build_series_rows
from engine.memory_plan import HOST, fit_rows
from engine.positions.cpu.listing import extract_results
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Slots
from engine.runtime.free_memory import free_host_bytes
from engine.runtime.machine import available_cores
from strategy.model import Strategy

TOGETHER, TOGETHER_WORDS = (256, 512), 2**19
"""Individuals with rows and conditions at hand at once: as many as have so many words of bars,
between two bounds; fewer without room for their rows."""

SHARES = 8
"""Times as many at most, one for each two threads: all of them wait for each other twice."""

LIGHT = 2**13
"""Individuals together where conditions are decided as they are read, and none are held."""


class CpuBackend(Backend):
    """Evaluates populations of any strategy on CPU cores.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        work_bytes: Rows that are kept for the next population, at most.
        threads: Cores to use; all of them when None.

    Raises:
        DeviceError: When more threads are asked for than the process may use.
        MemoryPlanError: When one individual's rows alone do not fit.
    """

    name = "cpu"
    shares = HOST

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        work_bytes: int,
        threads: int | None = None,
    ) -> None:
        self.threads = checked_threads(threads)
        self._workers = Threads(self.threads)
        # A quarter for conditions and what rows are made of.
        self._rows = build_series_rows(series, work_bytes // 4)
        room, row_bytes = work_bytes - work_bytes // 4, self.row_bytes(series)
        most_rows = room // row_bytes
        self._markets = [
            CpuMarket(spec, bars, rows, self._workers, costs, most_rows)
            for bars, rows in zip(series, self._rows, strict=True)
        ]
        fitting = TOGETHER_WORDS * 64 // max(map(len, series))
        together = max(TOGETHER[0], min(TOGETHER[1], fitting))
        n_rows = self._markets[0].n_rows
        fit_rows(room, n_rows, row_bytes)
        self._has_room = most_rows >= together * n_rows
        many = max(together, min(together * (self.threads // 2), SHARES * fitting))
        most = many if self._markets[0].holds_words else LIGHT
        self._together = min(most, most_rows // n_rows)
        self._whole_genes = np.flatnonzero(spec.layout.is_int)

    def with_costs(self, costs: Costs) -> "CpuBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._markets = [market.with_costs(costs) for market in self._markets]
        return other

    @staticmethod
    def row_bytes(series: Sequence[Bars]) -> int:
        """Rows have no slots; what one takes over all series, with its codes."""
        return sum(len(bars) for bars in series) * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, and extremes of blocks."""
        return sum(len(bars) for bars in series) * 8 * 7

    @staticmethod
    def free_bytes() -> int:
        """Bytes that are free on this host."""
        return free_host_bytes()

    def begin(self, sent: Sent) -> Callable[[], None]:
        """Evaluate; there is nothing left to wait for."""
        genomes, windows, _, out, _ = sent
        for members in self._share(genomes):
            for number, window_numbers, ranges in by_series(windows):
                folded = self._markets[number].fold(genomes[members], ranges)
                out[np.ix_(members, window_numbers)] = folded
        return lambda: None

    def _share(self, genomes: Floats) -> Iterator[Ints]:
        """Places of individuals that are evaluated together; neighbours share rows without room."""
        order: Ints = np.arange(len(genomes))
        if not self._has_room and self._whole_genes.size:
            order = np.lexsort(genomes[:, self._whole_genes].T)
        for begin in range(0, len(genomes), self._together):
            yield order[begin : begin + self._together]

    def list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))

        def of_parts() -> Iterator[tuple[Ints, Ints, Results]]:
            for members in self._share(genomes):
                for number, window_numbers, ranges in by_series(windows):
                    out[np.ix_(members, window_numbers)], listed = self._markets[
                        number
                    ].list_results(genomes[members], ranges)
                    yield (
                        members,
                        window_numbers,
                        extract_results(listed, times[number]),
                    )

        return out, join_results(of_parts(), len(genomes), len(windows))

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window, of either side."""
        return self._markets[window.series].signals(genome, window)

    def ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        by_window: list[dict[int, Ledger]] = [{} for _ in genomes]
        for members in self._share(genomes):
            for number, window_numbers, ranges in by_series(windows):
                listed = self._markets[number].ledgers(genomes[members], ranges)
                for member, ledgers in zip(members.tolist(), listed, strict=True):
                    by_window[member] |= zip(window_numbers.tolist(), ledgers, strict=True)
        return [tuple(ledgers[number] for number in range(len(windows))) for ledgers in by_window]


def checked_threads(threads: int | None) -> int:
    """How many threads to use; all cores when None, never more than there are."""
    most = min(available_cores(), int(numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    if threads is not None and not 1 <= threads <= most:
        raise DeviceError(f"threads must be 1 to {most} on this machine, got {threads}")
    return threads or most
