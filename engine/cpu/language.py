"""The CPU backend of strategies in words: conditions as words of bars, positions of both sides."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from data.bars import Bars, Window
from engine.compiling.forms import CompiledForm
from engine.contract import Backend, Room, RowRequest
from engine.costs import Costs
from engine.cpu.backend import CpuBackend, checked_threads
from engine.cpu.extremes import Extremes, extremes_of
from engine.cpu.population import Population, fold_population, list_population
from engine.cpu.positions import Charges, session_exits
from engine.cpu.readings import Part, Readings
from engine.cpu.threads import Threads
from engine.cpu.types import Floats, Ints, Slots
from engine.cpu.words import Words, list_marks
from engine.errors import EngineError
from engine.kept import Kept
from engine.ledger import Ledger
from engine.orders import BEYOND_BAR, FROM_ENTRY, LEVEL, MINUTE_NS, NONE, R_MULTIPLE, SHARE
from strategy.clock import local_time
from strategy.exits import BeyondBar, FromEntry, Level, RMultiple, Share, Trail, sides_of
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.rows import Rows
from strategy.series import Series

TOGETHER = 256
"""Individuals whose rows and conditions are at hand at once."""

FORMS = {
    BeyondBar: BEYOND_BAR,
    FromEntry: FROM_ENTRY,
    Share: SHARE,
    Level: LEVEL,
    RMultiple: R_MULTIPLE,
}


class Exit(NamedTuple):
    """Where a stop or a target of one side stands, or how far behind a trailing stop follows.

    Args:
        form: Of `engine.orders`.
        read: What it reads at the signal bar; None where it takes a number.
        number: A constant or a gene; None where it reads.
    """

    form: int
    read: Part | None = None
    number: Node | None = None


class LanguageBackend(Backend):
    """Evaluates populations of a strategy in words on CPU cores.

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
        self._charges = Charges(
            float(costs.per_side), float(costs.min_risk), float(costs.risk_fraction)
        )
        kept, run = Kept(work_bytes), CompiledForm()
        self._markets = [
            _Market(spec, bars, Rows(Series.of(bars), run, kept, (number,)), costs.entry_delay)
            for number, bars in enumerate(series)
        ]
        self._workers = Threads(self.threads)

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
            for market, places, ranges in self._of_series(windows):
                population = market.population(genomes[part])
                out[part, places] = fold_population(
                    market.prices, population, self._charges, ranges, self._workers
                )
        return lambda: None

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window, of either side."""
        return self._markets[window.series].signals(genome, window)

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        found: list[dict[int, Ledger]] = [{} for _ in genomes]
        for market, places, ranges in self._of_series(windows):
            population = market.population(genomes)
            listed = list_population(
                market.prices, population, self._charges, ranges, self._workers
            )
            for own, ledgers in zip(found, listed, strict=True):
                own |= zip(places.tolist(), ledgers, strict=True)
        return [tuple(own[number] for number in range(len(windows))) for own in found]

    def rows(self, slot: int, series: int) -> Floats:
        """There are no slots to copy a row from."""
        raise EngineError("rows of a strategy in words have no slots")

    def _of_series(self, windows: Sequence[Window]) -> list[tuple["_Market", Ints, Ints]]:
        """Each series that has windows, their places, and their starts and ends [n, 2]."""
        found = []
        for number, market in enumerate(self._markets):
            places = [place for place, one in enumerate(windows) if one.series == number]
            if places:
                ranges = [(windows[place].start, windows[place].end) for place in places]
                found.append((market, np.array(places), np.array(ranges, np.int64)))
        return found


class _Market:
    """One series, and what individuals ask of it."""

    def __init__(self, spec: Strategy, bars: Bars, rows: Rows, delay: int) -> None:
        self.prices: Extremes = extremes_of(bars.open, bars.high, bars.low, bars.close)
        self._spec, self._bars, self._delay = spec, bars, delay
        self._readings = Readings(rows, spec.layout)
        read = self._readings.part
        self._entries = [None if one is None else read(one) for one in (spec.long, spec.short)]
        self._asked = [
            None if one is None else read(one) for one in (spec.exit_long, spec.exit_short)
        ]
        trail = spec.trail
        self._after = [one.after if isinstance(one, Trail) else None for one in sides_of(trail)]
        followed = [one.form if isinstance(one, Trail) else None for one in sides_of(trail)]
        self._exits = [
            [_exit_of(side, self._readings) for side in sides]
            for sides in (sides_of(spec.stop), sides_of(spec.target), followed)
        ]
        self._sessions: dict[float, Ints] = {}
        self._warm_ups: dict[bytes, int] = {}

    def population(self, genomes: Floats) -> Population:
        """What individuals [P, G] ask of the series."""
        self._readings.forget()
        asked = _Asked(self._readings, len(genomes))
        for p, genome in enumerate(genomes):
            for side in (0, 1):
                asked.condition(asked.entries, p, side, self._entries[side], genome)
                asked.condition(asked.exits, p, side, self._asked[side], genome)
                for place, exits in enumerate(self._exits):
                    asked.exit(p, place, side, exits[side], genome)
                after = self._after[side]
                asked.numbers[p, 3, side] = 0.0 if after is None else self._value(after, genome)
            self._limits(asked, p, genome)
        return asked.population(np.array([[one.form for one in pair] for pair in self._exits]))

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Bars [S] of a window at which one side asks for an entry, and not both."""
        population = self.population(genome[None])
        nothing = np.zeros_like(population.words[0])
        longs, shorts = (
            nothing if number < 0 else population.words[number]
            for number in population.entries[0].tolist()
        )
        first = max(window.start, int(population.warm_up[0]))
        marks = np.empty(len(self._bars), np.int32)
        end = max(window.end - 1 - int(population.delay[0]), first)
        return marks[: list_marks(longs, shorts, first, end, marks)] >> 1

    def _limits(self, asked: "_Asked", p: int, genome: Floats) -> None:
        spec = self._spec
        asked.break_even[p] = (
            np.nan if spec.break_even is None else self._value(spec.break_even, genome)
        )
        asked.max_hold[p] = 0 if spec.max_hold is None else self._value(spec.max_hold, genome)
        asked.delay[p] = self._value(spec.delay, genome) + self._delay
        asked.warm_up[p] = self._warm_up(genome)
        if spec.session is not None:
            minute = self._value(spec.session.minute, genome)
            asked.session(p, minute, lambda: self._session(minute))

    def _value(self, setting: Node, genome: Floats) -> float:
        return self._readings.value(setting, genome)

    def _warm_up(self, genome: Floats) -> int:
        """First bar that may signal; known by the genes that rows and conditions take."""
        key = genome[self._row_columns].tobytes()
        if key not in self._warm_ups:
            self._warm_ups[key] = self._spec.warm_up(self._spec.layout.decode(genome))
        return self._warm_ups[key]

    @cached_property
    def _row_columns(self) -> list[int]:
        layout: GenomeLayout = self._spec.layout
        return sorted(layout.index(name) for name in self._spec.row_genes)

    def _session(self, minute: float) -> Ints:
        if minute not in self._sessions:
            assert self._spec.session is not None
            local = local_time(self._bars.timestamp, self._spec.session.offset)
            self._sessions[minute] = session_exits(
                local, int(minute) * MINUTE_NS, self._bars.timeframe_ns
            )
        return self._sessions[minute]


class _Asked:
    """The arrays of a population, filled one individual after another."""

    def __init__(self, readings: Readings, count: int) -> None:
        self._readings = readings
        self._words: dict[tuple[int, bytes], int] = {}
        self._rows: dict[tuple[int, bytes], int] = {}
        self._sessions: dict[float, int] = {}
        self._found: tuple[list[Words], list[Floats], list[Ints]] = ([], [], [])
        self.entries = np.full((count, 2), -1, np.int64)
        self.exits = np.full((count, 2), -1, np.int64)
        self.reads = np.full((count, 3, 2), -1, np.int64)
        self.scales = np.ones((count, 3, 2))
        self.numbers = np.zeros((count, 4, 2))
        self.break_even = np.full(count, np.nan)
        self.max_hold, self.delay, self.warm_up = np.zeros((3, count), np.int64)
        self.session_of = np.full(count, -1, np.int64)

    def condition(self, out: Ints, p: int, side: int, part: Part | None, genome: Floats) -> None:
        """Note the words of a condition, where there is one."""
        if part is not None:
            key, (words, _, _) = self._readings.key(part, genome), self._found
            if key not in self._words:
                self._words[key] = len(words)
                words.append(self._readings.words(part, genome))
            out[p, side] = self._words[key]

    def exit(self, p: int, place: int, side: int, given: Exit, genome: Floats) -> None:
        """Note the row or the number of a stop, a target or a trailing stop."""
        if given.number is not None:
            self.numbers[p, place, side] = self._readings.value(given.number, genome)
        if given.read is None:
            return
        part, scale = self._readings.scaled(given.read, genome)
        key, (_, rows, _) = self._readings.key(part, genome), self._found
        if key not in self._rows:
            self._rows[key] = len(rows)
            rows.append(self._readings.row(part, genome))
        self.reads[p, place, side], self.scales[p, place, side] = self._rows[key], scale

    def session(self, p: int, minute: float, exits: Callable[[], Ints]) -> None:
        """Note where the clock ends positions."""
        if minute not in self._sessions:
            self._sessions[minute] = len(self._sessions)
            self._found[2].append(exits())
        self.session_of[p] = self._sessions[minute]

    def population(self, forms: Ints) -> Population:
        """All that was noted."""
        n_bars = self._readings.n_bars
        words, rows, sessions = self._found
        whole = np.empty((len(rows), n_bars))
        for place, row in enumerate(rows):
            whole[place] = row
        return Population(
            np.array(words),
            whole,
            np.array(sessions or [np.empty(0, np.int64)], np.int64),
            forms.astype(np.int64),
            self.entries,
            self.exits,
            self.reads,
            self.scales,
            self.numbers,
            self.break_even,
            self.max_hold,
            self.delay,
            self.warm_up,
            self.session_of,
        )


def _exit_of(form: object, readings: Readings) -> Exit:
    """A form as numbers and parts."""
    if form is None:
        return Exit(NONE)
    number = FORMS[type(form)]  # type: ignore[index]
    if isinstance(form, Share):
        return Exit(number, number=form.fraction)
    if isinstance(form, RMultiple):
        return Exit(number, number=form.multiple)
    read = form.price if isinstance(form, Level) else cast(FromEntry, form).distance
    return Exit(number, readings.part(read))
