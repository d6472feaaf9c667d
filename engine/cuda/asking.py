"""What a strategy in words asks of one series, for all individuals of a population at once."""

from typing import cast

import numpy as np
import torch

from data.bars import Bars
from engine.contract import Floats
from engine.cpu.positions import session_exits
from engine.cuda.accounts import Asked, Each
from engine.cuda.comparing import Comparing
from engine.cuda.formulas import Formulas, Span
from engine.cuda.making import Making
from engine.cuda.market import MOST_BARS
from engine.cuda.readings import Part, Readings, Seen
from engine.cuda.row_store import RowStore
from engine.cuda.waiting import to_device
from engine.lowered import exits_in_words
from engine.orders import MINUTE_NS
from engine.rows.individuals import values_of
from engine.rows.warm_ups import WarmUps
from strategy.clock import local_time
from strategy.conditions import Condition
from strategy.expressions import GeneValue, Number
from strategy.model import Strategy
from strategy.nodes import Node

MIDWAY = 3
"""Words of conditions that are there while others are made of them, for each that stays."""

NO_BAR = 0x7FFFFFFE
"""Twice a bar that no series has."""

NOTHING: Span = (0, 0)


class Asking:
    """One series, and what individuals ask of it.

    Args:
        spec: The strategy.
        bars: Of the series.
        making: Makes rows of the series.
        room: Where rows lie on the device.
        delay: Bars by which an entry is late for everybody.
        device: Where tensors lie.
        comparing: Decides comparisons there.
    """

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        making: Making,
        room: RowStore,
        delay: int,
        device: torch.device,
        comparing: Comparing,
    ) -> None:
        self._spec, self._bars, self._delay, self._device = spec, bars, delay, device
        formulas = Formulas(spec.layout)
        self._readings = Readings(making, spec.layout, formulas, room, device, comparing)
        self._entries = [self._part(one) for one in (spec.long, spec.short)]
        self._exits = [self._part(one) for one in (spec.exit_long, spec.exit_short)]
        self._forms, self._after = exits_in_words(spec)
        reads = [
            [NOTHING if side.read is None else formulas.span(side.read) for side in pair]
            for pair in self._forms
        ]
        self._formulas = self._readings.load()
        self._shapes = self._there([[side.form for side in pair] for pair in self._forms])
        self._reads = self._there(reads)
        self._warm_ups = WarmUps(spec)
        self._sessions: dict[float, torch.Tensor] = {}

    def most_individuals(self, work_bytes: int) -> int:
        """Individuals whose conditions fit so much memory together."""
        each = 8 * self._readings.n_words * (self._readings.n_parts + MIDWAY + 1)
        return max(1, work_bytes // each)

    def population(self, genomes: Floats) -> tuple[Asked, Each] | None:
        """What individuals [P, G] ask; None where there is no room for all their rows."""
        self._readings.forget()
        seen = self._readings.seen(genomes)
        if seen is None:
            return None
        sessions, session_of = self._sessions_of(genomes)
        entries = [self._choice(part, seen) for part in self._entries]
        exits = [self._choice(part, seen) for part in self._exits]
        each = Each(
            torch.stack(entries, 1),
            torch.stack(self._behind_each_other(exits, seen), 1),
            seen.slots,
            seen.genomes,
            self._numbers(seen.genomes),
            self._valued(self._spec.break_even, seen.genomes, np.nan),
            self._limits(seen),
            session_of,
        )
        longs, shorts = (self._words(part, seen) for part in self._entries)
        leaves = torch.cat([self._words(part, seen) for part in self._exits])
        self._readings.forget()
        moves = self._spec.trail is not None or self._spec.break_even is not None
        following = self._readings.following(leaves)
        asked = Asked(longs, shorts, leaves, following, sessions, self._shapes, self._reads,
                      *self._formulas, seen.rows, moves)  # fmt: skip
        return asked, each

    def _part(self, condition: Condition | None) -> Part | None:
        return None if condition is None else self._readings.part(condition)

    def _words(self, part: Part | None, seen: Seen) -> torch.Tensor:
        """Words of a condition; one row that nobody reads where there is none."""
        if part is not None:
            return self._readings.words(part, seen)
        shape = 1, self._readings.n_words
        return torch.zeros(shape, dtype=torch.int64, device=self._device)

    def _choice(self, part: Part | None, seen: Seen) -> torch.Tensor:
        """Which words of a condition are those of each individual, [P] int32; -1 without one."""
        if part is None:
            return torch.full((len(seen.individuals),), -1, dtype=torch.int32, device=self._device)
        return seen.individuals.there(part.columns).set_of.to(torch.int32)

    def _behind_each_other(self, choices: list[torch.Tensor], seen: Seen) -> list[torch.Tensor]:
        """The same where words of shorts stand behind those of longs."""
        longs, shorts = choices
        part = self._exits[0]
        first = 1 if part is None else len(seen.individuals.distinct(part.columns).members)
        return [longs, torch.where(shorts >= 0, shorts + first, shorts)]

    def _numbers(self, genomes: torch.Tensor) -> torch.Tensor:
        """What forms take beside formulas, and from which gain on the stop follows, [P, 4, 2]."""
        numbers = torch.zeros((len(genomes), 4, 2), dtype=torch.float64, device=self._device)
        settings = [[side.number for side in pair] for pair in self._forms] + [self._after]
        for place, pair in enumerate(settings):
            for side, setting in enumerate(pair):
                if setting is not None:
                    numbers[:, place, side] = self._valued(setting, genomes)
        return numbers

    def _valued(
        self, setting: Node | None, genomes: torch.Tensor, absent: float = 0.0
    ) -> torch.Tensor:
        """Values [P] of a constant or a gene, or what stands for none."""
        if isinstance(setting, GeneValue):
            return genomes[:, self._spec.layout.index(setting.gene.name)].contiguous()
        value = absent if setting is None else cast(Number, setting).value
        return torch.full((len(genomes),), value, dtype=torch.float64, device=self._device)

    def _limits(self, seen: Seen) -> torch.Tensor:
        """Longest hold, delay, and first bar that may signal, [P, 3]."""
        hold = self._valued(self._spec.max_hold, seen.genomes)
        delay = self._valued(self._spec.delay, seen.genomes) + self._delay
        warm_ups = to_device(self._warm_ups.of(seen.individuals), self._device)
        limits = torch.stack((hold, delay, warm_ups.expand(len(hold)).to(torch.float64)), 1)
        return limits.clamp(max=MOST_BARS).to(torch.int32)

    def _sessions_of(self, genomes: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        """Tables [q, T] of where the clock ends positions, and which is whose, [P]."""
        if self._spec.session is None:
            return self._there([[NO_BAR]]), self._there([-1] * len(genomes))
        minutes = values_of(self._spec.session.minute, self._spec.layout, genomes)
        distinct, index = np.unique(minutes, return_inverse=True)
        tables = [self._session(minute) for minute in distinct.tolist()]
        return torch.stack(tables), self._there(index.reshape(-1))

    def _session(self, minute: float) -> torch.Tensor:
        if minute not in self._sessions:
            assert self._spec.session is not None
            local = local_time(self._bars.timestamp, self._spec.session.offset)
            found = session_exits(local, int(minute) * MINUTE_NS, self._bars.timeframe_ns)
            self._sessions[minute] = self._there(np.minimum(found, NO_BAR))
        return self._sessions[minute]

    def _there(self, numbers: object) -> torch.Tensor:
        """Whole numbers on the device."""
        return to_device(np.asarray(numbers).astype(np.int32), self._device)
