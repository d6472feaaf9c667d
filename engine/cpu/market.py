"""One series on CPU cores, and what individuals of any strategy ask of it."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.conditions.cpu.kernels import gather_words
from engine.conditions.cpu.operands import Readings
from engine.conditions.cpu.parts import Formula, Leaves, write_formula
from engine.conditions.switches import lower_conditions
from engine.indicators.warm_ups import WarmUps
from engine.positions.cpu.batch import begin_population, collect_trades
from engine.positions.cpu.block_minmax import Extremes, build_extremes, build_finer
from engine.positions.cpu.both_sides import (
    Charges,
    CodedPopulation,
    session_exits,
)
from engine.positions.cpu.listing import Work, fold_alone, list_totals, list_trades
from engine.positions.encode import Lowered, lower_exits
from engine.positions.exit_spec import MINUTE_NS
from engine.runtime.cpu.bitset import Words, list_set_bars
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed, Slots
from strategy.conditions import Condition
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.rows import Rows


def _encode_costs(costs: Costs) -> Charges:
    return Charges(float(costs.per_side), float(costs.min_risk), float(costs.risk_fraction))


class FormulaMarket:
    """One series, and what individuals ask of it."""

    both_rest = False
    """Whether both sides enter by resting orders, so that they do not contradict each other."""

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: Rows,
        workers: Threads,
        costs: Costs,
        capacity: int,
    ) -> None:
        self.prices: Extremes = build_extremes(bars.open, bars.high, bars.low, bars.close)
        self._spec, self._bars, self._workers, self._costs = spec, bars, workers, costs
        self._charges = _encode_costs(costs)
        self._conditions = lower_conditions(spec)
        self._exits, self._after = lower_exits(spec)
        self._readings = Readings(
            rows,
            spec.layout,
            workers,
            [known for known in dict.fromkeys(self._conditions) if known is not None],
            [side.read for pair in self._parts() for side in pair if side.read is not None],
            capacity,
        )
        self._warm_ups = WarmUps(spec)
        self._sessions: dict[float, Ints] = {}
        self.finer = build_finer(bars)

    def with_costs(self, costs: Costs) -> Self:
        """The same with other costs; what is read serves both."""
        other = copy(self)
        other._costs, other._charges = costs, _encode_costs(costs)
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

    def _begin(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Work, Floats]:
        """As `begin_population`."""
        charges = self._charges._replace(lists_all=lists_all)
        return begin_population(self.prices, self.population(genomes), charges, ranges)

    def _collect(self, listed: Listed) -> tuple[Ledger, Ints]:
        """As `collect_trades`."""
        return collect_trades(listed)

    def population(self, genomes: Floats) -> CodedPopulation:
        """Coded individuals [P, G] on the series, valid until the next call."""
        spec, read = self._spec, self._readings
        read.begin(genomes)
        inputs = AskedParts(read, len(genomes))
        numbers = np.zeros((len(genomes), 2, 4))
        for side, after in enumerate(self._after):
            for part, exits in enumerate(self._exits):
                if (number := exits[side].number) is not None:
                    numbers[:, side, part] = read.values(number)
            if after is not None:
                numbers[:, side, 3] = read.values(after)
        entries = inputs.conditions(*self._conditions[:2])
        exits_asked = inputs.conditions(*self._conditions[2:4])
        formula, spans, leaves = inputs.formulas(self._parts())
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
            self._delays(),
            np.broadcast_to(self._warm_ups.of(read.individuals), len(genomes)).copy(),
            session_of,
            *self.finer,
        )

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Bars [S] of a window at which one side asks for an entry, and not both."""
        population = self.population(genome[None])
        nothing = np.zeros_like(population.words[0])
        longs, shorts = (
            nothing if number < 0 else population.words[number]
            for number in population.entries[0].tolist()
        )
        asks = longs | shorts if self.both_rest else longs ^ shorts
        first = max(window.start, int(population.warm_up[0]))
        bars = list_set_bars(asks)
        return bars[(bars >= first) & (bars < window.end - 1 - int(population.delay[0]))].astype(
            np.int32
        )

    def _parts(self) -> list[list[Lowered]]:
        """Stop, target and trail of both sides."""
        return self._exits

    def _delays(self) -> Ints:
        """Bars [P] by which entries are late."""
        delays = self._readings.values(self._spec.delay).astype(np.int64)
        return delays + int(self._costs.entry_delay)

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
                local = session.local_time(self._bars.timestamp)
                minute_ns = session.last_minute(minute) * MINUTE_NS
                ends = session_exits(local, minute_ns, self._bars.timeframe_ns)
                self._sessions[minute] = ends
        return np.array([self._sessions[minute] for minute in minutes]), minute_of.astype(np.int64)


class AskedParts:
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

    def formulas(self, forms: Sequence[Sequence[Lowered]]) -> tuple[Formula, Ints, Leaves]:
        """Formulas of N parts of both sides, first and last steps [2 N, 2], and leaves."""
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
