"""The CPU backend of any strategy: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Self

import numba
import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.money import build_purse
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.accounts.strategy_stakes import build_stake
from engine.backend import Backend, Sent, by_series
from engine.errors import DeviceError
from engine.indicators.cpu.trends import build_series_rows
from engine.memory_plan import HOST, fit_rows
from engine.population import PopulationEncoder, build_rules, find_part
from engine.positions.cpu.batch import (
    PlainInputs,
    Work,
    begin_population,
    collect_trades,
    extract_results,
    fold_alone,
    list_totals,
    list_trades,
)
from engine.positions.cpu.both_sides import Charges, CodedPopulation
from engine.positions.cpu.exits import build_extremes
from engine.positions.cpu.orders import OrderInputs
from engine.positions.exit_spec import MARKET
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed, Slots
from engine.runtime.free_memory import free_host_bytes
from engine.runtime.machine import available_cores
from strategy.forms import Volatility, count_legs
from strategy.model import Strategy
from strategy.rows import Rows


class CpuMarket:
    """One series, and what individuals come to on it; arguments as of `PopulationEncoder`."""

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: Rows,
        workers: Threads,
        costs: Costs,
        capacity: int,
    ) -> None:
        self._spec, self._costs, self._workers = spec, costs, workers
        self._prices = build_extremes(bars.open, bars.high, bars.low, bars.close)
        self._encoder = PopulationEncoder(spec, bars, rows, workers, costs, capacity)

    @property
    def n_rows(self) -> int:
        """Rows that an individual reads, at most."""
        return self._encoder.n_rows

    @property
    def holds_words(self) -> bool:
        """True if conditions of an individual may be decided before they are read."""
        return self._encoder.holds_words

    def with_costs(self, costs: Costs) -> Self:
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._costs, other._encoder = costs, self._encoder.with_costs(costs)
        return other

    def fold(self, genomes: Floats, ranges: Ints) -> Floats:
        """Accumulators [P, W, A] of individuals in windows [W, 2]."""
        work, out = self._begin(genomes, ranges)
        fold_alone(work, len(out), self._workers)
        return out

    def list_results(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Floats, Listed]:
        """The same, with the trades of all ledgers, or all signals."""
        work, out = self._begin(genomes, ranges, lists_all=lists_all)
        return out, list_trades(work, out, self._workers)

    def ledgers(self, genomes: Floats, ranges: Ints) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each individual."""
        out, listed = self.list_results(genomes, ranges)
        trades, _ = self._collect(listed)
        return trades.cut(listed.counts, *list_totals(out))

    def list_signals(self, genomes: Floats, ranges: Ints) -> tuple[Ledger, Ints, Ints]:
        """All signals of individuals in windows [W, 2], whatever came before them.

        As `take_positions`; individual after individual and window after window, how many each has
        [P, W], and of each how many bars it touches that no finer ones make up, and whether the bar
        of its exit is one, [K, 2].
        """
        _, listed = self.list_results(genomes, ranges, lists_all=True)
        trades, coarse = self._collect(listed)
        return trades, listed.counts, coarse

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Bars [S] of a window with an entry signal of one side, and not both at the market."""
        population, asked = self._encoder.encode(genome[None], (window.start, window.end))
        (words,) = self._encoder.list_words(asked)
        longs, shorts = (
            np.zeros_like(words[0]) if number < 0 else words[number]
            for number in population.entries[0].tolist()
        )
        both_rest = all(find_part(parts, "entry").form != MARKET for parts in self._encoder.sides)
        bars = list_set_bars(longs | shorts if both_rest else longs ^ shorts)
        first = max(window.start, int(population.warm_up[0]))
        last = window.end - 1 - int(population.delay[0])
        return bars[(bars >= first) & (bars < last)].astype(np.int32)

    def _begin(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Work, Floats]:
        """Begin by `begin_population`."""
        spec, costs = self._spec, self._costs
        span = int(ranges[:, 0].min()), int(ranges[:, 1].max())
        population, asked = self._encoder.encode(genomes, span)
        if isinstance(population, CodedPopulation):
            per_side, min_risk, fraction = costs.per_side, costs.min_risk, costs.risk_fraction
            charges = Charges(float(per_side), float(min_risk), float(fraction), lists_all)
            inputs = PlainInputs(self._prices, population, charges)
            return begin_population(inputs, asked, ranges)
        rules = build_rules(spec, costs, self._encoder.sides)
        is_plain = rules.is_plain and not population.delay.any()
        rules = rules._replace(lists_all=lists_all, is_plain=is_plain)
        stake = build_stake(spec, costs, spec.layout.decode(spec.layout.defaults))
        orders = OrderInputs(self._prices, population, rules, build_purse(stake))
        return begin_population(orders, asked, ranges)

    def _collect(self, listed: Listed) -> tuple[Ledger, Ints]:
        """Collect by `collect_trades`."""
        account = self._spec.account
        has_scale = account is not None and isinstance(account.stake, Volatility)
        return collect_trades(listed, count_legs(self._spec.targets), has_scale=has_scale)


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
