"""The CPU backend of any strategy: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Sent, by_series
from engine.cpu.backend import CpuBackend, checked_threads
from engine.cpu.market import CpuMarket
from engine.indicators.cpu.trends import build_series_rows
from engine.memory_plan import HOST_WORDS
from engine.positions.cpu.listing import extract_results
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Slots
from strategy.model import Strategy

TOGETHER, TOGETHER_WORDS = (256, 512), 2**19
"""Individuals with rows and conditions at hand at once: as many as have so many words of bars,
between two bounds; fewer without room for their rows."""


class LanguageBackend(Backend):
    """Evaluates populations of any strategy on CPU cores.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Not used: rows have no slots.
        work_bytes: Rows that are kept for the next population, at most.
        threads: Cores to use; all of them when None.

    Raises:
        DeviceError: When more threads are asked for than the process may use.
    """

    name = "cpu"
    shares, free_bytes = HOST_WORDS, staticmethod(CpuBackend.free_bytes)

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int = 0,
        work_bytes: int,
        threads: int | None = None,
    ) -> None:
        self.threads = checked_threads(threads)
        self._workers = Threads(self.threads)
        # Half for what individuals read, half for conditions and what rows are made of.
        self._rows = build_series_rows(series, work_bytes // 2)
        most_rows = work_bytes // 2 // self.slot_bytes(series)
        self._markets = [
            CpuMarket(spec, bars, rows, self._workers, costs, most_rows)
            for bars, rows in zip(series, self._rows, strict=True)
        ]
        words = TOGETHER_WORDS * 64 // max(map(len, series))
        together = max(TOGETHER[0], min(TOGETHER[1], words))
        n_rows = max(self._markets[0].n_rows, 1)
        self._has_room = most_rows >= together * n_rows
        self._together = together if self._has_room else max(1, most_rows // n_rows)
        self._whole_genes = np.flatnonzero(spec.layout.is_int)

    def with_costs(self, costs: Costs) -> "LanguageBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._markets = [market.with_costs(costs) for market in self._markets]
        return other

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Rows have no slots; what one takes over all series, with its codes."""
        return sum(len(bars) for bars in series) * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, and extremes of blocks."""
        return sum(len(bars) for bars in series) * 8 * 7

    def begin(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Evaluate; there is nothing left to wait for."""
        genomes, windows, _, out, _ = sent
        for members in self._share(genomes):
            for number, window_numbers, ranges in by_series(windows):
                folded = self._markets[number].fold(genomes[members], ranges)
                out[np.ix_(members, window_numbers)] = folded
        return lambda: True

    def _share(self, genomes: Floats) -> Iterator[Ints]:
        """Places of individuals that are evaluated together; neighbours share rows without room."""
        order: Ints = np.arange(len(genomes))
        if not self._has_room and self._whole_genes.size:
            order = np.lexsort(genomes[:, self._whole_genes].T)
        for begin in range(0, len(genomes), self._together):
            yield order[begin : begin + self._together]

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
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
                        extract_results(listed, times[number], has_sides=True),
                    )

        return out, join_results(of_parts(), len(genomes), len(windows))

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window, of either side."""
        return self._markets[window.series].signals(genome, window)

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        by_window: list[dict[int, Ledger]] = [{} for _ in genomes]
        for members in self._share(genomes):
            for number, window_numbers, ranges in by_series(windows):
                listed = self._markets[number].ledgers(genomes[members], ranges)
                for member, ledgers in zip(members.tolist(), listed, strict=True):
                    by_window[member] |= zip(window_numbers.tolist(), ledgers, strict=True)
        return [tuple(ledgers[number] for number in range(len(windows))) for ledgers in by_window]
