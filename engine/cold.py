"""Individuals whose rows are not in the bank, on a backend that needs none.

To build rows for an individual that is seen once costs far more than to evaluate it. A row is
therefore computed when it is asked for again: what a search keeps coming back to gets into the
bank, what it tries once does not.

Loops that need no rows cost something themselves: a process loads them first, and where they were
never compiled before it compiles them. That pays for many individuals on long series, and not for
a search that comes back to nearly every row. Nobody knows ahead which it will be, so it is decided
as one decides when to buy skis instead of hiring them: rows are computed until those that nobody
came back to have cost as much as the loops would. What is lost is then at most twice what the
better choice would have lost. No bit depends on the choice.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Window
from engine.backends import Form
from engine.backends.contract import Backend, Streamer
from engine.bank import RowBank
from engine.plan import RowGroup, plan_rows
from strategy.genes import Floats
from strategy.spec import StrategySpec

ROW_COST = 4
"""Individuals that can be streamed in the time in which one row is computed."""

ROW_SECONDS_A_BAR = 5e-9
"""What a core takes for a bar of a row, measured on an EPYC: 4.8 ns for the rows of a random
population of seller exhaustion."""

ONCE, AGAIN = 1, 2


class ColdPath:
    """Evaluates populations of which rows are missing.

    Args:
        spec: The strategy.
        backend: Holds the series and the rows.
        bank: Which row lies in which slot.
        windows: Each a backtest.
        most: Most individuals that are evaluated together; all when None.
        bars: Bars of a row, over all series.
    """

    def __init__(
        self,
        spec: StrategySpec,
        backend: Backend,
        bank: RowBank,
        windows: Sequence[Window],
        most: int | None,
        bars: int,
    ) -> None:
        self._spec, self._backend, self._bank = spec, backend, bank
        self._windows, self._most = windows, most
        self._streamer = backend if isinstance(backend, Streamer) else None
        self._row_seconds = ROW_SECONDS_A_BAR * bars / backend.threads
        self._asked = _Asked()
        self._lost_seconds = 0.0

    def load(self) -> None:
        """Have the loops that need no rows in this process from now on, whether it pays or not."""
        genomes = self._spec.layout.defaults[None].copy()
        if self._streamer is not None and self._streamer.can_stream(genomes):
            self._streamer.stream(genomes, self._windows[:1])

    def evaluate(self, genomes: Floats, out: Floats) -> bool:
        """Evaluate a population, streaming individuals whose rows are missing where that pays.

        Args:
            genomes: [P, G], legal.
            out: [P, W, A] receives the accumulators.

        Returns:
            Whether it was done; if not, all rows are to be computed, and nothing was written.
        """
        if self._streamer is None or not self._streamer.can_stream(genomes):
            return False
        plan = plan_rows(self._spec, genomes)
        slots = self._bank.peek(plan.groups)
        is_cold = (slots[plan.row_of] < 0).any(axis=1)
        n_missing = int((slots < 0).sum())
        if n_missing * ROW_COST < int(is_cold.sum()):
            return False
        asked = self._asked.note(plan.groups, slots)
        has_room = plan.n_rows <= self._bank.capacity
        if not self._pays(self._streamer, asked.new if has_room else n_missing, asked.regained):
            return False
        if asked.again and has_room:
            self._bank.slots(asked.again)
            slots = self._bank.peek(plan.groups)
            is_cold = (slots[plan.row_of] < 0).any(axis=1)
        (warm,), (cold,) = np.nonzero(~is_cold), np.nonzero(is_cold)
        found = slots.astype(np.int32)[plan.row_of]
        if len(warm):
            self._bank.touch(found[warm])
        for members in self._parts(warm):
            rows = found[members]
            out[members] = self._backend.evaluate(genomes[members], rows, self._windows)
        for members in self._parts(cold):
            out[members] = self._streamer.stream(genomes[members], self._windows)
        return True

    def _pays(self, streamer: Streamer, rows: int, regained: int) -> bool:
        """Whether to stream, where rows that would now be computed might not be asked for again.

        Those which were computed before and are now asked for again would have been computed
        anyway; what they cost was not lost.
        """
        lost = max(self._lost_seconds - regained * self._row_seconds, 0.0)
        self._lost_seconds = lost + rows * self._row_seconds
        return self._lost_seconds >= streamer.load_seconds

    def _parts(self, members: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        most = self._most or max(len(members), 1)
        return [members[i : i + most] for i in range(0, len(members), most)]


class _Noted(NamedTuple):
    """What a population asks for.

    Args:
        again: Rows that are missing and were asked for before.
        new: How many are missing and were not.
        regained: How many are there and are asked for a second time.
    """

    again: list[RowGroup]
    new: int
    regained: int


class _Asked:
    """How often rows were asked for: never, once, or again."""

    def __init__(self) -> None:
        self._tables: dict[Form, npt.NDArray[np.int8]] = {}

    def note(self, groups: Sequence[RowGroup], slots: npt.NDArray[np.int64]) -> _Noted:
        """Note what is asked for.

        Args:
            groups: Distinct rows.
            slots: [I] where they are, group after group; -1 for those that are missing.
        """
        again: list[RowGroup] = []
        new = regained = begun = 0
        for group in groups:
            is_missing = slots[begun : begun + len(group.lengths)] < 0
            begun += len(group.lengths)
            times = self._raised(group)
            is_again = is_missing & (times > 0)
            if is_again.any():
                again.append(RowGroup(group.form, group.lengths[is_again]))
            new += int((is_missing & (times == 0)).sum())
            regained += int((~is_missing & (times == ONCE)).sum())
        return _Noted(again, new, regained)

    def _raised(self, group: RowGroup) -> npt.NDArray[np.int8]:
        """How often each row [n] was asked for before; from now on, once more."""
        lengths = group.lengths
        places = lengths[:, 0] if lengths.shape[1] else np.zeros(len(lengths), np.int64)
        table = self._tables.get(group.form, np.zeros(1, np.int8))
        most = int(places.max(initial=0)) + 1
        if most > len(table):
            table = np.concatenate((table, np.zeros(most, np.int8)))
        self._tables[group.form] = table
        times = table[places]
        table[places] = np.minimum(times + 1, AGAIN)
        return times
