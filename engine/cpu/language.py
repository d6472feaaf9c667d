"""The CPU backend of any strategy: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Backend, Room, RowRequest, by_series
from engine.conditions.cpu.kernels import gather_words
from engine.conditions.cpu.operands import Readings
from engine.conditions.cpu.parts import Formula, Leaves, write_formula
from engine.conditions.switches import lower_conditions
from engine.cpu.backend import CpuBackend, checked_threads
from engine.errors import EngineError
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.warm_ups import WarmUps
from engine.positions.cpu.batch import fold_population, list_population, list_results
from engine.positions.cpu.block_minmax import Extremes, build_extremes
from engine.positions.cpu.both_sides import Charges, CodedPopulation, session_exits
from engine.positions.cpu.listing import extract_results
from engine.positions.encode import Lowered, lower_exits
from engine.positions.exit_spec import MINUTE_NS
from engine.runtime.cpu.bitset import Words, list_set_bars
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Slots
from strategy.clock import local_time
from strategy.conditions import Condition
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.rows import Rows

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
    free_share = CpuBackend.free_share

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
        self._charges = _encode_costs(costs)
        self._workers = Threads(self.threads)
        self._markets = [
            _Market(spec, bars, rows, self._workers, costs.entry_delay)
            for bars, rows in zip(series, build_series_rows(series, work_bytes), strict=True)
        ]

    def with_costs(self, costs: Costs) -> "LanguageBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._charges = _encode_costs(costs)
        other._markets = [market.with_delay(costs.entry_delay) for market in self._markets]
        return other

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Rows have no slots; what one takes over all series."""
        return sum(len(bars) for bars in series) * 8

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, and extremes of blocks."""
        return sum(len(bars) for bars in series) * 8 * 7

    @staticmethod
    def free_bytes() -> int:
        """Bytes that are free on this host."""
        return CpuBackend.free_bytes()

    @staticmethod
    def room(memory_bytes: int, series_bytes: int) -> Room:
        """How an amount of memory is divided: half for rows that are kept, half to work with."""
        return Room(memory_bytes // 2, memory_bytes // 2)

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Rows are computed as they are read."""

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Evaluate into out [P, W, A]; there is nothing left to wait for."""
        for begin in range(0, len(genomes), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            for number, window_numbers, ranges in by_series(windows):
                market = self._markets[number]
                population = market.population(genomes[part])
                out[part, window_numbers] = fold_population(
                    market.prices, population, self._charges, ranges, self._workers
                )
        return lambda: None

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))

        def of_parts() -> Iterator[tuple[Ints, Ints, Results]]:
            for begin in range(0, len(genomes), TOGETHER):
                members = np.arange(begin, min(begin + TOGETHER, len(genomes)))
                for number, window_numbers, ranges in by_series(windows):
                    market = self._markets[number]
                    population = market.population(genomes[members])
                    out[np.ix_(members, window_numbers)], listed = list_results(
                        market.prices, population, self._charges, ranges, self._workers
                    )
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
        for number, window_numbers, ranges in by_series(windows):
            market = self._markets[number]
            population = market.population(genomes)
            listed = list_population(
                market.prices, population, self._charges, ranges, self._workers
            )
            for ledger_of, ledgers in zip(by_window, listed, strict=True):
                ledger_of |= zip(window_numbers.tolist(), ledgers, strict=True)
        return [
            tuple(ledger_of[number] for number in range(len(windows))) for ledger_of in by_window
        ]

    def rows(self, slot: int, series: int) -> Floats:
        """There are no slots to copy a row from."""
        raise EngineError("rows of this strategy have no slots")


def _encode_costs(costs: Costs) -> Charges:
    return Charges(float(costs.per_side), float(costs.min_risk), float(costs.risk_fraction))


class _Market:
    """One series, and what individuals ask of it."""

    def __init__(
        self, spec: Strategy, bars: Bars, rows: Rows, workers: Threads, delay: int
    ) -> None:
        self.prices: Extremes = build_extremes(bars.open, bars.high, bars.low, bars.close)
        self._spec, self._bars, self._delay = spec, bars, delay
        self._conditions = lower_conditions(spec)
        self._readings = Readings(
            rows,
            spec.layout,
            workers,
            [condition for condition in self._conditions if condition is not None],
        )
        self._exits, self._after = lower_exits(spec)
        self._warm_ups = WarmUps(spec)
        self._sessions: dict[float, Ints] = {}

    def with_delay(self, delay: int) -> "_Market":
        """The same with entries so many bars later; what is read serves both."""
        other = copy(self)
        other._delay = delay
        return other

    def population(self, genomes: Floats) -> CodedPopulation:
        """What individuals [P, G] ask of the series, until it is asked for the next ones."""
        spec, read = self._spec, self._readings
        read.begin(genomes)
        inputs = _Asked(read, len(genomes))
        numbers = np.zeros((len(genomes), 2, 4))
        for side, after in enumerate(self._after):
            for place, exits in enumerate(self._exits):
                if (number := exits[side].number) is not None:
                    numbers[:, side, place] = read.values(number)
            if after is not None:
                numbers[:, side, 3] = read.values(after)
        entries = inputs.conditions(*self._conditions[:2])
        exits_asked = inputs.conditions(*self._conditions[2:])
        formula, spans, leaves = inputs.formulas(self._exits)
        sessions, session_of = self._clock(len(genomes))
        return CodedPopulation(
            inputs.words(),
            formula.steps,
            spans,
            leaves.rows,
            leaves.numbers,
            sessions,
            np.array([[exit_form.form for exit_form in pair] for pair in self._exits], np.int64),
            entries,
            exits_asked,
            numbers.reshape(-1, 4),
            self._values(spec.break_even, np.nan, len(genomes)),
            self._values(spec.max_hold, 0, len(genomes)).astype(np.int64),
            read.values(spec.delay).astype(np.int64) + self._delay,
            np.broadcast_to(self._warm_ups.of(read.individuals), len(genomes)).copy(),
            session_of,
        )

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Bars [S] of a window at which one side asks for an entry, and not both."""
        population = self.population(genome[None])
        nothing = np.zeros_like(population.words[0])
        longs, shorts = (
            nothing if number < 0 else population.words[number]
            for number in population.entries[0].tolist()
        )
        first = max(window.start, int(population.warm_up[0]))
        bars = list_set_bars(longs ^ shorts)
        return bars[(bars >= first) & (bars < window.end - 1 - int(population.delay[0]))].astype(
            np.int32
        )

    def _values(self, setting: Node | None, without: float, count: int) -> Floats:
        if setting is None:
            return np.full(count, without)
        return np.ascontiguousarray(self._readings.values(setting))

    def _clock(self, count: int) -> tuple[Ints, Ints]:
        """Where the clock ends positions [Q, T], and whose it is [P]."""
        session = self._spec.session
        if session is None:
            return np.empty((1, 0), np.int64), np.full(count, -1, np.int64)
        minutes, minute_of = np.unique(self._readings.values(session.minute), return_inverse=True)
        for minute in minutes:
            if minute not in self._sessions:
                local = local_time(self._bars.timestamp, session.offset)
                ends = session_exits(local, int(minute) * MINUTE_NS, self._bars.timeframe_ns)
                self._sessions[minute] = ends
        return np.array([self._sessions[minute] for minute in minutes]), minute_of.astype(np.int64)


class _Asked:
    """Conditions and formulas that a population asks for, each once."""

    def __init__(self, readings: Readings, count: int) -> None:
        self._readings, self._count = readings, count
        self._addresses = np.empty(0, np.int64)

    def conditions(self, *sides: Condition | None) -> Ints:
        """Number [P, 2] of each side's condition among the words; -1 where it has none."""
        numbers = np.full((self._count, 2), -1, np.int64)
        for side, condition in enumerate(sides):
            if condition is not None:
                addresses = self._readings.words(self._readings.part(condition))
                distinct, set_of = np.unique(addresses, return_inverse=True)
                numbers[:, side] = len(self._addresses) + set_of
                self._addresses = np.concatenate((self._addresses, distinct))
        return numbers

    def formulas(self, forms: list[list[Lowered]]) -> tuple[Formula, Ints, Leaves]:
        """What stops, targets and trails read, first and last steps [6, 2], and leaves."""
        reads = [side.read for pair in forms for side in pair]
        parts = [self._readings.part(read) for read in reads if read is not None]
        formula, ends = write_formula(*parts)
        spans = np.zeros((len(reads), 2), np.int64)
        spans[[read is not None for read in reads]] = np.stack([ends[:-1], ends[1:]], 1)
        leaves = self._readings.leaves(formula, np.arange(self._count))
        return formula, spans, leaves

    def words(self) -> Words:
        """The words of all conditions."""
        return gather_words(self._addresses, self._readings.n_words)
