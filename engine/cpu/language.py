"""The CPU backend of any strategy: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import chain

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

TOGETHER = 256
"""Individuals whose rows and conditions are at hand at once."""


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

    def with_costs(self, costs: Costs) -> "LanguageBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._markets = [market.with_costs(costs) for market in self._markets]
        return other

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Rows have no slots; what one takes over all series."""
        return sum(len(bars) for bars in series) * 8

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, and extremes of blocks."""
        return sum(len(bars) for bars in series) * 8 * 7

    def begin(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Evaluate; there is nothing left to wait for."""
        genomes, windows, _, out, _ = sent
        for begin in range(0, len(genomes), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            for number, window_numbers, ranges in by_series(windows):
                out[part, window_numbers] = self._markets[number].fold(genomes[part], ranges)
        return lambda: True

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))

        def of_parts() -> Iterator[tuple[Ints, Ints, Results]]:
            for begin in range(0, len(genomes), TOGETHER):
                members = np.arange(begin, min(begin + TOGETHER, len(genomes)))
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
        return self._list_by_window(
            windows, lambda number, ranges: self._markets[number].ledgers(genomes, ranges)
        )

    @staticmethod
    def _list_by_window(
        windows: Sequence[Window], list_series: Callable[[int, Ints], list[tuple[Ledger, ...]]]
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [P] of [W], given those of a series by its number and ranges [n, 2]."""
        window_order: list[int] = []
        listed: list[list[tuple[Ledger, ...]]] = []
        for number, window_numbers, ranges in by_series(windows):
            window_order += window_numbers.tolist()
            listed.append(list_series(number, ranges))
        order = np.argsort(window_order).tolist()
        joined = (list(chain.from_iterable(of_one)) for of_one in zip(*listed, strict=True))
        return [tuple(ledgers[number] for number in order) for ledgers in joined]
