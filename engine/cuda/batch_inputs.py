"""Inputs of one series, for all individuals of a population at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.backend import Floats, Ints, Slots
from engine.conditions.cuda.expression_vm import Formulas, Span
from engine.conditions.cuda.operands import (
    ArrayName,
    Arrays,
    DevicePart,
    DevicePopulation,
    DeviceReadings,
    Rooms,
)
from engine.conditions.cuda.specialization import Comparing
from engine.conditions.switches import lower_conditions
from engine.cuda.word_signals import BatchInputs, IndividualInputs
from engine.indicators.cuda.device_rows import DeviceRows, GrowingRows
from engine.indicators.cuda.market import MOST_BARS
from engine.indicators.individuals import Individuals, list_gene_columns, resolve_values
from engine.indicators.row_bank import RowBank, RowRead
from engine.indicators.warm_ups import WarmUps
from engine.positions.cpu.both_sides import session_exits
from engine.positions.encode import Lowered, lower_exits
from engine.positions.exit_spec import MINUTE_NS
from engine.runtime.cuda.uploads import UploadPlan, Uploads
from engine.runtime.cuda.watchdog import to_device
from strategy.conditions import Condition
from strategy.expressions import GeneValue, Number
from strategy.model import Strategy
from strategy.nodes import Node

MIDWAY = 3
"""Words of conditions that are there while others are made of them, for each that stays."""

NO_BAR = 0x7FFFFFFE
"""Twice a bar that no series has."""

MOST_SESSIONS = 2048
"""More than the minutes of a day, at each of which the clock may end positions."""

NOTHING: Span = (0, 0)

Setting = tuple[Node | None, float]
"""A constant or a gene, and what stands in its place where there is none."""


class LaidOut(NamedTuple):
    """Inputs of a series, on their way to the device."""

    individuals: Individuals  # all of them
    plan: UploadPlan[ArrayName]  # what is sent
    waits: bool  # whether launches wait for the device on their way
    key: tuple[int, ...]  # numbers that the launches depend on


class SessionTables(GrowingRows):
    """By entry bar where the clock ends positions, [n, T] by the minute of the day."""

    def __init__(self, spec: Strategy, bars: Bars, device: torch.device) -> None:
        super().__init__(len(bars), MOST_SESSIONS, device, torch.int32, first=1)
        self._session, self._bars, self._device = spec.session, bars, device
        self.reads: list[RowRead] = []
        if spec.session is not None:
            minute, layout = spec.session.minute, spec.layout
            (default,) = resolve_values(minute, layout, layout.defaults[None]).tolist()
            columns = list_gene_columns(minute, layout)
            self.reads.append(RowRead(columns, lambda values: (*values, default)[0]))

    def fill(self, minutes: Sequence[float], slots: Ints) -> None:
        """Make tables into slots."""
        assert self._session is not None
        session, local = self._session, self._session.local_time(self._bars.timestamp)

        def make(some: Ints, out: torch.Tensor) -> None:
            for table, number in zip(out, some.tolist(), strict=True):
                minute_ns = session.last_minute(minutes[number]) * MINUTE_NS
                exits = session_exits(local, minute_ns, self._bars.timeframe_ns)
                table[:] = to_device(np.minimum(exits, NO_BAR).astype(np.int32), self._device)

        self.put(slots, make)


class SentInputs(NamedTuple):
    """Inputs of a series, on the device."""

    asked: Any  # what all of them share
    each: Any  # what every one asks
    windows: torch.Tensor  # [w, 3] int32 place among those of all series, start and end
    table: torch.Tensor  # [W, 3] int32 of all series, where it was sent with this one


class SeriesInputs:
    """Rows and conditions of one series that individuals ask for, and the numbers that they give.

    Args:
        spec: The strategy.
        bars: Of the series.
        rows: Of the series.
        delay: Bars by which every entry is late.
        device: Where tensors lie.
        comparing: Decides comparisons there.
        uploads: Sends what individuals ask.
    """

    per_individual: tuple[str, ...] = (
        "slots", "genomes", "entries", "exits", "bars", "session_of",
    )  # fmt: skip
    """Arrays with a line for each individual."""

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: DeviceRows,
        delay: int,
        device: torch.device,
        comparing: Comparing,
        uploads: Uploads,
    ) -> None:
        self._spec, self._delay, self._device = spec, delay, device
        formulas = Formulas(spec.layout)
        self._readings = DeviceReadings(rows, spec.layout, formulas, device, comparing)
        parts = [self._part(condition) for condition in lower_conditions(spec)]
        self._entries, self._exits, self._cancels = parts[:2], parts[2:4], parts[4:6]
        forms, settings = self._list_parts()
        reads = [
            [NOTHING if side.read is None else formulas.span(side.read) for side in pair]
            for pair in forms
        ]
        self._formulas = self._readings.load()
        self._shapes = self._there([[side.form for side in pair] for pair in forms])
        self._reads = self._there(reads)
        self._settings, self._constants = self._encode_settings(settings)
        self._warm_ups = WarmUps(spec)
        self._sessions = SessionTables(spec, bars, device)
        self._session_bank = RowBank(self._sessions.reads, MOST_SESSIONS, self._sessions.fill)
        self._uploads = uploads
        words = self._readings.n_words
        self._nothing = torch.zeros((1, words), dtype=torch.int64, device=device)
        self._none_follows = self._there(np.full((1, words + 1), words))

    def most_individuals(self, work_bytes: int) -> int:
        """Individuals whose conditions fit so much memory together."""
        each = 8 * self._readings.n_words * (self._readings.n_parts + MIDWAY + 1)
        return max(1, work_bytes // each)

    def lay_out(
        self, genomes: Floats, room: int | None, windows: Ints, table: Ints | None = None
    ) -> LaidOut | None:
        """Lay out what individuals [P, G] ask; None where there is no room for all their rows.

        `room` is of so many individuals, where others are to need the same launches. `windows`
        [w, 3], place, start and end, are sent as well, and a table of those of all series.
        """
        individuals = Individuals(genomes, self._spec.layout, room)
        known = self._arrays(individuals)
        if known is None:
            return None
        arrays, rooms = known
        if room is not None:
            rooms |= dict.fromkeys(self.per_individual, room)
        arrays["windows"] = np.asarray(windows, np.int32)
        arrays["table"] = np.asarray(() if table is None else table, np.int32)
        plan = self._uploads.lay_out(arrays, rooms)
        key = (self._sessions.values.data_ptr(), self._uploads.address, plan.size)
        return LaidOut(
            individuals,
            plan,
            self._readings.count_work(individuals),
            key + tuple(rooms.values()) + self._readings.key(individuals),
        )

    def send(self, laid_out: LaidOut) -> SentInputs:
        """Inputs of individuals, on the device; nothing waits for the host."""
        raise NotImplementedError

    def _list_parts(self) -> tuple[list[list[Lowered]], list[Setting]]:
        """Parts of positions that have forms, of longs and shorts each, and what they take."""
        raise NotImplementedError

    def _arrays(self, individuals: Individuals) -> tuple[Arrays, Rooms] | None:
        """Inputs of individuals [P, G] for devices; None without room for all their rows."""
        known = self._readings.arrays(individuals)
        if known is None:
            return None
        arrays, rooms = known
        return arrays | {
            "size": np.array([len(individuals)], np.int32),
            "genomes": self._beside_constants(individuals.here),
            "entries": self._choices(self._entries, individuals),
            "exits": self._choices(self._exits, individuals, behind=True),
            "bars": self._limits(individuals),
            "session_of": self._find_sessions(individuals.here),
        }, rooms

    def _part(self, condition: Condition | None) -> DevicePart | None:
        return None if condition is None else self._readings.part(condition)

    def _words(self, part: DevicePart | None, seen: DevicePopulation) -> torch.Tensor:
        """Words of a condition; one row that is never read where there is none."""
        return self._nothing if part is None else self._readings.words(part, seen)

    def _join_words(
        self, parts: Sequence[DevicePart | None], seen: DevicePopulation
    ) -> torch.Tensor:
        """Words of conditions, shorts behind longs."""
        return _join([self._words(part, seen) for part in parts if part], self._nothing)

    def _following(self, seen: DevicePopulation) -> torch.Tensor:
        """The word that follows each of theirs."""
        return _join(
            [self._readings.following(part, seen) for part in self._exits if part],
            self._none_follows,
        )

    def _choices(
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

    def _beside_constants(self, genomes: Floats) -> Floats:
        """Genomes [P, G] with constants beside them, which settings may name as well."""
        constants = np.broadcast_to(self._constants, (len(genomes), len(self._constants)))
        return np.concatenate([genomes, constants], 1)

    def _limits(self, individuals: Individuals) -> Slots:
        """Longest hold, delay, and first bar that may signal, [P, 3]."""
        hold, delay = (
            0.0 if formula is None else resolve_values(formula, self._spec.layout, individuals.here)
            for formula in (self._spec.max_hold, self._spec.delay)
        )
        limits = np.empty((len(individuals), 3))
        limits[:, 0], limits[:, 1] = hold, delay + self._delay
        limits[:, 2] = self._warm_ups.of(individuals)
        return np.minimum(limits, MOST_BARS).astype(np.int32)

    def _find_sessions(self, genomes: Floats) -> Slots:
        """Numbers of the tables of clock exits, [P]; -1 without one."""
        slots = self._session_bank.bring(genomes)
        assert slots is not None
        return slots[:, 0].copy() if slots.size else np.full(len(genomes), -1, np.int32)

    def _encode_settings(self, settings: list[Setting]) -> tuple[torch.Tensor, Floats]:
        """Columns of what parts of positions take.

        They name genes, and behind them constants, which are given too.
        """
        columns: list[int] = []
        constants: list[float] = []
        layout = self._spec.layout
        for setting, absent in settings:
            if isinstance(setting, GeneValue):
                columns.append(layout.index(setting.gene.name))
            else:
                columns.append(len(layout) + len(constants))
                constants.append(setting.value if isinstance(setting, Number) else absent)
        return self._there(columns), np.array(constants)

    def _there(self, numbers: object) -> torch.Tensor:
        """Whole numbers on the device."""
        return to_device(np.asarray(numbers).astype(np.int32), self._device)


class Asking(SeriesInputs):
    """The same of a strategy without orders and money of its own."""

    def send(self, laid_out: LaidOut) -> SentInputs:
        """Inputs of individuals, on the device; nothing waits for the host."""
        self._readings.forget()
        seen = DevicePopulation(laid_out.individuals, self._uploads.send(laid_out.plan))
        there = seen.there
        numbers = there["genomes"].index_select(1, self._settings)
        each = IndividualInputs(
            there["size"], there["entries"], there["exits"], there["slots"], there["genomes"],
            numbers, there["bars"], there["session_of"],
        )  # fmt: skip
        longs, shorts = (self._words(part, seen) for part in self._entries)
        leaves, following = self._join_words(self._exits, seen), self._following(seen)
        self._readings.forget()
        moves = self._spec.trail is not None or self._spec.break_even is not None
        inputs = BatchInputs(longs, shorts, leaves, following, self._sessions.values, self._shapes,
                      self._reads, *self._formulas, self._readings.rows, moves)  # fmt: skip
        return SentInputs(inputs, each, there["windows"], there["table"])

    def _list_parts(self) -> tuple[list[list[Lowered]], list[Setting]]:
        """Stop, target and trail; what they take, where the trail begins, and the break-even."""
        forms, after = lower_exits(self._spec)
        sides = [side.number for pair in forms for side in pair]
        settings: list[Setting] = [(setting, 0.0) for setting in (*sides, *after)]
        return forms, [*settings, (self._spec.break_even, np.nan)]


def _join(tensors: list[torch.Tensor], nothing: torch.Tensor) -> torch.Tensor:
    """Tensors one behind the other; those of nothing where there is none."""
    if len(tensors) < 2:
        return tensors[0] if tensors else nothing
    return torch.cat(tensors)
