"""Inputs of one series on the device, for all individuals of a population at once.

Several markets may have the series, with the same times: each individual meets one of them.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.accounts.costs import Costs, has_orders
from engine.backend import Floats, Ints, Slots
from engine.conditions.cuda.expression_vm import Formulas, Span
from engine.conditions.cuda.operands import (
    ArrayName,
    Arrays,
    DevicePart,
    DevicePopulation,
    DeviceReadings,
)
from engine.conditions.switches import lower_conditions
from engine.indicators.cuda.device_rows import DeviceRows, GrowingRows
from engine.indicators.cuda.market import MOST_BARS
from engine.indicators.individuals import (
    Individuals,
    add_market,
    list_gene_columns,
    resolve_values,
)
from engine.indicators.row_bank import RowBank, RowRead
from engine.indicators.warm_ups import WarmUps
from engine.memory_plan import N_LANES
from engine.population import (
    BOUNDS,
    FURTHER,
    ORDER_PARTS,
    PLAIN_PARTS,
    TERMS,
    CarriedRows,
    LoweredPart,
    PartColumns,
    Parts,
    SessionEnds,
    find_part,
    list_charges,
    list_pairs,
    lower_parts,
    name_legs,
    take_number,
)
from engine.positions.cuda.both_sides import AS_IT_IS, TIMES
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.uploads import UploadPlan, Uploads
from engine.runtime.cuda.watchdog import to_device
from strategy.expressions import Arithmetic, Expression, GeneValue, Number, Setting
from strategy.model import Strategy
from strategy.nodes import Node

MIDWAY = 3
"""Words of conditions that exist while others are made of them, for each that stays."""

NO_BAR = 0x7FFFFFFE
"""Twice a bar that no series has."""

MOST_SESSIONS = 2048
"""More than the minutes of a day: the clock may end positions at each."""

NOTHING: Span = (0, 0)

COMPUTED = (Arithmetic, GeneValue, Number)
"""Expressions that are no rows."""

PER_INDIVIDUAL = ("slots", "genomes", "entries", "exits", "bars", "session_of")
"""Arrays with a line for each individual."""

PER_ORDER = (*PER_INDIVIDUAL, "carried_of", "cancels")
"""The same where there are orders."""


class LaidOut(NamedTuple):
    """Inputs of a series, on their way to the device."""

    individuals: Individuals  # all of them
    plan: UploadPlan[ArrayName]  # of the sent arrays
    lane: int  # in which it lies
    key: tuple[int, ...]  # numbers that the launches depend on


class BatchInputs(NamedTuple):
    """Inputs of a batch on one series that all its individuals share."""

    longs: torch.Tensor  # [n, N] int64 conditions of entries, 64 bars a word
    shorts: torch.Tensor  # likewise
    leaves: torch.Tensor  # [n, N] conditions of exits of both sides
    # [q, T] int32, by entry bar twice the bar at which the clock ends a position, plus 1 at
    # its open.
    sessions: torch.Tensor
    forms: torch.Tensor  # [parts, 2] int32, `PLAIN_PARTS`, or `ORDER_PARTS` with targets
    # [parts, 2, 2] int32, where their formulas begin and end; of stop, target and trail which rows
    # they read, and how, unless one of them computes more.
    reads: torch.Tensor
    code: torch.Tensor  # instructions of all formulas, int32
    constants: torch.Tensor  # numbers that they read
    rows: torch.Tensor  # [slots, T]
    moves: bool  # whether anybody's stop moves
    computes: bool  # whether a part reads more than a row, or one times a number
    # Without orders [n, N + 1] int32, the first word from each on that is not 0; N without one.
    following: torch.Tensor | None = None
    # With orders: [n, N] conditions that end them, [T] int32 last bar of each bar's session, [0]
    # where orders do not end with it, [n, T] rows carried along.
    cancels: torch.Tensor | None = None
    day_ends: torch.Tensor | None = None
    carried: torch.Tensor | None = None


class IndividualInputs(NamedTuple):
    """Inputs of each individual, [P, ...]; axes of two are longs and shorts."""

    size: torch.Tensor  # [1] int32, how many there are; there may be room for more
    entries: torch.Tensor  # [P, 2] int32, which conditions; -1: the side never enters
    exits: torch.Tensor  # [P, 2] int32 likewise; -1: none
    slots: torch.Tensor  # [P, R] int32, where its rows lie
    genomes: torch.Tensor  # [P, G], of several markets the number of each one's behind its genes
    # [P, 15] what stop, target and trail take beside formulas and from which gain on the stop
    # follows, of longs and shorts in turn; the gain at which it moves to the entry, NaN: never;
    # and factors of the rows that they read. With orders [P, n] as `list_order_numbers` has them.
    numbers: torch.Tensor
    bars: torch.Tensor  # [P, 3] int32, longest hold, delay, and first bar that may signal
    session_of: torch.Tensor  # [P] int32, place in sessions; -1: not left by the clock
    cancels: torch.Tensor | None = None  # [P, 2] int32 with orders
    carried_of: torch.Tensor | None = None  # [P, 5] int32 likewise


class SentInputs(NamedTuple):
    """Inputs of a series, on the device."""

    asked: BatchInputs
    each: IndividualInputs
    windows: torch.Tensor  # [w, 3] int32 place among those of all series, start and end
    table: torch.Tensor  # [W, 3] int32 of all series, if sent with this one


class ScaledRow(NamedTuple):
    """A row, or one times a number, at a bar."""

    row: Expression | None = None  # None where a part reads nothing
    factor: Setting | None = None  # None: the row as it is

    def find(self, formulas: Formulas) -> Span:
        """The row's place among those of formulas, and how it is read."""
        if self.row is None:
            return NOTHING
        way = AS_IT_IS if self.factor is None else TIMES
        return formulas.rows[self.row], way.value


def split_factor(read: Expression | None) -> ScaledRow | None:
    """The row that a part reads, and its factor; None if it computes more."""
    if not isinstance(read, COMPUTED):
        return ScaledRow(read)
    if isinstance(read, Arithmetic) and read.operation == "*":
        # A product has the same bits in either order.
        for row, factor in (read.left, read.right), (read.right, read.left):
            is_row = isinstance(row, Expression) and not isinstance(row, COMPUTED)
            if is_row and isinstance(factor, GeneValue | Number):
                return ScaledRow(row, factor)
    return None


class SessionTables(GrowingRows):
    """By entry bar where the clock ends positions, [n, T] by the minute of the day."""

    def __init__(
        self,
        spec: Strategy,
        ends: SessionEnds | None,
        n_bars: int,
        device: torch.device,
        settle: Callable[[], None],
    ) -> None:
        super().__init__(n_bars, MOST_SESSIONS, device, torch.int32, first=1)
        self._ends, self._device, self._settle = ends, device, settle
        reads: list[RowRead] = []
        if spec.session is not None:
            minute, layout = spec.session.minute, spec.layout
            (default,) = resolve_values(minute, layout, layout.defaults[None]).tolist()
            columns = list_gene_columns(minute, layout)
            reads.append(RowRead(columns, lambda values: (*values, default)[0]))
        self._bank = RowBank(reads, MOST_SESSIONS, self._fill)

    def find(self, genomes: Floats) -> Slots:
        """Numbers of the tables of individuals, [P]; -1 without one."""
        slots = self._bank.bring(genomes)
        assert slots is not None
        return slots[:, 0].copy() if slots.size else np.full(len(genomes), -1, np.int32)

    def _fill(self, minutes: Sequence[float], slots: Ints) -> None:
        """Make tables into slots."""
        assert self._ends is not None
        self._settle()
        ends = self._ends

        def make(some: Ints, out: torch.Tensor) -> None:
            for table, number in zip(out, some.tolist(), strict=True):
                exits = np.minimum(ends.list_exits(minutes[number]), NO_BAR)
                table[:] = to_device(exits.astype(np.int32), self._device)

        self.put(slots, make)


class SeriesInputs:
    """Rows and conditions of one series that individuals ask for, and the numbers that they give.

    Args:
        spec: The strategy.
        bars: Of the series; of several markets those of the first.
        rows: Of the series in each market.
        costs: Costs and risk rules.
        device: Where tensors lie.
        meets_own: Whether individuals meet one of the markets each; else all meet the first.

    `codes` are formulas of each part, of longs and shorts. `settle` is called before rows change,
    which launches may read.
    """

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: DeviceRows,
        costs: Costs,
        device: torch.device,
        *,
        meets_own: bool,
    ) -> None:
        self._spec, self._costs, self._device = spec, costs, device
        self._hosts = rows.hosts
        self._layout = layout = add_market(spec.layout, len(rows.hosts) if meets_own else 1)
        self._uploads = [Uploads(device) for _ in range(N_LANES)]
        self.settle: Callable[[], None] = lambda: None
        self._has_orders = has_orders(spec, costs)
        self._sides, formulas = lower_parts(spec), Formulas(layout)
        self._readings = DeviceReadings(
            rows, layout, formulas, device, lambda: self.settle(), None if meets_own else 0
        )
        asked = lower_conditions(spec)
        parts = [None if one is None else self._readings.part(one) for one in asked]
        self._entries, self._exits, self._cancels = parts[:2], parts[2:4], parts[4:]
        if asked.cancel_long == asked.cancel_short:
            # One condition of both sides stands there once.
            del self._cancels[1]
        pairs = list_pairs(self._sides, PLAIN_PARTS)
        scaled = [[split_factor(part.read) for part in pair] for pair in pairs]
        numbers = list_numbers(self._sides)
        if self._has_orders:
            pairs = list_pairs(self._sides, (*ORDER_PARTS, *name_legs(self._sides)))
            numbers = list_order_numbers(self._sides, has_bounds=spec.exit_bounds is not None)
        spans = [
            [NOTHING if part.read is None else formulas.span(part.read) for part in pair]
            for pair in pairs
        ]
        reads = spans
        self._computes = self._has_orders or not all(map(all, scaled))
        if not self._computes:
            reads = [[one.find(formulas) for one in pair if one] for pair in scaled]
        if not self._has_orders:
            factors = (one and one.factor for pair in scaled for one in pair)
            numbers += [LoweredPart(number=factor or None) for factor in factors]
        columns = PartColumns(numbers, spec.layout)
        self._formulas, self._constants = (
            self._readings.load(),
            to_device(columns.constants, device),
        )
        self.codes = [[formulas.instructions(span) for span in pair] for pair in spans]
        self._forms = self._there([[part.form for part in pair] for pair in pairs])
        self._reads, self._columns = self._there(reads), self._there(columns.columns)
        self._warm_ups = WarmUps(spec)
        self._carried = CarriedRows(rows.hosts[0], bars, spec.layout)
        ends = None if spec.session is None else SessionEnds(spec.session, bars)
        self._sessions = SessionTables(spec, ends, len(bars), device, lambda: self.settle())
        self._day_ends = self._there(np.empty(0) if ends is None else ends.list_day_ends())
        words = self._readings.n_words
        self._nothing = torch.zeros((1, words), dtype=torch.int64, device=device)
        self._none_follows = self._there(np.full((1, words + 1), words))

    def of_market(self, market: int, bars: Bars) -> "SeriesInputs":
        """The same of another market that all individuals meet as well."""
        other = copy(self)
        other._uploads = [Uploads(self._device) for _ in range(N_LANES)]
        other._readings = self._readings.of_market(market)
        other._carried = CarriedRows(self._hosts[market], bars, self._spec.layout)
        return other

    def most_individuals(self, work_bytes: int) -> int:
        """Number of individuals with conditions, or rows of their own, that fit so much memory."""
        layout, readings = self._spec.layout, self._readings
        own_rows = sum(
            isinstance(charge, Node) and len(list_gene_columns(charge, layout)) > 0
            for charge in list_charges(self._spec)
        )
        words = readings.n_words * (readings.n_parts + MIDWAY + 1)
        return max(1, work_bytes // (8 * max(words, readings.n_bars * own_rows)))

    def lay_out(
        self,
        genomes: Floats,
        room: int | None,
        windows: Ints,
        table: Ints | None = None,
        lane: int = 0,
    ) -> LaidOut | None:
        """Lay out what individuals [P, G] ask; None where there is no room for all their rows.

        Of several markets the number of each one's stands behind its genes.

        It lies where a lane has it, which nothing else is sent from meanwhile. `room` is of so many
        individuals, where others are to need the same launches. `windows` [w, 3], place, start and
        end, are sent as well, and a table of those of all series.
        """
        individuals = Individuals(genomes, self._layout, room)
        known = self._readings.arrays(individuals)
        if known is None:
            return None
        arrays, rooms = known
        arrays |= self._list_arrays(individuals)
        if room is not None and self._has_orders:
            rooms["carried"] = bucket(len(arrays["carried"]))
        if room is not None:
            rooms |= dict.fromkeys(self._per_individual, room)
        arrays["windows"] = np.asarray(windows, np.int32)
        arrays["table"] = np.asarray(() if table is None else table, np.int32)
        uploads = self._uploads[lane]
        plan = uploads.lay_out(arrays, rooms)
        key = (self._sessions.values.data_ptr(), uploads.address, plan.size)
        return LaidOut(
            individuals,
            plan,
            lane,
            key + tuple(rooms.values()) + self._readings.key(individuals),
        )

    def send(self, laid_out: LaidOut) -> SentInputs:
        """Inputs of individuals, on the device; nothing waits for the host."""
        self._readings.forget()
        seen = DevicePopulation(
            laid_out.individuals, self._uploads[laid_out.lane].send(laid_out.plan)
        )
        there = seen.there
        each = {name: there[name] for name in ("size", *self._per_individual)}
        genes = there["genomes"][:, : len(self._spec.layout)]
        constants = self._constants.expand(len(genes), -1)
        each["numbers"] = torch.cat((genes, constants), 1).index_select(1, self._columns)
        longs, shorts = (self._join_words([part], seen) for part in self._entries)
        asked = BatchInputs(
            longs, shorts, self._join_words(self._exits, seen), self._sessions.values, self._forms,
            self._reads, *self._formulas, self._readings.rows,
            self._spec.trail is not None or self._spec.break_even is not None, self._computes,
        )  # fmt: skip
        if self._has_orders:
            cancels, carried = self._join_words(self._cancels, seen), there["carried"]
            asked = asked._replace(cancels=cancels, day_ends=self._day_ends, carried=carried)
        else:
            exits = [self._readings.following(part, seen) for part in self._exits if part]
            asked = asked._replace(following=_join(exits, self._none_follows))
        self._readings.forget()
        return SentInputs(asked, IndividualInputs(**each), there["windows"], there["table"])

    @property
    def _per_individual(self) -> tuple[str, ...]:
        return PER_ORDER if self._has_orders else PER_INDIVIDUAL

    def _list_arrays(self, individuals: Individuals) -> Arrays:
        """Arrays of individuals beside those of their rows and conditions."""
        genomes = individuals.here
        arrays: Arrays = {
            "size": np.array([len(individuals)], np.int32),
            # Kernels get a column even without a gene.
            "genomes": genomes if genomes.size else np.zeros((len(genomes), 1)),
            "entries": self._choose_words(self._entries, individuals),
            "exits": self._choose_words(self._exits, individuals, behind=True),
            "bars": self._find_limits(individuals),
            "session_of": self._sessions.find(genomes),
        }
        if self._has_orders:
            carried, carried_of = self._carried.find(list_charges(self._spec), genomes)
            cancels = self._choose_words(self._cancels, individuals, behind=True)
            if len(self._cancels) == 1:
                cancels = np.ascontiguousarray(cancels[:, [0, 0]])
            arrays |= {
                "carried": carried if len(carried) else np.zeros((1, 1)),
                "carried_of": carried_of.astype(np.int32),
                "cancels": cancels,
            }
        return arrays

    def _join_words(
        self, parts: Sequence[DevicePart | None], seen: DevicePopulation
    ) -> torch.Tensor:
        """Words of conditions, shorts behind longs; one row that is never read without any."""
        return _join([self._readings.words(part, seen) for part in parts if part], self._nothing)

    def _choose_words(
        self, parts: list[DevicePart | None], individuals: Individuals, *, behind: bool = False
    ) -> Slots:
        """Words of a condition that belong to each individual, [P, 2]; -1 without one.

        `behind`: where words of shorts stand behind those of longs.
        """
        choices, first = np.full((len(individuals), 2), -1, np.int32), 0
        for side, part in enumerate(parts):
            if part is not None:
                distinct = individuals.distinct(part.columns)
                choices[:, side] = first + distinct.set_of
            if behind:
                first = 0 if part is None else individuals.count_room(part.columns)
        return choices

    def _find_limits(self, individuals: Individuals) -> Slots:
        """Longest hold, delay, and first bar that may signal, [P, 3]."""
        both, limits = self._sides[0], np.empty((len(individuals), 3))
        for column, name in enumerate(("max_hold", "delay")):
            limits[:, column] = take_number(both[name], self._spec.layout, individuals.here)
        limits[:, 1] += self._costs.entry_delay
        limits[:, 2] = self._warm_ups.of(individuals)
        return np.minimum(limits, MOST_BARS).astype(np.int32)

    def _there(self, numbers: object) -> torch.Tensor:
        """Whole numbers on the device."""
        return to_device(np.asarray(numbers).astype(np.int32), self._device)


def list_numbers(sides: Sequence[Parts]) -> list[LoweredPart]:
    """Numbers of individuals as `IndividualInputs` has them where there are no orders."""
    pairs = list_pairs(sides, (*PLAIN_PARTS, "trail.after"))
    return [*(part for pair in pairs for part in pair), sides[0]["break_even"]]


def list_order_numbers(sides: Sequence[Parts], *, has_bounds: bool) -> list[LoweredPart]:
    """The same where there are some, as `OrderedPopulation` has them.

    Numbers, further numbers and shares of longs, then of shorts; terms, and the gain of a
    break-even.
    """
    names = (*ORDER_PARTS, *name_legs(sides), *FURTHER, *name_legs(sides, ".share"))
    bounds = [find_part(parts, name) for parts in sides for name in BOUNDS] if has_bounds else []
    return [
        *(find_part(parts, name) for parts in sides for name in names),
        *(find_part(sides[0], name) for name in TERMS),
        *bounds,
        sides[0]["break_even"],
    ]


def _join(tensors: list[torch.Tensor], nothing: torch.Tensor) -> torch.Tensor:
    """Tensors one behind the other; those of nothing where there is none."""
    if len(tensors) < 2:
        return tensors[0] if tensors else nothing
    return torch.cat(tensors)
